"""Files in JSON that list partitions, as Kafka's tools read them, with the errors of Kafka's.

Kafka reads them with its classes JsonValue and DecodeJson, whose errors are those of Jackson.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_BITS: Final = {"Integer": 31, "Long": 63}
MAPPING: Final = "com.fasterxml.jackson.databind.JsonMappingException"


class WrongFile(ValueError):
    """A file cannot be read, or is no JSON; the text is Kafka's."""


class WrongContent(WrongFile):
    """JSON with other content than expected, in the words of Kafka's DecodeJson."""


# Any: values of JSON.


def content_of(path: str) -> dict[str, Any] | None:
    """The object in a file; None if it is no JSON. Raises WrongFile, WrongContent."""
    try:
        content: Any = json.loads(Path(path).read_text())
    except OSError:
        raise WrongFile(f"Unable to read file {path}") from None
    except (ValueError, RecursionError):
        return None
    return _object(content)


def partitions_of(listed: Any, **numbers: str) -> list[tuple[str, list[int]]]:
    """Topic and numbers of each partition in a list.

    Args:
        numbers: the names of the numbers, and their types in Java.

    Raises:
        WrongContent: it is no such list.
    """
    if not isinstance(listed, list):
        raise WrongContent(f"Expected JSON array, received {_shown(listed)}")
    found = []
    for each in map(_object, listed):
        topic = _field(each, "topic")
        if not isinstance(topic, str):
            raise WrongContent(f"Expected `String` value, received {_shown(topic)}")
        found.append((topic, [number(_field(each, name), kind) for name, kind in numbers.items()]))
    return found


def number(value: Any, kind: str) -> int:
    """A number of one of Java's types. Raises WrongContent."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
        raise WrongContent(f"Expected `{kind}` value, received {_shown(value)}")
    return int(value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongContent(f"Expected JSON object, received {_shown(value)}")
    return value


def _field(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        raise WrongContent(f"No such field exists: `{name}`")
    return fields[name]


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

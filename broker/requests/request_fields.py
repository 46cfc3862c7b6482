"""The fields of a request or an answer for the request log: bounded in size, without secrets.

Bytes appear as their number: records, subscriptions, salts and tokens. Ids of topics appear in
Kafka's base64. A value of a setting appears
only if the setting is known and no password, as in Kafka (RequestConvertToJson redacts the others).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final
from uuid import UUID

from ...protocol.uuids import uuid_text
from ..log_names import NAMES as LOGGERS
from ..settings.broker_settings import BROKER_SETTINGS
from ..settings.topic_settings import GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS

MOST_CHARACTERS: Final = 4000
"""The size of all names and values of one request or answer."""
MOST_ELEMENTS: Final = 20
"""The number of elements of one list that are shown."""
_MOST_OF_A_STRING: Final = 200
_HIDDEN: Final = "(hidden)"
_TABLES: Final = (BROKER_SETTINGS, TOPIC_SETTINGS, GROUP_SETTINGS, METRICS_SETTINGS)


def shown(
    body: object, most_characters: int = MOST_CHARACTERS, most_elements: int = MOST_ELEMENTS
) -> object:
    """The fields of a decoded request, or of the body of an answer, for a log line.

    Args:
        most_characters: the size of all names and values.
        most_elements: the number of elements of one list that are shown.

    Returns:
        Dicts, lists, strings, numbers, bools and None; what is left out is counted in the text.
    """
    return _Fields(most_characters, most_elements).of(body)


class _Fields:
    """Copies values until the characters are used up."""

    def __init__(self, left: int, most_elements: int) -> None:
        self._left = left
        self._most_elements = most_elements

    def of(self, value: object) -> object:
        if value is None or isinstance(value, bool):
            self._left -= 4
            return value
        if isinstance(value, int):
            self._left -= len(str(int(value)))
            return int(value)
        if isinstance(value, bytes | bytearray | memoryview):
            self._left -= 10
            return f"<{len(value)} bytes>"
        if isinstance(value, Mapping):
            return self._struct(value.items())
        if isinstance(value, list | tuple | set | frozenset):
            return self._list(value)
        if isinstance(value, UUID):
            return self._string(uuid_text(value))
        names = getattr(type(value), "__slots__", None)
        if names and not isinstance(value, str):
            return self._struct((name, getattr(value, name, None)) for name in names)
        return self._string(value)

    def _string(self, value: object) -> str:
        text = str(value)
        if len(text) > _MOST_OF_A_STRING:
            text = f"{text[:_MOST_OF_A_STRING]}... ({len(text)} characters)"
        self._left -= len(text)
        return text

    def _struct(self, pairs: Iterable[tuple[object, object]]) -> dict[str, object]:
        fields = {str(name): value for name, value in pairs}
        if _is_secret(fields):
            fields["value"] = _HIDDEN
        copied: dict[str, object] = {}
        for name, value in fields.items():
            if self._left <= 0:
                copied["..."] = f"{len(fields) - len(copied)} more fields"
                break
            self._left -= len(name)
            copied[name] = self.of(value)
        return copied

    def _list(self, values: list[object] | tuple[object, ...] | Iterable[object]) -> list[object]:
        elements = values if isinstance(values, list | tuple) else list(values)
        copied: list[object] = []
        for value in islice(elements, self._most_elements):
            if self._left <= 0:
                break
            copied.append(self.of(value))
        if len(copied) < len(elements):
            copied.append(f"... {len(elements) - len(copied)} more")
        return copied


def _is_secret(fields: Mapping[str, object]) -> bool:
    """Whether the struct is the value of a setting that is unknown or a password."""
    name, value = fields.get("name"), fields.get("value")
    if not isinstance(name, str) or not isinstance(value, str) or name in LOGGERS:
        return False
    known = next((table[name] for table in _TABLES if name in table), None)
    return known is None or known.sensitive

"""What real clients sent and what Apache Kafka 4.1.1 and 4.4.0 answered, read from `golden/`."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent / "golden"

RecordParts = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


class GoldenBatch(NamedTuple):
    """A batch as it lay in Kafka's log.

    Attributes:
        records: key, value and headers, as the client was given them; None for markers.
        timestamps: of the records in ms; None when the client took the time itself.
    """

    name: str
    client: str
    data: bytes
    records: tuple[RecordParts, ...] | None
    timestamps: tuple[int, ...] | None


class GoldenAnswer(NamedTuple):
    """A request and its answer, both without the size in front."""

    name: str
    api: str
    version: int
    request: bytes
    answer: bytes

    def __str__(self) -> str:
        return f"{self.name}-v{self.version}"


def _load(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((_FOLDER / name).read_text())
    return loaded


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _records(listed: list[Any] | None) -> tuple[RecordParts, ...] | None:
    if listed is None:
        return None
    return tuple(
        (_bytes(key), _bytes(value), tuple((name, _bytes(content)) for name, content in headers))
        for key, value, headers in listed
    )


BATCHES = {
    each["name"]: GoldenBatch(
        each["name"],
        each["client"],
        b64decode(each["batch"]),
        _records(each.get("records")),
        tuple(each["timestamps"]) if "timestamps" in each else None,
    )
    for each in _load("batches.json")
}
ANSWERS = [
    GoldenAnswer(
        each["name"],
        each["api"],
        each["version"],
        b64decode(each["request"]),
        b64decode(each["answer"]),
    )
    for each in _load("answers.json")
]

"""Records whose type means nothing here: kept as they came, for whoever understands them.

A snapshot replaces all records before it. What Apache Kafka wrote and this broker passes over goes
into it in the order in which it came, and is there when Kafka is back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .records import ForeignRecord, MetadataRecord

# A RegisterControllerRecord takes the place of the one that has its controller's id before it.
_REGISTER_CONTROLLER: Final = 27
_ID_OF_CONTROLLER: Final = slice(3, 7)


class ForeignRecords:
    """What was passed over."""

    def __init__(self) -> None:
        self._kept: dict[bytes | int, ForeignRecord] = {}
        self._count = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignRecords) and list(self.records()) == list(other.records())

    def replay(self, record: ForeignRecord) -> None:
        """Keep a record behind all others."""
        self._count += 1
        key: bytes | int = self._count
        if record.number == _REGISTER_CONTROLLER:
            key = record.value[_ID_OF_CONTROLLER]
        self._kept[key] = record

    def records(self) -> Iterator[MetadataRecord]:
        """All of them, as they came."""
        yield from self._kept.values()

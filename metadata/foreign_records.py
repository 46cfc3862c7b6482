"""Keeps records of unknown types unchanged, so that snapshots do not lose them.

A snapshot replaces all records before it. Records that Apache Kafka wrote and Ottla does not know
go into it in their order, so that Kafka finds them when it runs again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .records import FRAME_VERSION, ForeignRecord, MetadataRecord

# A RegisterControllerRecord replaces the earlier one of the same controller, and an
# UnregisterControllerRecord removes it.
_REGISTER_CONTROLLER: Final = 27
_UNREGISTER_CONTROLLER: Final = 29
_ID_OF_CONTROLLER: Final = slice(3, 7)
_FRONT: Final = bytes((FRAME_VERSION, _UNREGISTER_CONTROLLER, 0))


class ForeignRecords:
    """The records of unknown types."""

    def __init__(self) -> None:
        self._kept: dict[bytes | int, ForeignRecord] = {}
        self._count = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignRecords) and list(self.records()) == list(other.records())

    def replay(self, record: ForeignRecord) -> None:
        """Keep a record, after all others."""
        self._count += 1
        key: bytes | int = self._count
        if record.number == _UNREGISTER_CONTROLLER:
            self._kept.pop(record.value[_ID_OF_CONTROLLER], None)
            return
        if record.number == _REGISTER_CONTROLLER:
            key = record.value[_ID_OF_CONTROLLER]
        self._kept[key] = record

    def removal_of_controller(self, controller_id: int) -> ForeignRecord | None:
        """The record that removes a controller; None if none of that id is registered."""
        key = controller_id.to_bytes(4, "big", signed=True)
        if key not in self._kept:
            return None
        return ForeignRecord(_UNREGISTER_CONTROLLER, _FRONT + key + b"\0")

    def records(self) -> Iterator[MetadataRecord]:
        """All of them, unchanged."""
        yield from self._kept.values()

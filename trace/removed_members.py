"""Members that a timer removes from groups of the newer kinds (KIP-848, KIP-932, KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from .events import Decision

_TOMBSTONES: Final[Mapping[str, tuple[int, str, str]]] = {
    "ConsumerRemoved": (5, "name", "group.consumer.session.timeout.ms"),
    "ShareRemoved": (10, "member_id", "group.share.session.timeout.ms"),
    "StreamsRemoved": (19, "name", "group.streams.session.timeout.ms"),
}
"""The version of the key of a member's metadata, the field with its id, and its setting."""


class RemovedMember(NamedTuple):
    """A member that is removed.

    Attributes:
        setting: of Kafka, with its session timeout.
    """

    group_id: str
    member_id: str
    setting: str


def removed_by_timer(event: Decision) -> Iterator[RemovedMember]:
    """The members that a decision removes; none if a request asked for it."""
    if not event.by_timer:
        return
    for record in event.records:
        if isinstance(record, dict):
            version, field, setting = _TOMBSTONES.get(str(record.get("type")), (0, "", ""))
            if version and record.get("kind") == version:
                yield RemovedMember(str(record.get("group_id")), str(record.get(field)), setting)

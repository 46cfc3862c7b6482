"""Subscriptions and assignments of classic consumers, to bytes and back.

They are Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0-3; newer
ones are read as 3. Classic consumers wrap them into JoinGroup and SyncGroup.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ...protocol.errors import Malformed
from ...protocol.messages import decode_data, encode_data
from .member import Assignment
from .topics import Topics

if TYPE_CHECKING:
    from ...protocol.api_types.records import ConsumerProtocolAssignmentFields

_NEWEST: Final = 3


class Subscription(NamedTuple):
    """The subscription of a classic consumer."""

    topics: frozenset[str]
    owned: Mapping[str, frozenset[int]]
    rack_id: str | None


def version_of(data: bytes) -> int:
    """The version of a subscription or an assignment, at most the newest. Raises Malformed."""
    if len(data) < 2:
        raise Malformed("no version")
    version: int = struct.unpack_from(">h", data)[0]
    if version < 0:
        raise Malformed(f"version {version}")
    return min(version, _NEWEST)


def _in_known_version(data: bytes) -> bytes:
    """The same with a version that the schema has, in place of a newer one. Raises Malformed."""
    return struct.pack(">h", version_of(data)) + data[2:]


def read_subscription(data: bytes) -> Subscription:
    """The subscription in a member's metadata for a protocol.

    Raises:
        Malformed: it cannot be read.
    """
    read = decode_data("ConsumerProtocolSubscription", _in_known_version(data))
    owned: dict[str, frozenset[int]] = {}
    for each in read.owned_partitions or ():
        owned[each.topic] = owned.get(each.topic, frozenset()) | frozenset(each.partitions)
    return Subscription(frozenset(read.topics), owned, read.rack_id or None)


def read_assignment(data: bytes, topics: Topics) -> tuple[Assignment, bool]:
    """The partitions that exist, and whether the assignment has user data of an assignor.

    Raises:
        Malformed: it cannot be read.
    """
    named, has_more = _assignment(data)
    return by_id(named, topics), has_more


def assigned_partitions(data: bytes) -> dict[str, frozenset[int]]:
    """The partitions in an assignment, by the names of their topics.

    Raises:
        Malformed: it cannot be read.
    """
    named, _ = _assignment(data)
    return named


def _assignment(data: bytes) -> tuple[dict[str, frozenset[int]], bool]:
    """The partitions, and whether there is user data of an assignor. Raises Malformed."""
    if not data:
        return {}, False
    read = decode_data("ConsumerProtocolAssignment", _in_known_version(data))
    named = {each.topic: frozenset(each.partitions) for each in read.assigned_partitions}
    return named, bool(read.user_data)


def by_id(named: Mapping[str, frozenset[int]], topics: Topics) -> Assignment:
    """Partitions by the id of their topic; those that do not exist are left out.

    The topic may have been recreated with fewer partitions meanwhile.
    """
    found = {}
    for name, indexes in named.items():
        topic = topics.by_name(name)
        if topic is None:
            continue
        existing = indexes.intersection(range(topic.partition_count))
        if existing:
            found[topic.topic_id] = existing
    return found


def write_assignment(assignment: Assignment, topics: Topics, *, version: int) -> bytes:
    """An assignment as consumers of the classic protocol read it."""
    found = [(topics.by_id(topic_id), indexes) for topic_id, indexes in assignment.items()]
    fields: ConsumerProtocolAssignmentFields = {
        "assigned_partitions": [
            {"topic": topic.name, "partitions": sorted(indexes)}
            for topic, indexes in found
            if topic is not None
        ],
        "user_data": None,
    }
    return encode_data("ConsumerProtocolAssignment", version, fields)

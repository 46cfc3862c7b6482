"""Records of share groups, as `__consumer_offsets` holds them (KIP-932).

Keys and values are Kafka's (ShareGroupMetadataKey/Value and so on). A key without a value is a
tombstone.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ...protocol.lazy_dataclass import dataclass
from ...protocol.messages import decode_data, encode_data
from ..consumer.member import Assignment
from ..consumer.records import ZERO_ID, assignment, topic_partitions
from ..group_kinds import SHARE, KindRecord, Tombstone
from ..java_order import ids_in_order
from ..modern_groups import MemberState
from .member import ShareMember

if TYPE_CHECKING:
    from ...protocol.api_types.records import (
        ShareGroupCurrentMemberAssignmentValue,
        ShareGroupMemberMetadataValue,
        ShareGroupStatePartitionMetadataValue,
        TopicPartitionsInfo,
    )


class Kind(IntEnum):
    """The types of records by the version of their keys."""

    MEMBER = 10
    GROUP = 11
    TARGET = 12
    TARGET_MEMBER = 13
    CURRENT_MEMBER = 14
    STATE_TOPICS = 15


class _ShareRecord(KindRecord):
    """A record of a share group."""

    __slots__ = ()
    kind_name = SHARE

    def encoded(self) -> tuple[bytes, bytes | None]:
        return encode(cast("ShareRecord", self))


@dataclass(frozen=True, slots=True)
class GroupEpoch(_ShareRecord):
    """The group's epoch, and the hash of the topics it is subscribed to."""

    group_id: str
    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class MemberSubscription(_ShareRecord):
    """The subscription of a member: all of it but epochs, state and partitions."""

    group_id: str
    member_id: str
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class TargetEpoch(_ShareRecord):
    """The epoch of the group that the target assignment was made for.

    Attributes:
        timestamp_ms: the wall time when it was made; 0 for none.
    """

    group_id: str
    epoch: int
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class TargetMember(_ShareRecord):
    """The target assignment of a member."""

    group_id: str
    member_id: str
    partitions: Assignment


@dataclass(frozen=True, slots=True)
class CurrentMember(_ShareRecord):
    """The current assignment of a member, with its epochs and state."""

    group_id: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned: Assignment


class StateTopic(NamedTuple):
    """Partitions of a topic with share state."""

    name: str
    partitions: frozenset[int]


StateTopicsById = Mapping[uuid.UUID, StateTopic]


@dataclass(frozen=True, slots=True)
class StateTopics(_ShareRecord):
    """The partitions with share state in `__share_group_state`.

    Attributes:
        initializing: their state is being initialized, or the broker stopped before it was.
        initialized: members may be assigned these.
        deleting: names of topics by id whose state is being deleted, or the broker stopped before
            it was.
    """

    group_id: str
    initializing: StateTopicsById
    initialized: StateTopicsById
    deleting: Mapping[uuid.UUID, str]


@dataclass(frozen=True, slots=True)
class ShareRemoved(_ShareRecord, Tombstone):
    """A tombstone; `member_id` is empty if the kind has none."""

    kind: Kind
    group_id: str
    member_id: str = ""

    @property
    def name(self) -> str:
        return self.member_id


ShareRecord = (
    GroupEpoch
    | MemberSubscription
    | TargetEpoch
    | TargetMember
    | CurrentMember
    | StateTopics
    | ShareRemoved
)

_SCHEMAS: Final = {
    Kind.MEMBER: "ShareGroupMemberMetadata",
    Kind.GROUP: "ShareGroupMetadata",
    Kind.TARGET: "ShareGroupTargetAssignmentMetadata",
    Kind.TARGET_MEMBER: "ShareGroupTargetAssignmentMember",
    Kind.CURRENT_MEMBER: "ShareGroupCurrentMemberAssignment",
    Kind.STATE_TOPICS: "ShareGroupStatePartitionMetadata",
}
_OF_MEMBERS: Final = (Kind.MEMBER, Kind.TARGET_MEMBER, Kind.CURRENT_MEMBER)


def subscription(group_id: str, member: ShareMember) -> MemberSubscription:
    """The record of a member's subscription."""
    return MemberSubscription(
        group_id,
        member.member_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.subscribed_topic_names,
    )


def current(group_id: str, member: ShareMember) -> CurrentMember:
    """The record of a member's epochs, state and partitions."""
    return CurrentMember(
        group_id,
        member.member_id,
        member.member_epoch,
        member.previous_member_epoch,
        member.state,
        member.assigned,
    )


def encode(record: ShareRecord) -> tuple[bytes, bytes | None]:
    """The key and the value of a record; a tombstone has no value."""
    group_id = record.group_id
    match record:
        case GroupEpoch():
            fields: Mapping[str, object] = {
                "epoch": record.epoch,
                "metadata_hash": record.metadata_hash,
            }
            return _encoded(Kind.GROUP, group_id, "", fields)
        case MemberSubscription():
            fields = {
                "rack_id": record.rack_id,
                "client_id": record.client_id,
                "client_host": record.client_host,
                "subscribed_topic_names": sorted(record.subscribed_topic_names),
            }
            return _encoded(Kind.MEMBER, group_id, record.member_id, fields)
        case TargetEpoch():
            fields = {"assignment_epoch": record.epoch}
            if record.timestamp_ms:
                fields["assignment_timestamp"] = record.timestamp_ms
            return _encoded(Kind.TARGET, group_id, "", fields)
        case TargetMember():
            fields = {"topic_partitions": topic_partitions(record.partitions)}
            return _encoded(Kind.TARGET_MEMBER, group_id, record.member_id, fields)
        case CurrentMember():
            fields = {
                "member_epoch": record.member_epoch,
                "previous_member_epoch": record.previous_member_epoch,
                "state": record.state,
                "assigned_partitions": topic_partitions(record.assigned),
            }
            return _encoded(Kind.CURRENT_MEMBER, group_id, record.member_id, fields)
        case StateTopics():
            fields = {
                "initializing_topics": _state_topics(record.initializing),
                "initialized_topics": _state_topics(record.initialized),
                "deleting_topics": [
                    {"topic_id": topic_id, "topic_name": record.deleting[topic_id]}
                    for topic_id in ids_in_order(record.deleting)
                ],
            }
            return _encoded(Kind.STATE_TOPICS, group_id, "", fields)
        case _:
            return _encoded(record.kind, group_id, record.member_id, None)


def _encoded(
    kind: Kind, group_id: str, member_id: str, fields: Mapping[str, object] | None
) -> tuple[bytes, bytes | None]:
    schema = _SCHEMAS[kind]
    key = {"group_id": group_id}
    if kind in _OF_MEMBERS:
        key["member_id"] = member_id
    value = None if fields is None else encode_data(schema + "Value", 0, fields)
    return encode_data(schema + "Key", kind, key), value


def _state_topics(topics: StateTopicsById) -> list[Mapping[str, object]]:
    return [
        {
            "topic_id": topic_id,
            "topic_name": topics[topic_id].name,
            "partitions": sorted(topics[topic_id].partitions),
        }
        for topic_id in ids_in_order(topics)
    ]


def decode(key_version: int, key: bytes, value: bytes | None) -> ShareRecord:
    """The record of a key, whose first two bytes are the version, and a value; None deletes.

    Raises:
        Malformed: the key or the value is cut, or the value of an unknown version.
    """
    kind = Kind(key_version)
    schema = _SCHEMAS[kind]
    named = decode_data(schema + "Key", key)
    member_id = named.member_id if kind in _OF_MEMBERS else ""
    if value is None:
        return ShareRemoved(kind, named.group_id, member_id)
    group_id, data = named.group_id, decode_data(schema + "Value", value)
    match kind:
        case Kind.MEMBER:
            return _subscription(group_id, member_id, data)
        case Kind.GROUP:
            return GroupEpoch(group_id, data.epoch, data.metadata_hash)
        case Kind.TARGET:
            return TargetEpoch(group_id, data.assignment_epoch, data.assignment_timestamp)
        case Kind.TARGET_MEMBER:
            return TargetMember(group_id, member_id, assignment(data.topic_partitions))
        case Kind.CURRENT_MEMBER:
            return _current(group_id, member_id, data)
        case Kind.STATE_TOPICS:
            return _state_topics_of(group_id, data)


def _subscription(
    group_id: str, member_id: str, value: ShareGroupMemberMetadataValue
) -> MemberSubscription:
    return MemberSubscription(
        group_id,
        member_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        frozenset(value.subscribed_topic_names),
    )


def _current(
    group_id: str, member_id: str, value: ShareGroupCurrentMemberAssignmentValue
) -> CurrentMember:
    return CurrentMember(
        group_id,
        member_id,
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        assignment(value.assigned_partitions),
    )


def _state_topics_of(group_id: str, value: ShareGroupStatePartitionMetadataValue) -> StateTopics:
    return StateTopics(
        group_id,
        _state(value.initializing_topics),
        _state(value.initialized_topics),
        {topic.topic_id or ZERO_ID: topic.topic_name for topic in value.deleting_topics},
    )


def _state(topics: Iterable[TopicPartitionsInfo]) -> StateTopicsById:
    return {
        topic.topic_id or ZERO_ID: StateTopic(topic.topic_name, frozenset(topic.partitions))
        for topic in topics
    }

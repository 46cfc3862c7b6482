"""Records of consumer groups, as `__consumer_offsets` holds them (KIP-848).

Keys and values are Kafka's (ConsumerGroupMetadataKey/Value and so on). A key without a value is a
tombstone. ConsumerGroupPartitionMetadata, which Kafka 4.0 wrote, is read only so that it can be
deleted: since 4.1 the group's own record has a hash of the topics instead.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, cast

from ...protocol.lazy_dataclass import dataclass
from ...protocol.messages import decode_data, encode_data, prepare_data
from ..group_kinds import CONSUMER, KindRecord, Tombstone
from ..modern_groups import MemberState
from .member import (
    NO_EPOCHS,
    Assignment,
    AssignmentEpochs,
    ClassicMember,
    ConsumerMember,
)

if TYPE_CHECKING:
    from ...protocol.api_types.records import (
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupMemberMetadataValueFields,
    )
    from ...protocol.api_types.records import (
        ConsumerGroupCurrentMemberAssignmentValueTopicPartitions as CurrentPartitions,
    )
    from ...protocol.api_types.records import (
        ConsumerGroupCurrentMemberAssignmentValueTopicPartitionsFields as CurrentPartitionsFields,
    )
    from ...protocol.api_types.records import (
        ConsumerGroupTargetAssignmentMemberValueTopicPartition as TargetPartitions,
    )
    from ...protocol.api_types.records import (
        ConsumerGroupTargetAssignmentMemberValueTopicPartitionFields as TargetPartitionsFields,
    )
    from ...protocol.api_types.records import (
        ShareGroupCurrentMemberAssignmentValueTopicPartitions as SharePartitions,
    )

ZERO_ID: Final = uuid.UUID(int=0)


class Kind(IntEnum):
    """The types of records by the version of their keys."""

    GROUP = 3
    SUBSCRIPTION_METADATA = 4
    MEMBER = 5
    TARGET = 6
    TARGET_MEMBER = 7
    CURRENT_MEMBER = 8
    REGEX = 16


class _ConsumerRecord(KindRecord):
    """A record of a consumer group."""

    __slots__ = ()
    kind_name = CONSUMER

    def encoded(self) -> tuple[bytes, bytes | None]:
        return encode(cast("ConsumerRecord", self))


@dataclass(frozen=True, slots=True)
class GroupEpoch(_ConsumerRecord):
    """The group's epoch, and the hash of the topics it is subscribed to."""

    group_id: str
    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class SubscriptionMetadata(_ConsumerRecord):
    """The group has a record of Kafka 4.0 about its topics."""

    group_id: str


@dataclass(frozen=True, slots=True)
class MemberSubscription(_ConsumerRecord):
    """The subscription of a member: all of it but epochs, state and partitions.

    Those have the values of a new member; see `subscription`.
    """

    group_id: str
    member: ConsumerMember


@dataclass(frozen=True, slots=True)
class TargetEpoch(_ConsumerRecord):
    """The epoch of the group that the target assignment was made for.

    Attributes:
        timestamp_ms: when it was made; 0 if the next one may be made at once.
    """

    group_id: str
    epoch: int
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class TargetMember(_ConsumerRecord):
    """The target assignment of a member."""

    group_id: str
    member_id: str
    partitions: Assignment


@dataclass(frozen=True, slots=True)
class CurrentMember(_ConsumerRecord):
    """The current assignment of a member, with its epochs and state."""

    group_id: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned: Assignment
    pending_revocation: Assignment
    epochs: AssignmentEpochs = field(default_factory=lambda: NO_EPOCHS)


@dataclass(frozen=True, slots=True)
class ResolvedRegex(_ConsumerRecord):
    """The topics that a regular expression matched.

    Attributes:
        version: of the metadata it was matched against.
        timestamp_ms: when.
    """

    group_id: str
    regex: str
    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerRemoved(_ConsumerRecord, Tombstone):
    """A tombstone. `name` is the member id or the regular expression, if the kind has one."""

    kind: Kind
    group_id: str
    name: str = ""


ConsumerRecord = (
    GroupEpoch
    | SubscriptionMetadata
    | MemberSubscription
    | TargetEpoch
    | TargetMember
    | CurrentMember
    | ResolvedRegex
    | ConsumerRemoved
)

_SCHEMAS: Final = {
    Kind.GROUP: "ConsumerGroupMetadata",
    Kind.SUBSCRIPTION_METADATA: "ConsumerGroupPartitionMetadata",
    Kind.MEMBER: "ConsumerGroupMemberMetadata",
    Kind.TARGET: "ConsumerGroupTargetAssignmentMetadata",
    Kind.TARGET_MEMBER: "ConsumerGroupTargetAssignmentMember",
    Kind.CURRENT_MEMBER: "ConsumerGroupCurrentMemberAssignment",
    Kind.REGEX: "ConsumerGroupRegularExpression",
}
_NAMED_BY: Final = {
    Kind.MEMBER: "member_id",
    Kind.TARGET_MEMBER: "member_id",
    Kind.CURRENT_MEMBER: "member_id",
    Kind.REGEX: "regular_expression",
}
_NO_CLASSIC_METADATA: Final = b"\x01\x00\x01\x00"  # one tagged field: 0, of a byte, null


def subscription(group_id: str, member: ConsumerMember) -> MemberSubscription:
    """The record of a member's subscription, without epochs, state and partitions."""
    return MemberSubscription(group_id, member.with_current(ConsumerMember(member.member_id)))


def current(group_id: str, member: ConsumerMember) -> CurrentMember:
    """The record of a member's epochs, state and partitions."""
    return CurrentMember(
        group_id,
        member.member_id,
        member.member_epoch,
        member.previous_member_epoch,
        member.state,
        member.assigned,
        member.pending_revocation,
        member.epochs,
    )


def prepare() -> Iterator[str]:
    """Compile the functions for the records of a new member; yields each one's name."""
    for kind in (Kind.GROUP, Kind.MEMBER, Kind.TARGET, Kind.TARGET_MEMBER, Kind.CURRENT_MEMBER):
        prepare_data(_SCHEMAS[kind] + "Key", kind)
        yield f"{kind.name} key"
        prepare_data(_SCHEMAS[kind] + "Value", 0)
        yield kind.name


def encode(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    """The key and the value of a record; a tombstone has no value."""
    match record:
        case GroupEpoch():
            fields: Mapping[str, object] = {
                "epoch": record.epoch,
                "metadata_hash": record.metadata_hash,
            }
            return _encoded(Kind.GROUP, record.group_id, "", fields)
        case SubscriptionMetadata():
            return _encoded(Kind.SUBSCRIPTION_METADATA, record.group_id, "", {"topics": []})
        case MemberSubscription():
            member = record.member
            fields = _subscription_fields(member)
            return _encoded(Kind.MEMBER, record.group_id, member.member_id, fields)
        case TargetEpoch():
            fields = {
                "assignment_epoch": record.epoch,
                "assignment_timestamp": record.timestamp_ms,
            }
            return _encoded(Kind.TARGET, record.group_id, "", fields)
        case TargetMember():
            fields = {"topic_partitions": topic_partitions(record.partitions)}
            return _encoded(Kind.TARGET_MEMBER, record.group_id, record.member_id, fields)
        case CurrentMember():
            fields = {
                "member_epoch": record.member_epoch,
                "previous_member_epoch": record.previous_member_epoch,
                "state": record.state,
                "assigned_partitions": _with_epochs(record.assigned, record.epochs),
                "partitions_pending_revocation": _with_epochs(
                    record.pending_revocation, record.epochs
                ),
            }
            return _encoded(Kind.CURRENT_MEMBER, record.group_id, record.member_id, fields)
        case ResolvedRegex():
            fields = {
                "topics": sorted(record.topics),
                "version": record.version,
                "timestamp": record.timestamp_ms,
            }
            return _encoded(Kind.REGEX, record.group_id, record.regex, fields)
        case _:
            return _encoded(record.kind, record.group_id, record.name, None)


def _encoded(
    kind: Kind, group_id: str, name: str, fields: Mapping[str, object] | None
) -> tuple[bytes, bytes | None]:
    schema = _SCHEMAS[kind]
    key = {"group_id": group_id}
    if kind in _NAMED_BY:
        key[_NAMED_BY[kind]] = name
    value = None if fields is None else encode_data(schema + "Value", 0, fields)
    if kind is Kind.MEMBER and fields is not None and "classic_member_metadata" not in fields:
        assert value is not None
        # Without the tag Kafka reads a classic member that supports nothing: null must be said.
        value = value[:-1] + _NO_CLASSIC_METADATA
    return encode_data(schema + "Key", kind, key), value


def _subscription_fields(member: ConsumerMember) -> ConsumerGroupMemberMetadataValueFields:
    fields: ConsumerGroupMemberMetadataValueFields = {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.subscribed_topic_names),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "server_assignor": member.server_assignor,
    }
    if member.classic is not None:
        fields["classic_member_metadata"] = {
            "session_timeout_ms": member.classic.session_timeout_ms,
            "supported_protocols": [
                {"name": name, "metadata": metadata} for name, metadata in member.classic.protocols
            ],
        }
    return fields


def topic_partitions(partitions: Assignment) -> list[TargetPartitionsFields]:
    """An assignment, as the fields of a record."""
    return [
        {"topic_id": topic_id, "partitions": sorted(indexes)}
        for topic_id, indexes in partitions.items()
    ]


def _with_epochs(partitions: Assignment, epochs: AssignmentEpochs) -> list[CurrentPartitionsFields]:
    """The partitions, each with the epoch of its assignment (KIP-1251)."""
    found: list[CurrentPartitionsFields] = []
    for topic_id, unsorted in partitions.items():
        indexes, known = sorted(unsorted), epochs.get(topic_id)
        topic: CurrentPartitionsFields = {"topic_id": topic_id, "partitions": indexes}
        if known is not None:
            topic["assignment_epochs"] = [known[index] for index in indexes]
        found.append(topic)
    return found


def decode(key_version: int, key: bytes, value: bytes | None) -> ConsumerRecord:
    """The record of a key, whose first two bytes are the version, and a value; None deletes.

    Raises:
        Malformed: the key or the value is cut, or the value of an unknown version.
    """
    kind = Kind(key_version)
    schema = _SCHEMAS[kind]
    named = decode_data(schema + "Key", key)
    name = getattr(named, _NAMED_BY[kind]) if kind in _NAMED_BY else ""
    if value is None:
        return ConsumerRemoved(kind, named.group_id, name)
    return _DECODERS[kind](named.group_id, name, decode_data(schema + "Value", value))


def _member(
    group_id: str, member_id: str, value: ConsumerGroupMemberMetadataValue
) -> MemberSubscription:
    classic = value.classic_member_metadata
    member = ConsumerMember(
        member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        server_assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMember(
            classic.session_timeout_ms,
            tuple((each.name, bytes(each.metadata)) for each in classic.supported_protocols),
        ),
    )
    return MemberSubscription(group_id, member)


def _current(
    group_id: str, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue
) -> CurrentMember:
    return CurrentMember(
        group_id,
        member_id,
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        assignment(value.assigned_partitions),
        assignment(value.partitions_pending_revocation),
        _epochs(
            max(value.member_epoch, 0),
            (*value.assigned_partitions, *value.partitions_pending_revocation),
        ),
    )


def _epochs(default: int, topics: Iterable[CurrentPartitions]) -> AssignmentEpochs:
    """The epochs of partitions; records of Kafka 4.2 and older do not say them."""
    found: dict[uuid.UUID, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [default] * len(topic.partitions)
        by_index = found.setdefault(topic.topic_id or ZERO_ID, {})
        by_index.update(zip(topic.partitions, epochs, strict=True))
    return found


def assignment(
    topics: Iterable[CurrentPartitions | TargetPartitions | SharePartitions],
) -> Assignment:
    """The assignment in a record."""
    found: dict[uuid.UUID, frozenset[int]] = {
        topic.topic_id or ZERO_ID: frozenset(topic.partitions) for topic in topics
    }
    return found


# Any: the value of each kind has a type of its own.
_DECODERS: Final[dict[Kind, Callable[[str, str, Any], ConsumerRecord]]] = {
    Kind.GROUP: lambda group, _, value: GroupEpoch(group, value.epoch, value.metadata_hash),
    Kind.SUBSCRIPTION_METADATA: lambda group, _, value: SubscriptionMetadata(group),
    Kind.MEMBER: _member,
    Kind.TARGET: lambda group, _, value: TargetEpoch(
        group, value.assignment_epoch, value.assignment_timestamp
    ),
    Kind.TARGET_MEMBER: lambda group, member_id, value: TargetMember(
        group, member_id, assignment(value.topic_partitions)
    ),
    Kind.CURRENT_MEMBER: _current,
    Kind.REGEX: lambda group, regex, value: ResolvedRegex(
        group, regex, frozenset(value.topics), value.version, value.timestamp
    ),
}

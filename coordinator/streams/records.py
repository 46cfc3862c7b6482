"""Records of streams groups, as `__consumer_offsets` holds them (KIP-1071).

Keys and values are Kafka's (StreamsGroupMetadataKey/Value and so on). A key without a value is a
tombstone. The group's record also has two epochs of topology descriptions (KIP-1331); they are kept
as they were read, because Ottla has no plugin for descriptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final, cast

from ...protocol.lazy_dataclass import dataclass
from ...protocol.messages import decode_data, encode_data, prepare_data
from ..group_kinds import STREAMS, KindRecord, Tombstone
from ..modern_groups import MemberState
from .member import (
    Endpoint,
    StreamsMember,
    Tasks,
    TasksTuple,
    TasksTupleWithEpochs,
    TasksWithEpochs,
)
from .topology import TopicInfo, Topology, read_subtopology

if TYPE_CHECKING:
    from ...protocol.api_types.records import (
        StreamsGroupCurrentMemberAssignmentValue,
        StreamsGroupMemberMetadataValue,
        StreamsGroupMetadataValue,
        StreamsGroupTopologyValue,
    )
    from ...protocol.api_types.records import (
        StreamsGroupCurrentMemberAssignmentValueTaskIds as CurrentTaskIds,
    )
    from ...protocol.api_types.records import (
        StreamsGroupTargetAssignmentMemberValueTaskIds as TargetTaskIds,
    )

NO_TOPOLOGY_EPOCH: Final = -1


class Kind(IntEnum):
    """The types of records by the version of their keys."""

    GROUP = 17
    MEMBER = 19
    TARGET = 20
    TARGET_MEMBER = 21
    CURRENT_MEMBER = 22
    TOPOLOGY = 23


class _StreamsRecord(KindRecord):
    """A record of a streams group."""

    __slots__ = ()
    kind_name = STREAMS

    def encoded(self) -> tuple[bytes, bytes | None]:
        return encode(cast("StreamsRecord", self))


@dataclass(frozen=True, slots=True)
class GroupEpoch(_StreamsRecord):
    """The group's epoch, and what its last assignment was made from.

    Attributes:
        metadata_hash: of the topics of the topology.
        validated_topology_epoch: the epoch of the topology that the topics fit; -1 for none.
        assignment_configs: pairs of name and value, in the order of names.
        stored_description_epoch, failed_description_epoch: of a plugin; -1 for none.
    """

    group_id: str
    epoch: int
    metadata_hash: int = 0
    validated_topology_epoch: int = NO_TOPOLOGY_EPOCH
    assignment_configs: tuple[tuple[str, str], ...] = ()
    stored_description_epoch: int = NO_TOPOLOGY_EPOCH
    failed_description_epoch: int = NO_TOPOLOGY_EPOCH


@dataclass(frozen=True, slots=True)
class GroupTopology(_StreamsRecord):
    """The topology of the group.

    Attributes:
        value: its encoding (`encode_topology`), if that was made before.
    """

    group_id: str
    topology: Topology
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class MemberMetadata(_StreamsRecord):
    """The metadata of a member: all of it but epochs, state and tasks.

    Those have the values of a new member; see `metadata`.
    """

    group_id: str
    member: StreamsMember


@dataclass(frozen=True, slots=True)
class TargetEpoch(_StreamsRecord):
    """The epoch of the group that the target assignment was made for, and when that was.

    Attributes:
        timestamp_ms: 0 if the next assignment need not wait for the interval.
    """

    group_id: str
    epoch: int
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class TargetMember(_StreamsRecord):
    """The target assignment of a member."""

    group_id: str
    member_id: str
    tasks: TasksTuple


@dataclass(frozen=True, slots=True)
class CurrentMember(_StreamsRecord):
    """The current assignment of a member, with its epochs and state."""

    group_id: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned: TasksTupleWithEpochs
    pending_revocation: TasksTupleWithEpochs


@dataclass(frozen=True, slots=True)
class StreamsRemoved(_StreamsRecord, Tombstone):
    """A tombstone. `name` is the member id, if the kind has one."""

    kind: Kind
    group_id: str
    name: str = ""


StreamsRecord = (
    GroupEpoch
    | GroupTopology
    | MemberMetadata
    | TargetEpoch
    | TargetMember
    | CurrentMember
    | StreamsRemoved
)

_SCHEMAS: Final = {
    Kind.GROUP: "StreamsGroupMetadata",
    Kind.MEMBER: "StreamsGroupMemberMetadata",
    Kind.TARGET: "StreamsGroupTargetAssignmentMetadata",
    Kind.TARGET_MEMBER: "StreamsGroupTargetAssignmentMember",
    Kind.CURRENT_MEMBER: "StreamsGroupCurrentMemberAssignment",
    Kind.TOPOLOGY: "StreamsGroupTopology",
}
_OF_MEMBERS: Final = frozenset({Kind.MEMBER, Kind.TARGET_MEMBER, Kind.CURRENT_MEMBER})


def metadata(group_id: str, member: StreamsMember) -> MemberMetadata:
    """The record of a member's metadata, without epochs, state and tasks."""
    return MemberMetadata(group_id, member.with_current(StreamsMember(member.member_id)))


def current(group_id: str, member: StreamsMember) -> CurrentMember:
    """The record of a member's epochs, state and tasks."""
    return CurrentMember(
        group_id,
        member.member_id,
        member.member_epoch,
        member.previous_member_epoch,
        member.state,
        member.assigned,
        member.pending_revocation,
    )


def prepare() -> Iterator[str]:
    """Compile the functions for the records of a new member; yields each one's name."""
    for kind in Kind:
        prepare_data(_SCHEMAS[kind] + "Key", kind)
        yield f"{kind.name} key"
        prepare_data(_SCHEMAS[kind] + "Value", 0)
        yield kind.name


def encode(record: StreamsRecord) -> tuple[bytes, bytes | None]:
    """The key and the value of a record; a tombstone has no value."""
    match record:
        case GroupEpoch():
            return _encoded(Kind.GROUP, record.group_id, "", _group_fields(record))
        case GroupTopology():
            key, _ = _encoded(Kind.TOPOLOGY, record.group_id, "", None)
            return key, record.value or encode_topology(record.topology)
        case MemberMetadata():
            member = record.member
            fields = _member_fields(member)
            return _encoded(Kind.MEMBER, record.group_id, member.member_id, fields)
        case TargetEpoch():
            fields = {
                "assignment_epoch": record.epoch,
                "assignment_timestamp": record.timestamp_ms,
            }
            return _encoded(Kind.TARGET, record.group_id, "", fields)
        case TargetMember():
            fields = {
                "active_tasks": _task_fields(record.tasks.active),
                "standby_tasks": _task_fields(record.tasks.standby),
                "warmup_tasks": _task_fields(record.tasks.warmup),
            }
            return _encoded(Kind.TARGET_MEMBER, record.group_id, record.member_id, fields)
        case CurrentMember():
            assigned, revoked = record.assigned, record.pending_revocation
            fields = {
                "member_epoch": record.member_epoch,
                "previous_member_epoch": record.previous_member_epoch,
                "state": record.state,
                "active_tasks": _epoch_fields(assigned.active),
                "standby_tasks": _task_fields(assigned.standby),
                "warmup_tasks": _task_fields(assigned.warmup),
                "active_tasks_pending_revocation": _epoch_fields(revoked.active),
                "standby_tasks_pending_revocation": _task_fields(revoked.standby),
                "warmup_tasks_pending_revocation": _task_fields(revoked.warmup),
            }
            return _encoded(Kind.CURRENT_MEMBER, record.group_id, record.member_id, fields)
        case _:
            return _encoded(record.kind, record.group_id, record.name, None)


def _encoded(
    kind: Kind, group_id: str, member_id: str, fields: Mapping[str, object] | None
) -> tuple[bytes, bytes | None]:
    key = {"group_id": group_id}
    if kind in _OF_MEMBERS:
        key["member_id"] = member_id
    value = None if fields is None else encode_data(_SCHEMAS[kind] + "Value", 0, fields)
    return encode_data(_SCHEMAS[kind] + "Key", kind, key), value


def _group_fields(record: GroupEpoch) -> Mapping[str, object]:
    return {
        "epoch": record.epoch,
        "metadata_hash": record.metadata_hash,
        "validated_topology_epoch": record.validated_topology_epoch,
        "last_assignment_configs": _pairs(record.assignment_configs),
        "stored_description_topology_epoch": record.stored_description_epoch,
        "failed_description_topology_epoch": record.failed_description_epoch,
    }


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[Mapping[str, str]]:
    return [{"key": key, "value": value} for key, value in pairs]


def _member_fields(member: StreamsMember) -> Mapping[str, object]:
    endpoint = member.user_endpoint
    return {
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "topology_epoch": member.topology_epoch,
        "process_id": member.process_id,
        "user_endpoint": None if endpoint is None else endpoint._asdict(),
        "client_tags": _pairs(member.client_tags),
    }


def encode_topology(topology: Topology) -> bytes:
    """The value of the record of a topology."""
    return encode_data(_SCHEMAS[Kind.TOPOLOGY] + "Value", 0, _topology_fields(topology))


def _topology_fields(topology: Topology) -> Mapping[str, object]:
    def infos(topics: Iterable[TopicInfo]) -> list[Mapping[str, object]]:
        return [{**each._asdict(), "topic_configs": _pairs(each.topic_configs)} for each in topics]

    return {
        "epoch": topology.epoch,
        "subtopologies": [
            {
                "subtopology_id": each.subtopology_id,
                "source_topics": each.source_topics,
                "source_topic_regex": each.source_topic_regex,
                "state_changelog_topics": infos(each.state_changelog_topics),
                "repartition_sink_topics": each.repartition_sink_topics,
                "repartition_source_topics": infos(each.repartition_source_topics),
                "copartition_groups": [group._asdict() for group in each.copartition_groups],
            }
            for each in topology.subtopologies
        ],
    }


def _task_fields(tasks: Tasks) -> list[Mapping[str, object]]:
    return [
        {"subtopology_id": subtopology_id, "partitions": sorted(tasks[subtopology_id])}
        for subtopology_id in sorted(tasks)
    ]


def _epoch_fields(tasks: TasksWithEpochs) -> list[Mapping[str, object]]:
    return [
        {
            "subtopology_id": subtopology_id,
            "partitions": sorted(tasks[subtopology_id]),
            "assignment_epochs": [
                tasks[subtopology_id][index] for index in sorted(tasks[subtopology_id])
            ],
        }
        for subtopology_id in sorted(tasks)
    ]


def decode(key_version: int, key: bytes, value: bytes | None) -> StreamsRecord:
    """The record of a key, whose first two bytes are the version, and a value; None deletes.

    Raises:
        Malformed: the key or the value is cut, or the value of an unknown version.
    """
    kind = Kind(key_version)
    schema = _SCHEMAS[kind]
    named = decode_data(schema + "Key", key)
    member_id = named.member_id if kind in _OF_MEMBERS else ""
    if value is None:
        return StreamsRemoved(kind, named.group_id, member_id)
    read = decode_data(schema + "Value", value)
    match kind:
        case Kind.GROUP:
            return _group(named.group_id, read)
        case Kind.MEMBER:
            return _member(named.group_id, member_id, read)
        case Kind.TARGET:
            return TargetEpoch(named.group_id, read.assignment_epoch, read.assignment_timestamp)
        case Kind.TARGET_MEMBER:
            roles = (read.active_tasks, read.standby_tasks, read.warmup_tasks)
            return TargetMember(named.group_id, member_id, TasksTuple(*map(_tasks, roles)))
        case Kind.CURRENT_MEMBER:
            return _current(named.group_id, member_id, read)
        case Kind.TOPOLOGY:
            return _topology(named.group_id, read)


def _group(group_id: str, value: StreamsGroupMetadataValue) -> GroupEpoch:
    return GroupEpoch(
        group_id,
        value.epoch,
        value.metadata_hash,
        value.validated_topology_epoch,
        tuple(sorted((each.key, each.value) for each in value.last_assignment_configs or ())),
        value.stored_description_topology_epoch,
        value.failed_description_topology_epoch,
    )


def _member(
    group_id: str, member_id: str, value: StreamsGroupMemberMetadataValue
) -> MemberMetadata:
    endpoint = value.user_endpoint
    member = StreamsMember(
        member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=tuple(sorted((each.key, each.value) for each in value.client_tags)),
    )
    return MemberMetadata(group_id, member)


def _current(
    group_id: str, member_id: str, value: StreamsGroupCurrentMemberAssignmentValue
) -> CurrentMember:
    epoch = value.member_epoch
    return CurrentMember(
        group_id,
        member_id,
        epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        TasksTupleWithEpochs(
            _with_epochs(value.active_tasks, epoch),
            _tasks(value.standby_tasks),
            _tasks(value.warmup_tasks),
        ),
        TasksTupleWithEpochs(
            _with_epochs(value.active_tasks_pending_revocation, epoch),
            _tasks(value.standby_tasks_pending_revocation),
            _tasks(value.warmup_tasks_pending_revocation),
        ),
    )


def _tasks(tasks: Iterable[CurrentTaskIds | TargetTaskIds]) -> Tasks:
    return {each.subtopology_id: frozenset(each.partitions) for each in tasks}


def _with_epochs(tasks: Iterable[CurrentTaskIds], member_epoch: int) -> TasksWithEpochs:
    """Active tasks; those that a coordinator without epochs of tasks wrote get the member's."""
    found: dict[str, Mapping[int, int]] = {}
    for each in tasks:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return found


def _topology(group_id: str, value: StreamsGroupTopologyValue) -> GroupTopology:
    return GroupTopology(
        group_id, Topology(value.epoch, tuple(map(read_subtopology, value.subtopologies)))
    )

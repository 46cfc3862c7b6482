"""StreamsGroupHeartbeat and its reply as values, and the settings of streams groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..classic.requests import MAX_INT
from ..modern_groups import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from .configured import ConfiguredTopology, GroupStatus, InternalTopic
from .member import (
    Endpoint,
    StreamsMember,
    TaskOffsets,
    Tasks,
    TasksTuple,
    TasksTupleWithEpochs,
)
from .topology import Topology

_STANDBYS: Final = "num.standby.replicas"
_TAGS: Final = "rack.aware.assignment.tags"


@dataclass(frozen=True, slots=True)
class StreamsGroupSettings:
    """The settings of a group: its own (ConfigResource GROUP), else the broker's.

    Attributes:
        initial_rebalance_delay_ms: how long an empty group waits for more members.
        assignment_interval_ms: the time between two assignments.
        rack_aware_assignment_tags: the keys of the client tags that members must have.
        assignor: the name that StreamsGroupDescribe shows; there is one assignor.
        task_offset_interval_ms, acceptable_recovery_lag: told to members.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = MAX_INT
    num_standby_replicas: int = 0
    initial_rebalance_delay_ms: int = 3_000
    assignment_interval_ms: int = 1_000
    rack_aware_assignment_tags: tuple[str, ...] = ()
    assignor: str = "sticky"
    task_offset_interval_ms: int = 60_000
    acceptable_recovery_lag: int = 10_000

    @property
    def assignment_configs(self) -> tuple[tuple[str, str], ...]:
        """What the group's record keeps of them; a change makes the group rebalance."""
        configs = [(_STANDBYS, str(self.num_standby_replicas))]
        if self.rack_aware_assignment_tags:
            configs.append((_TAGS, ",".join(self.rack_aware_assignment_tags)))
        return tuple(configs)


def standby_replicas(assignment_configs: Sequence[tuple[str, str]]) -> int:
    """The number of standbys in the configs of a record."""
    return int(dict(assignment_configs).get(_STANDBYS, 0))


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A StreamsGroupHeartbeat. A field of None has not changed since the last one.

    Attributes:
        member_epoch: 0 to join, -1 to leave, -2 for a static member that will be back.
        endpoint_epoch: of the endpoints that the member knows.
        rebalance_timeout_ms: -1 when it has not changed.
        topology_value: the encoded topology, if it was made before the decision.
        active, standby, warmup: the tasks that the member has now.
        client_tags: pairs of key and value, in the order of keys.
        task_offsets, task_end_offsets: of subtopology id, partition and offset.
        knows_tags: whether it understands the status MISSING_CLIENT_TAGS (version 1+).
    """

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active: Tasks | None = None
    standby: Tasks | None = None
    warmup: Tasks | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] | None = None
    task_offsets: Sequence[tuple[str, int, int]] | None = None
    task_end_offsets: Sequence[tuple[str, int, int]] | None = None
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""
    knows_tags: bool = True
    topology_value: bytes | None = None

    @property
    def owned(self) -> TasksTuple | None:
        """The tasks that the member has now; None if it does not tell them."""
        if self.active is None or self.standby is None or self.warmup is None:
            return None
        return TasksTuple(self.active, self.standby, self.warmup)


class EndpointPartitions(NamedTuple):
    """The partitions whose state an endpoint has, by topic."""

    endpoint: Endpoint
    active: Mapping[str, Sequence[int]]
    standby: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer.

    Attributes:
        tasks: None if they have not changed.
        endpoints: None if the member knows them.
        missing_topics: internal topics that the broker has to create.
    """

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag: int = -1
    task_offset_interval_ms: int = 0
    statuses: tuple[GroupStatus, ...] = ()
    tasks: TasksTupleWithEpochs | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    missing_topics: tuple[InternalTopic, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedStreamsGroup:
    """A group as StreamsGroupDescribe shows it.

    Attributes:
        configured: the topology with its topics; None if they do not fit or are not checked yet.
    """

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    topology: Topology | None
    configured: ConfiguredTopology | None
    members: tuple[StreamsMember, ...]
    targets: Mapping[str, TasksTuple]
    offsets: Mapping[str, TaskOffsets]


def check_request(request: HeartbeatRequest) -> None:
    """Check the fields that a heartbeat of its epoch must have.

    Raises:
        Refused: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY.
    """
    topology, epoch = request.topology, request.member_epoch
    if topology is not None and any(each.source_topic_regex for each in topology.subtopologies):
        why = "Regular expressions for source topics are not supported yet."
        raise Refused(Code.INVALID_REQUEST, why)
    for wrong, why in (
        (not request.member_id.strip(), "MemberId can't be empty."),
        (not request.group_id.strip(), "GroupId can't be empty."),
        (_is_blank(request.instance_id), "InstanceId can't be empty."),
        (_is_blank(request.rack_id), "RackId can't be empty."),
    ):
        if wrong:
            raise Refused(Code.INVALID_REQUEST, why)
    if epoch == JOINING_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        raise Refused(Code.INVALID_REQUEST, "InstanceId can't be null.")
    elif epoch < STATIC_LEAVING_EPOCH:
        why = f"MemberEpoch is {epoch}, but must be greater than or equal to -2."
        raise Refused(Code.INVALID_REQUEST, why)
    lists = (request.active, request.standby, request.warmup)
    if any(each is not None for each in lists) and any(each is None for each in lists):
        why = "If one task-type is non-null, all must be non-null."
        raise Refused(Code.INVALID_REQUEST, why)
    if epoch != JOINING_EPOCH and topology is not None:
        why = "Topology can only be provided when (re-)joining."
        raise Refused(Code.INVALID_REQUEST, why)


def _check_join(request: HeartbeatRequest) -> None:
    topology = request.topology
    why = None
    if request.rebalance_timeout_ms == -1:
        why = "RebalanceTimeoutMs must be provided in first request."
    elif not _is_empty(request.active):
        why = "ActiveTasks must be empty when (re-)joining."
    elif not _is_empty(request.standby):
        why = "StandbyTasks must be empty when (re-)joining."
    elif not _is_empty(request.warmup):
        why = "WarmupTasks must be empty when (re-)joining."
    elif topology is None:
        why = "Topology must be non-null when (re-)joining."
    if why is not None:
        raise Refused(Code.INVALID_REQUEST, why)
    assert topology is not None
    for each in topology.subtopologies:
        for topic in each.state_changelog_topics:
            if topic.partitions != 0:
                raise Refused(
                    Code.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it "
                    f"is set to {topic.partitions}.",
                )


def _is_empty(tasks: Tasks | None) -> bool:
    return tasks is not None and not tasks


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()

"""StreamsGroupHeartbeat (88), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class KeyValue(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...

class TopicInfo(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def topic_configs(self) -> Sequence[KeyValue]: ...

class CopartitionGroup(Protocol):
    @property
    def source_topics(self) -> Sequence[int]: ...
    @property
    def source_topic_regex(self) -> Sequence[int]: ...
    @property
    def repartition_source_topics(self) -> Sequence[int]: ...

class Subtopology(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def source_topics(self) -> Sequence[str]: ...
    @property
    def source_topic_regex(self) -> Sequence[str]: ...
    @property
    def state_changelog_topics(self) -> Sequence[TopicInfo]: ...
    @property
    def repartition_sink_topics(self) -> Sequence[str]: ...
    @property
    def repartition_source_topics(self) -> Sequence[TopicInfo]: ...
    @property
    def copartition_groups(self) -> Sequence[CopartitionGroup]: ...

class Topology(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def subtopologies(self) -> Sequence[Subtopology]: ...

class StreamsGroupHeartbeatRequestTaskIds(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class StreamsGroupHeartbeatRequestEndpoint(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

class TaskOffset(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...

class StreamsGroupHeartbeatRequest(Protocol):
    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: Topology | None
    active_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None
    standby_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None
    warmup_tasks: Sequence[StreamsGroupHeartbeatRequestTaskIds] | None
    process_id: str | None
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None
    client_tags: Sequence[KeyValue] | None
    task_offsets: Sequence[TaskOffset] | None
    task_end_offsets: Sequence[TaskOffset] | None
    shutdown_application: bool

class Status(TypedDict):
    status_code: int
    status_detail: str

class StreamsGroupHeartbeatResponseTaskIds(TypedDict):
    subtopology_id: str
    partitions: list[int]

class StreamsGroupHeartbeatResponseEndpoint(TypedDict):
    host: str
    port: int

class TopicPartition(TypedDict):
    topic: str
    partitions: list[int]

class EndpointToPartitions(TypedDict):
    user_endpoint: StreamsGroupHeartbeatResponseEndpoint
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]

class StreamsGroupHeartbeatResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag_legacy: NotRequired[int]  # 0
    task_offset_interval_ms: int
    acceptable_recovery_lag: NotRequired[int]  # 1
    status: NotRequired[list[Status] | None]
    active_tasks: NotRequired[list[StreamsGroupHeartbeatResponseTaskIds] | None]
    standby_tasks: NotRequired[list[StreamsGroupHeartbeatResponseTaskIds] | None]
    warmup_tasks: NotRequired[list[StreamsGroupHeartbeatResponseTaskIds] | None]
    topology_description_required: NotRequired[bool]  # 1
    endpoint_information_epoch: int
    partitions_by_user_endpoint: NotRequired[list[EndpointToPartitions] | None]

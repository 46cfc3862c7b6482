"""ConsumerGroupHeartbeat (68), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class ConsumerGroupHeartbeatRequestTopicPartitions(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ConsumerGroupHeartbeatRequest(Protocol):
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: Sequence[str] | None
    subscribed_topic_regex: str | None  # 1
    server_assignor: str | None
    topic_partitions: Sequence[ConsumerGroupHeartbeatRequestTopicPartitions] | None

class ConsumerGroupHeartbeatResponseTopicPartitions(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class Assignment(TypedDict):
    topic_partitions: list[ConsumerGroupHeartbeatResponseTopicPartitions]

class ConsumerGroupHeartbeatResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    member_id: NotRequired[str | None]
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: NotRequired[Assignment | None]

"""ShareGroupHeartbeat (76), versions 1-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class ShareGroupHeartbeatRequest(Protocol):
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: Sequence[str] | None

class TopicPartitions(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class Assignment(TypedDict):
    topic_partitions: list[TopicPartitions]

class ShareGroupHeartbeatResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    member_id: NotRequired[str | None]
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: NotRequired[Assignment | None]

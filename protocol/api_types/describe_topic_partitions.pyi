"""DescribeTopicPartitions (75), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class TopicRequest(Protocol):
    @property
    def name(self) -> str: ...

class DescribeTopicPartitionsRequestCursor(Protocol):
    @property
    def topic_name(self) -> str: ...
    @property
    def partition_index(self) -> int: ...

class DescribeTopicPartitionsRequest(Protocol):
    topics: Sequence[TopicRequest]
    response_partition_limit: int
    cursor: DescribeTopicPartitionsRequestCursor | None

class DescribeTopicPartitionsResponsePartition(TypedDict):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: NotRequired[int]
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: NotRequired[list[int] | None]
    last_known_elr: NotRequired[list[int] | None]
    offline_replicas: list[int]

class DescribeTopicPartitionsResponseTopic(TypedDict):
    error_code: int
    name: NotRequired[str | None]
    topic_id: UUID | None
    is_internal: NotRequired[bool]
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: NotRequired[int]

class DescribeTopicPartitionsResponseCursor(TypedDict):
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: NotRequired[DescribeTopicPartitionsResponseCursor | None]

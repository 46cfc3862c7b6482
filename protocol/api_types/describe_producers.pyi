"""DescribeProducers (61), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class TopicRequest(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...

class DescribeProducersRequest(Protocol):
    topics: Sequence[TopicRequest]

class ProducerState(TypedDict):
    producer_id: int
    producer_epoch: int
    last_sequence: NotRequired[int]
    last_timestamp: NotRequired[int]
    coordinator_epoch: int
    current_txn_start_offset: NotRequired[int]

class PartitionResponse(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]
    active_producers: list[ProducerState]

class TopicResponse(TypedDict):
    name: str
    partitions: list[PartitionResponse]

class DescribeProducersResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[TopicResponse]

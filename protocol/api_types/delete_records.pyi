"""DeleteRecords (21), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DeleteRecordsPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def offset(self) -> int: ...

class DeleteRecordsTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[DeleteRecordsPartition]: ...

class DeleteRecordsRequest(Protocol):
    topics: Sequence[DeleteRecordsTopic]
    timeout_ms: int

class DeleteRecordsPartitionResult(TypedDict):
    partition_index: int
    low_watermark: int
    error_code: int

class DeleteRecordsTopicResult(TypedDict):
    name: str
    partitions: list[DeleteRecordsPartitionResult]

class DeleteRecordsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[DeleteRecordsTopicResult]

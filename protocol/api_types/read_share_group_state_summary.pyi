"""ReadShareGroupStateSummary (87), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class PartitionData(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...

class ReadStateSummaryData(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[PartitionData]: ...

class ReadShareGroupStateSummaryRequest(Protocol):
    group_id: str
    topics: Sequence[ReadStateSummaryData]

class PartitionResult(TypedDict):
    partition: int
    error_code: int
    error_message: NotRequired[str | None]
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: NotRequired[int]  # 1

class ReadStateSummaryResult(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionResult]

class ReadShareGroupStateSummaryResponse(TypedDict):
    results: list[ReadStateSummaryResult]

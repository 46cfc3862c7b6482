"""ReadShareGroupState (84), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class PartitionData(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...

class ReadStateData(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[PartitionData]: ...

class ReadShareGroupStateRequest(Protocol):
    group_id: str
    topics: Sequence[ReadStateData]

class StateBatch(TypedDict):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

class PartitionResult(TypedDict):
    partition: int
    error_code: int
    error_message: NotRequired[str | None]
    state_epoch: int
    start_offset: int
    state_batches: list[StateBatch]

class ReadStateResult(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionResult]

class ReadShareGroupStateResponse(TypedDict):
    results: list[ReadStateResult]

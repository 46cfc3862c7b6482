"""WriteShareGroupState (85), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class StateBatch(Protocol):
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def delivery_state(self) -> int: ...
    @property
    def delivery_count(self) -> int: ...

class PartitionData(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def state_epoch(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def delivery_complete_count(self) -> int: ...  # 1
    @property
    def state_batches(self) -> Sequence[StateBatch]: ...

class WriteStateData(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[PartitionData]: ...

class WriteShareGroupStateRequest(Protocol):
    group_id: str
    topics: Sequence[WriteStateData]

class PartitionResult(TypedDict):
    partition: int
    error_code: int
    error_message: NotRequired[str | None]

class WriteStateResult(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionResult]

class WriteShareGroupStateResponse(TypedDict):
    results: list[WriteStateResult]

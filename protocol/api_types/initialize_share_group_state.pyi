"""InitializeShareGroupState (83), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class PartitionData(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def state_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...

class InitializeStateData(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[PartitionData]: ...

class InitializeShareGroupStateRequest(Protocol):
    group_id: str
    topics: Sequence[InitializeStateData]

class PartitionResult(TypedDict):
    partition: int
    error_code: int
    error_message: NotRequired[str | None]

class InitializeStateResult(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionResult]

class InitializeShareGroupStateResponse(TypedDict):
    results: list[InitializeStateResult]

"""DeleteShareGroupState (86), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class PartitionData(Protocol):
    @property
    def partition(self) -> int: ...

class DeleteStateData(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[PartitionData]: ...

class DeleteShareGroupStateRequest(Protocol):
    group_id: str
    topics: Sequence[DeleteStateData]

class PartitionResult(TypedDict):
    partition: int
    error_code: int
    error_message: NotRequired[str | None]

class DeleteStateResult(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionResult]

class DeleteShareGroupStateResponse(TypedDict):
    results: list[DeleteStateResult]

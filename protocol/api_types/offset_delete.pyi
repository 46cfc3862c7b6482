"""OffsetDelete (47), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class OffsetDeleteRequestPartition(Protocol):
    @property
    def partition_index(self) -> int: ...

class OffsetDeleteRequestTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[OffsetDeleteRequestPartition]: ...

class OffsetDeleteRequest(Protocol):
    group_id: str
    topics: Sequence[OffsetDeleteRequestTopic]

class OffsetDeleteResponsePartition(TypedDict):
    partition_index: int
    error_code: int

class OffsetDeleteResponseTopic(TypedDict):
    name: str
    partitions: list[OffsetDeleteResponsePartition]

class OffsetDeleteResponse(TypedDict):
    error_code: NotRequired[int]
    throttle_time_ms: NotRequired[int]
    topics: list[OffsetDeleteResponseTopic]

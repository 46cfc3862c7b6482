"""OffsetFetch (9), versions 1-10; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class OffsetFetchRequestTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...

class OffsetFetchRequestTopics(Protocol):
    @property
    def name(self) -> str: ...  # 8-9
    @property
    def topic_id(self) -> UUID | None: ...  # 10
    @property
    def partition_indexes(self) -> Sequence[int]: ...

class OffsetFetchRequestGroup(Protocol):
    group_id: str
    member_id: str | None  # 9+
    member_epoch: int  # 9+
    topics: Sequence[OffsetFetchRequestTopics] | None

class OffsetFetchRequest(Protocol):
    group_id: str  # 1-7
    topics: Sequence[OffsetFetchRequestTopic] | None  # 1-7
    groups: Sequence[OffsetFetchRequestGroup]  # 8+
    require_stable: bool  # 7+

class OffsetFetchResponsePartition(TypedDict):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: NotRequired[int]  # 5+
    metadata: NotRequired[str | None]
    error_code: int

class OffsetFetchResponseTopic(TypedDict):
    name: str
    partitions: list[OffsetFetchResponsePartition]

class OffsetFetchResponsePartitions(TypedDict):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: NotRequired[int]
    metadata: NotRequired[str | None]
    error_code: int

class OffsetFetchResponseTopics(TypedDict):
    name: NotRequired[str]  # 8-9
    topic_id: NotRequired[UUID | None]  # 10
    partitions: list[OffsetFetchResponsePartitions]

class OffsetFetchResponseGroup(TypedDict):
    group_id: str
    topics: list[OffsetFetchResponseTopics]
    error_code: NotRequired[int]

class OffsetFetchResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 3+
    topics: NotRequired[list[OffsetFetchResponseTopic]]  # 1-7
    error_code: NotRequired[int]  # 2-7
    groups: NotRequired[list[OffsetFetchResponseGroup]]  # 8+

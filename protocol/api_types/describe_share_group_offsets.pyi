"""DescribeShareGroupOffsets (90), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class DescribeShareGroupOffsetsRequestTopic(Protocol):
    @property
    def topic_name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class DescribeShareGroupOffsetsRequestGroup(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def topics(self) -> Sequence[DescribeShareGroupOffsetsRequestTopic] | None: ...

class DescribeShareGroupOffsetsRequest(Protocol):
    groups: Sequence[DescribeShareGroupOffsetsRequestGroup]

class DescribeShareGroupOffsetsResponsePartition(TypedDict):
    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: NotRequired[int]  # 1
    error_code: int
    error_message: NotRequired[str | None]

class DescribeShareGroupOffsetsResponseTopic(TypedDict):
    topic_name: str
    topic_id: UUID | None
    partitions: list[DescribeShareGroupOffsetsResponsePartition]

class DescribeShareGroupOffsetsResponseGroup(TypedDict):
    group_id: str
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: int
    error_message: NotRequired[str | None]

class DescribeShareGroupOffsetsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    groups: list[DescribeShareGroupOffsetsResponseGroup]

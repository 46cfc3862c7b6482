"""DescribeLogDirs (35), versions 1-5; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DescribableLogDirTopic(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class DescribeLogDirsRequest(Protocol):
    topics: Sequence[DescribableLogDirTopic] | None

class DescribeLogDirsPartition(TypedDict):
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

class DescribeLogDirsTopic(TypedDict):
    name: str
    partitions: list[DescribeLogDirsPartition]

class DescribeLogDirsResult(TypedDict):
    error_code: int
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: NotRequired[int]  # 4+
    usable_bytes: NotRequired[int]  # 4+
    is_cordoned: NotRequired[bool]  # 5

class DescribeLogDirsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]  # 3+
    results: list[DescribeLogDirsResult]

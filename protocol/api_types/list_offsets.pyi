"""ListOffsets (2), versions 1-11; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ListOffsetsPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def current_leader_epoch(self) -> int: ...  # 4+
    @property
    def timestamp(self) -> int: ...

class ListOffsetsTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[ListOffsetsPartition]: ...

class ListOffsetsRequest(Protocol):
    replica_id: int
    isolation_level: int  # 2+
    topics: Sequence[ListOffsetsTopic]
    timeout_ms: int  # 10+

class ListOffsetsPartitionResponse(TypedDict):
    partition_index: int
    error_code: int
    timestamp: NotRequired[int]
    offset: NotRequired[int]
    leader_epoch: NotRequired[int]  # 4+

class ListOffsetsTopicResponse(TypedDict):
    name: str
    partitions: list[ListOffsetsPartitionResponse]

class ListOffsetsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 2+
    topics: list[ListOffsetsTopicResponse]

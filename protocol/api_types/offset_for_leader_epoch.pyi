"""OffsetForLeaderEpoch (23), versions 2-4; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class OffsetForLeaderPartition(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def current_leader_epoch(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...

class OffsetForLeaderTopic(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sequence[OffsetForLeaderPartition]: ...

class OffsetForLeaderEpochRequest(Protocol):
    replica_id: int  # 3+
    topics: Sequence[OffsetForLeaderTopic]

class EpochEndOffset(TypedDict):
    error_code: int
    partition: int
    leader_epoch: NotRequired[int]
    end_offset: NotRequired[int]

class OffsetForLeaderTopicResult(TypedDict):
    topic: str
    partitions: list[EpochEndOffset]

class OffsetForLeaderEpochResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[OffsetForLeaderTopicResult]

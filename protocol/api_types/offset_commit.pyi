"""OffsetCommit (8), versions 2-10; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class OffsetCommitRequestPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def committed_offset(self) -> int: ...
    @property
    def committed_leader_epoch(self) -> int: ...  # 6+
    @property
    def committed_metadata(self) -> str | None: ...

class OffsetCommitRequestTopic(Protocol):
    @property
    def name(self) -> str: ...  # 2-9
    @property
    def topic_id(self) -> UUID | None: ...  # 10
    @property
    def partitions(self) -> Sequence[OffsetCommitRequestPartition]: ...

class OffsetCommitRequest(Protocol):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None  # 7+
    retention_time_ms: int  # 2-4
    topics: Sequence[OffsetCommitRequestTopic]

class OffsetCommitResponsePartition(TypedDict):
    partition_index: int
    error_code: int

class OffsetCommitResponseTopic(TypedDict):
    name: NotRequired[str]  # 2-9
    topic_id: NotRequired[UUID | None]  # 10
    partitions: list[OffsetCommitResponsePartition]

class OffsetCommitResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 3+
    topics: list[OffsetCommitResponseTopic]

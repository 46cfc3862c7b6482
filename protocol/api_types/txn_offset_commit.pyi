"""TxnOffsetCommit (28), versions 0-6; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class TxnOffsetCommitRequestPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def committed_offset(self) -> int: ...
    @property
    def committed_leader_epoch(self) -> int: ...  # 2+
    @property
    def committed_metadata(self) -> str | None: ...

class TxnOffsetCommitRequestTopic(Protocol):
    @property
    def name(self) -> str: ...  # 0-5
    @property
    def topic_id(self) -> UUID | None: ...  # 6
    @property
    def partitions(self) -> Sequence[TxnOffsetCommitRequestPartition]: ...

class TxnOffsetCommitRequest(Protocol):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id_or_member_epoch: int  # 3+
    member_id: str  # 3+
    group_instance_id: str | None  # 3+
    topics: Sequence[TxnOffsetCommitRequestTopic]

class TxnOffsetCommitResponsePartition(TypedDict):
    partition_index: int
    error_code: int

class TxnOffsetCommitResponseTopic(TypedDict):
    name: NotRequired[str]  # 0-5
    topic_id: NotRequired[UUID | None]  # 6
    partitions: list[TxnOffsetCommitResponsePartition]

class TxnOffsetCommitResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[TxnOffsetCommitResponseTopic]

"""Fetch (1), versions 4-18; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

from ..batch import Bytes
from ..fetch_answer import Unread

class ReplicaState(Protocol):
    @property
    def replica_id(self) -> int: ...
    @property
    def replica_epoch(self) -> int: ...

class FetchPartition(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def current_leader_epoch(self) -> int: ...  # 9+
    @property
    def fetch_offset(self) -> int: ...
    @property
    def last_fetched_epoch(self) -> int: ...  # 12+
    @property
    def log_start_offset(self) -> int: ...  # 5+
    @property
    def partition_max_bytes(self) -> int: ...
    @property
    def replica_directory_id(self) -> UUID | None: ...  # 17+
    @property
    def high_watermark(self) -> int: ...  # 18

class FetchTopic(Protocol):
    @property
    def topic(self) -> str: ...  # 4-12
    @property
    def topic_id(self) -> UUID | None: ...  # 13+
    @property
    def partitions(self) -> Sequence[FetchPartition]: ...

class ForgottenTopic(Protocol):
    @property
    def topic(self) -> str: ...  # 7-12
    @property
    def topic_id(self) -> UUID | None: ...  # 13+
    @property
    def partitions(self) -> Sequence[int]: ...

class FetchRequest(Protocol):
    cluster_id: str | None  # 12+
    replica_id: int  # 4-14
    replica_state: ReplicaState | None  # 15+
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int  # 7+
    session_epoch: int  # 7+
    topics: Sequence[FetchTopic]
    forgotten_topics_data: Sequence[ForgottenTopic]  # 7+
    rack_id: str  # 11+

class EpochEndOffset(TypedDict):
    epoch: NotRequired[int]
    end_offset: NotRequired[int]

class LeaderIdAndEpoch(TypedDict):
    leader_id: NotRequired[int]
    leader_epoch: NotRequired[int]

class SnapshotId(TypedDict):
    end_offset: NotRequired[int]
    epoch: NotRequired[int]

class AbortedTransaction(TypedDict):
    producer_id: int
    first_offset: int

class PartitionData(TypedDict):
    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: NotRequired[int]
    log_start_offset: NotRequired[int]  # 5+
    diverging_epoch: NotRequired[EpochEndOffset | None]  # 12+
    current_leader: NotRequired[LeaderIdAndEpoch | None]  # 12+
    snapshot_id: NotRequired[SnapshotId | None]  # 12+
    aborted_transactions: NotRequired[list[AbortedTransaction] | None]
    preferred_read_replica: NotRequired[int]  # 11+
    records: NotRequired[Bytes | Unread | None]

class FetchableTopicResponse(TypedDict):
    topic: NotRequired[str]  # 4-12
    topic_id: NotRequired[UUID | None]  # 13+
    partitions: list[PartitionData]

class NodeEndpoint(TypedDict):
    node_id: int
    host: str
    port: int
    rack: NotRequired[str | None]

class FetchResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]  # 7+
    session_id: NotRequired[int]  # 7+
    responses: list[FetchableTopicResponse]
    node_endpoints: NotRequired[list[NodeEndpoint]]  # 16+

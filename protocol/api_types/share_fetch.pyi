"""ShareFetch (78), versions 1-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

from ..batch import Bytes
from ..fetch_answer import Unread

class AcknowledgementBatch(Protocol):
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> Sequence[int]: ...

class FetchPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]: ...

class FetchTopic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[FetchPartition]: ...

class ForgottenTopic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ShareFetchRequest(Protocol):
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int  # 2
    is_renew_ack: bool  # 2
    topics: Sequence[FetchTopic]
    forgotten_topics_data: Sequence[ForgottenTopic]

class LeaderIdAndEpoch(TypedDict):
    leader_id: int
    leader_epoch: int

class AcquiredRecords(TypedDict):
    first_offset: int
    last_offset: int
    delivery_count: int

class PartitionData(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]
    acknowledge_error_code: int
    acknowledge_error_message: NotRequired[str | None]
    current_leader: LeaderIdAndEpoch
    records: Bytes | Unread
    acquired_records: list[AcquiredRecords]

class ShareFetchableTopicResponse(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionData]

class NodeEndpoint(TypedDict):
    node_id: int
    host: str
    port: int
    rack: NotRequired[str | None]

class ShareFetchResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    acquisition_lock_timeout_ms: int
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]

"""ShareAcknowledge (79), versions 1-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class AcknowledgementBatch(Protocol):
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> Sequence[int]: ...

class AcknowledgePartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]: ...

class AcknowledgeTopic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[AcknowledgePartition]: ...

class ShareAcknowledgeRequest(Protocol):
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool  # 2
    topics: Sequence[AcknowledgeTopic]

class LeaderIdAndEpoch(TypedDict):
    leader_id: int
    leader_epoch: int

class PartitionData(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]
    current_leader: LeaderIdAndEpoch

class ShareAcknowledgeTopicResponse(TypedDict):
    topic_id: UUID | None
    partitions: list[PartitionData]

class NodeEndpoint(TypedDict):
    node_id: int
    host: str
    port: int
    rack: NotRequired[str | None]

class ShareAcknowledgeResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    acquisition_lock_timeout_ms: NotRequired[int]  # 2
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]

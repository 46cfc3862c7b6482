"""Produce (0), versions 3-13; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

from ..batch import Bytes

class PartitionProduceData(Protocol):
    @property
    def index(self) -> int: ...
    @property
    def records(self) -> Bytes | None: ...

class TopicProduceData(Protocol):
    @property
    def name(self) -> str: ...  # 3-12
    @property
    def topic_id(self) -> UUID | None: ...  # 13
    @property
    def partition_data(self) -> Sequence[PartitionProduceData]: ...

class ProduceRequest(Protocol):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: Sequence[TopicProduceData]

class BatchIndexAndErrorMessage(TypedDict):
    batch_index: int
    batch_index_error_message: NotRequired[str | None]

class LeaderIdAndEpoch(TypedDict):
    leader_id: NotRequired[int]
    leader_epoch: NotRequired[int]

class PartitionProduceResponse(TypedDict):
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: NotRequired[int]
    log_start_offset: NotRequired[int]  # 5+
    record_errors: NotRequired[list[BatchIndexAndErrorMessage]]  # 8+
    error_message: NotRequired[str | None]  # 8+
    current_leader: NotRequired[LeaderIdAndEpoch | None]  # 10+

class TopicProduceResponse(TypedDict):
    name: NotRequired[str]  # 3-12
    topic_id: NotRequired[UUID | None]  # 13
    partition_responses: list[PartitionProduceResponse]

class NodeEndpoint(TypedDict):
    node_id: int
    host: str
    port: int
    rack: NotRequired[str | None]

class ProduceResponse(TypedDict):
    responses: list[TopicProduceResponse]
    throttle_time_ms: NotRequired[int]
    node_endpoints: NotRequired[list[NodeEndpoint]]  # 10+

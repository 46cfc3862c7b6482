"""DescribeQuorum (55), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class DescribeQuorumRequestPartitionData(Protocol):
    @property
    def partition_index(self) -> int: ...

class DescribeQuorumRequestTopicData(Protocol):
    @property
    def topic_name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[DescribeQuorumRequestPartitionData]: ...

class DescribeQuorumRequest(Protocol):
    topics: Sequence[DescribeQuorumRequestTopicData]

class ReplicaState(TypedDict):
    replica_id: int
    replica_directory_id: NotRequired[UUID | None]  # 2
    log_end_offset: int
    last_fetch_timestamp: NotRequired[int]  # 1+
    last_caught_up_timestamp: NotRequired[int]  # 1+

class DescribeQuorumResponsePartitionData(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]  # 2
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]

class DescribeQuorumResponseTopicData(TypedDict):
    topic_name: str
    partitions: list[DescribeQuorumResponsePartitionData]

class Listener(TypedDict):
    name: str
    host: str
    port: int

class Node(TypedDict):
    node_id: int
    listeners: list[Listener]

class DescribeQuorumResponse(TypedDict):
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]  # 2
    topics: list[DescribeQuorumResponseTopicData]
    nodes: NotRequired[list[Node]]  # 2

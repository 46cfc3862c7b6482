"""Metadata (3), versions 0-13; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class MetadataRequestTopic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...  # 10+
    @property
    def name(self) -> str | None: ...

class MetadataRequest(Protocol):
    topics: Sequence[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool  # 4+
    include_cluster_authorized_operations: bool  # 8-10
    include_topic_authorized_operations: bool  # 8+

class MetadataResponseBroker(TypedDict):
    node_id: int
    host: str
    port: int
    rack: NotRequired[str | None]  # 1+

class MetadataResponsePartition(TypedDict):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: NotRequired[int]  # 7+
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: NotRequired[list[int]]  # 5+

class MetadataResponseTopic(TypedDict):
    error_code: int
    name: NotRequired[str | None]
    topic_id: NotRequired[UUID | None]  # 10+
    is_internal: NotRequired[bool]  # 1+
    partitions: list[MetadataResponsePartition]
    authorized_operations: NotRequired[frozenset[int] | None]  # 8+

class MetadataResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 3+
    brokers: list[MetadataResponseBroker]
    cluster_id: NotRequired[str | None]  # 2+
    controller_id: NotRequired[int]  # 1+
    topics: list[MetadataResponseTopic]
    authorized_operations: NotRequired[frozenset[int] | None]  # 8-10
    error_code: NotRequired[int]  # 13

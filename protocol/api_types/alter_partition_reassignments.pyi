"""AlterPartitionReassignments (45), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ReassignablePartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def replicas(self) -> Sequence[int] | None: ...

class ReassignableTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[ReassignablePartition]: ...

class AlterPartitionReassignmentsRequest(Protocol):
    timeout_ms: int
    allow_replication_factor_change: bool  # 1
    topics: Sequence[ReassignableTopic]

class ReassignablePartitionResponse(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]

class ReassignableTopicResponse(TypedDict):
    name: str
    partitions: list[ReassignablePartitionResponse]

class AlterPartitionReassignmentsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    allow_replication_factor_change: NotRequired[bool]  # 1
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    responses: list[ReassignableTopicResponse]

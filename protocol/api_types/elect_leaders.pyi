"""ElectLeaders (43), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class TopicPartitions(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ElectLeadersRequest(Protocol):
    election_type: int  # 1+
    topic_partitions: Sequence[TopicPartitions] | None
    timeout_ms: int

class PartitionResult(TypedDict):
    partition_id: int
    error_code: int
    error_message: NotRequired[str | None]

class ReplicaElectionResult(TypedDict):
    topic: str
    partition_result: list[PartitionResult]

class ElectLeadersResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]  # 1+
    replica_election_results: list[ReplicaElectionResult]

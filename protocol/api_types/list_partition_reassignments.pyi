"""ListPartitionReassignments (46), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ListPartitionReassignmentsTopics(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...

class ListPartitionReassignmentsRequest(Protocol):
    timeout_ms: int
    topics: Sequence[ListPartitionReassignmentsTopics] | None

class OngoingPartitionReassignment(TypedDict):
    partition_index: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]

class OngoingTopicReassignment(TypedDict):
    name: str
    partitions: list[OngoingPartitionReassignment]

class ListPartitionReassignmentsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    topics: list[OngoingTopicReassignment]

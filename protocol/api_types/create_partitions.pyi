"""CreatePartitions (37), versions 0-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class CreatePartitionsAssignment(Protocol):
    @property
    def broker_ids(self) -> Sequence[int]: ...

class CreatePartitionsTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def assignments(self) -> Sequence[CreatePartitionsAssignment] | None: ...

class CreatePartitionsRequest(Protocol):
    topics: Sequence[CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool

class CreatePartitionsTopicResult(TypedDict):
    name: str
    error_code: int
    error_message: NotRequired[str | None]

class CreatePartitionsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[CreatePartitionsTopicResult]

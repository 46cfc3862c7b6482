"""AlterShareGroupOffsets (91), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class AlterShareGroupOffsetsRequestPartition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def start_offset(self) -> int: ...

class AlterShareGroupOffsetsRequestTopic(Protocol):
    @property
    def topic_name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[AlterShareGroupOffsetsRequestPartition]: ...

class AlterShareGroupOffsetsRequest(Protocol):
    group_id: str
    topics: Sequence[AlterShareGroupOffsetsRequestTopic]

class AlterShareGroupOffsetsResponsePartition(TypedDict):
    partition_index: int
    error_code: int
    error_message: NotRequired[str | None]

class AlterShareGroupOffsetsResponseTopic(TypedDict):
    topic_name: str
    topic_id: UUID | None
    partitions: list[AlterShareGroupOffsetsResponsePartition]

class AlterShareGroupOffsetsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    responses: list[AlterShareGroupOffsetsResponseTopic]

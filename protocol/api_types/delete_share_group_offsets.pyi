"""DeleteShareGroupOffsets (92), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class DeleteShareGroupOffsetsRequestTopic(Protocol):
    @property
    def topic_name(self) -> str: ...

class DeleteShareGroupOffsetsRequest(Protocol):
    group_id: str
    topics: Sequence[DeleteShareGroupOffsetsRequestTopic]

class DeleteShareGroupOffsetsResponseTopic(TypedDict):
    topic_name: str
    topic_id: UUID | None
    error_code: int
    error_message: NotRequired[str | None]

class DeleteShareGroupOffsetsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    responses: list[DeleteShareGroupOffsetsResponseTopic]

"""DeleteTopics (20), versions 1-6; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class DeleteTopicState(Protocol):
    @property
    def name(self) -> str | None: ...
    @property
    def topic_id(self) -> UUID | None: ...

class DeleteTopicsRequest(Protocol):
    topics: Sequence[DeleteTopicState]  # 6
    topic_names: Sequence[str]  # 1-5
    timeout_ms: int

class DeletableTopicResult(TypedDict):
    name: NotRequired[str | None]
    topic_id: NotRequired[UUID | None]  # 6
    error_code: int
    error_message: NotRequired[str | None]  # 5+

class DeleteTopicsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    responses: list[DeletableTopicResult]

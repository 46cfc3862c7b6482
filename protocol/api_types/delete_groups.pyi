"""DeleteGroups (42), versions 0-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DeleteGroupsRequest(Protocol):
    groups_names: Sequence[str]

class DeletableGroupResult(TypedDict):
    group_id: str
    error_code: int
    error_message: NotRequired[str | None]  # 3

class DeleteGroupsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[DeletableGroupResult]

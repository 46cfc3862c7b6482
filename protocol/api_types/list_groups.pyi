"""ListGroups (16), versions 0-5; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ListGroupsRequest(Protocol):
    states_filter: Sequence[str]  # 4+
    types_filter: Sequence[str]  # 5

class ListedGroup(TypedDict):
    group_id: str
    protocol_type: str
    group_state: NotRequired[str]  # 4+
    group_type: NotRequired[str]  # 5

class ListGroupsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    error_code: NotRequired[int]
    groups: list[ListedGroup]

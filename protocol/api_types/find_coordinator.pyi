"""FindCoordinator (10), versions 0-6; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class FindCoordinatorRequest(Protocol):
    key: str  # 0-3
    key_type: int  # 1+
    coordinator_keys: Sequence[str]  # 4+

class Coordinator(TypedDict):
    key: str
    node_id: int
    host: str
    port: int
    error_code: int
    error_message: NotRequired[str | None]

class FindCoordinatorResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    error_code: NotRequired[int]  # 0-3
    error_message: NotRequired[str | None]  # 1-3
    node_id: NotRequired[int]  # 0-3
    host: NotRequired[str]  # 0-3
    port: NotRequired[int]  # 0-3
    coordinators: NotRequired[list[Coordinator]]  # 4+

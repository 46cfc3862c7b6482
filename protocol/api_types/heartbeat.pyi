"""Heartbeat (12), versions 0-4; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class HeartbeatRequest(Protocol):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # 3+

class HeartbeatResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    error_code: NotRequired[int]

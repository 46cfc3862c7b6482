"""SyncGroup (14), versions 0-5; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class SyncGroupRequestAssignment(Protocol):
    @property
    def member_id(self) -> str: ...
    @property
    def assignment(self) -> bytes: ...

class SyncGroupRequest(Protocol):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None  # 3+
    protocol_type: str | None  # 5
    protocol_name: str | None  # 5
    assignments: Sequence[SyncGroupRequestAssignment]

class SyncGroupResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    error_code: NotRequired[int]
    protocol_type: NotRequired[str | None]  # 5
    protocol_name: NotRequired[str | None]  # 5
    assignment: bytes

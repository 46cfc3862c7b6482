"""LeaveGroup (13), versions 0-5; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class MemberIdentity(Protocol):
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...  # 5

class LeaveGroupRequest(Protocol):
    group_id: str
    member_id: str  # 0-2
    members: Sequence[MemberIdentity]  # 3+

class MemberResponse(TypedDict):
    member_id: str
    group_instance_id: NotRequired[str | None]
    error_code: int

class LeaveGroupResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    error_code: NotRequired[int]
    members: NotRequired[list[MemberResponse]]  # 3+

"""JoinGroup (11), versions 0-9; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class JoinGroupRequestProtocol(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def metadata(self) -> bytes: ...

class JoinGroupRequest(Protocol):
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int  # 1+
    member_id: str
    group_instance_id: str | None  # 5+
    protocol_type: str
    protocols: Sequence[JoinGroupRequestProtocol]
    reason: str | None  # 8+

class JoinGroupResponseMember(TypedDict):
    member_id: str
    group_instance_id: NotRequired[str | None]  # 5+
    metadata: bytes

class JoinGroupResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 2+
    error_code: NotRequired[int]
    generation_id: NotRequired[int]
    protocol_type: NotRequired[str | None]  # 7+
    protocol_name: NotRequired[str | None]
    leader: str
    skip_assignment: NotRequired[bool]  # 9
    member_id: str
    members: list[JoinGroupResponseMember]

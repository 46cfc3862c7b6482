"""DescribeGroups (15), versions 0-6; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DescribeGroupsRequest(Protocol):
    groups: Sequence[str]
    include_authorized_operations: bool  # 3+

class DescribedGroupMember(TypedDict):
    member_id: str
    group_instance_id: NotRequired[str | None]  # 4+
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes

class DescribedGroup(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]  # 6
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: NotRequired[frozenset[int] | None]  # 3+

class DescribeGroupsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]  # 1+
    groups: list[DescribedGroup]

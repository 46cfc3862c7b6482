"""DescribeAcls (29), versions 1-3; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class DescribeAclsRequest(Protocol):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int

class AclDescription(TypedDict):
    principal: str
    host: str
    operation: int
    permission_type: int

class DescribeAclsResource(TypedDict):
    resource_type: int
    resource_name: str
    pattern_type: NotRequired[int]
    acls: list[AclDescription]

class DescribeAclsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    resources: list[DescribeAclsResource]

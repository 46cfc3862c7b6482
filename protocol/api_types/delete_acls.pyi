"""DeleteAcls (31), versions 1-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DeleteAclsFilter(Protocol):
    @property
    def resource_type_filter(self) -> int: ...
    @property
    def resource_name_filter(self) -> str | None: ...
    @property
    def pattern_type_filter(self) -> int: ...
    @property
    def principal_filter(self) -> str | None: ...
    @property
    def host_filter(self) -> str | None: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...

class DeleteAclsRequest(Protocol):
    filters: Sequence[DeleteAclsFilter]

class DeleteAclsMatchingAcl(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    resource_type: int
    resource_name: str
    pattern_type: NotRequired[int]
    principal: str
    host: str
    operation: int
    permission_type: int

class DeleteAclsFilterResult(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    matching_acls: list[DeleteAclsMatchingAcl]

class DeleteAclsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    filter_results: list[DeleteAclsFilterResult]

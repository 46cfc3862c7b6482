"""CreateAcls (30), versions 1-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AclCreation(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def resource_pattern_type(self) -> int: ...
    @property
    def principal(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...

class CreateAclsRequest(Protocol):
    creations: Sequence[AclCreation]

class AclCreationResult(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]

class CreateAclsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[AclCreationResult]

"""AlterConfigs (33), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AlterableConfig(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...

class AlterConfigsResource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[AlterableConfig]: ...

class AlterConfigsRequest(Protocol):
    resources: Sequence[AlterConfigsResource]
    validate_only: bool

class AlterConfigsResourceResponse(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    resource_type: int
    resource_name: str

class AlterConfigsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    responses: list[AlterConfigsResourceResponse]

"""IncrementalAlterConfigs (44), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AlterableConfig(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def config_operation(self) -> int: ...
    @property
    def value(self) -> str | None: ...

class AlterConfigsResource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[AlterableConfig]: ...

class IncrementalAlterConfigsRequest(Protocol):
    resources: Sequence[AlterConfigsResource]
    validate_only: bool

class AlterConfigsResourceResponse(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    resource_type: int
    resource_name: str

class IncrementalAlterConfigsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    responses: list[AlterConfigsResourceResponse]

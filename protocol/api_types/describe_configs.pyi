"""DescribeConfigs (32), versions 1-4; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DescribeConfigsResource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configuration_keys(self) -> Sequence[str] | None: ...

class DescribeConfigsRequest(Protocol):
    resources: Sequence[DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool  # 3+

class DescribeConfigsSynonym(TypedDict):
    name: str
    value: NotRequired[str | None]
    source: int

class DescribeConfigsResourceResult(TypedDict):
    name: str
    value: NotRequired[str | None]
    read_only: bool
    config_source: NotRequired[int]
    is_sensitive: bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: NotRequired[int]  # 3+
    documentation: NotRequired[str | None]  # 3+

class DescribeConfigsResult(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    resource_type: int
    resource_name: str
    configs: list[DescribeConfigsResourceResult]

class DescribeConfigsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[DescribeConfigsResult]

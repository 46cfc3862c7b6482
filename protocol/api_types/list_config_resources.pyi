"""ListConfigResources (74), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ListConfigResourcesRequest(Protocol):
    resource_types: Sequence[int]  # 1

class ConfigResource(TypedDict):
    resource_name: str
    resource_type: NotRequired[int]  # 1

class ListConfigResourcesResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    config_resources: list[ConfigResource]

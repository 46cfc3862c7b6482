"""ApiVersions (18), versions 0-5; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class ApiVersionsRequest(Protocol):
    client_software_name: str  # 3+
    client_software_version: str  # 3+
    cluster_id: str | None  # 5
    node_id: int  # 5

class ApiVersion(TypedDict):
    api_key: int
    min_version: int
    max_version: int

class SupportedFeatureKey(TypedDict):
    name: str
    min_version: int
    max_version: int

class FinalizedFeatureKey(TypedDict):
    name: str
    max_version_level: int
    min_version_level: int

class ApiVersionsResponse(TypedDict):
    error_code: NotRequired[int]
    api_keys: list[ApiVersion]
    throttle_time_ms: NotRequired[int]  # 1+
    supported_features: NotRequired[list[SupportedFeatureKey]]  # 3+
    finalized_features_epoch: NotRequired[int]  # 3+
    finalized_features: NotRequired[list[FinalizedFeatureKey]]  # 3+
    zk_migration_ready: NotRequired[bool]  # 3+

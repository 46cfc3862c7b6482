"""UpdateFeatures (57), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class FeatureUpdateKey(Protocol):
    @property
    def feature(self) -> str: ...
    @property
    def max_version_level(self) -> int: ...
    @property
    def allow_downgrade(self) -> bool: ...  # 0
    @property
    def upgrade_type(self) -> int: ...  # 1+

class UpdateFeaturesRequest(Protocol):
    timeout_ms: int
    feature_updates: Sequence[FeatureUpdateKey]
    validate_only: bool  # 1+

class UpdatableFeatureResult(TypedDict):
    feature: str
    error_code: int
    error_message: NotRequired[str | None]

class UpdateFeaturesResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    results: NotRequired[list[UpdatableFeatureResult]]  # 0-1

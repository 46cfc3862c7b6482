"""ExpireDelegationToken (40), versions 1-2; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class ExpireDelegationTokenRequest(Protocol):
    hmac: bytes
    expiry_time_period_ms: int

class ExpireDelegationTokenResponse(TypedDict):
    error_code: NotRequired[int]
    expiry_timestamp_ms: int
    throttle_time_ms: NotRequired[int]

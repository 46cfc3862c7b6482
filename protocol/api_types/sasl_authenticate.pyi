"""SaslAuthenticate (36), versions 0-2; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class SaslAuthenticateRequest(Protocol):
    auth_bytes: bytes

class SaslAuthenticateResponse(TypedDict):
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    auth_bytes: bytes
    session_lifetime_ms: NotRequired[int]  # 1+

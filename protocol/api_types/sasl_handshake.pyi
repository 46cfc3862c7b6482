"""SaslHandshake (17), versions 0-1; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class SaslHandshakeRequest(Protocol):
    mechanism: str

class SaslHandshakeResponse(TypedDict):
    error_code: NotRequired[int]
    mechanisms: list[str]

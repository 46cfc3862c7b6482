"""UnregisterBroker (64), versions 0-0; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class UnregisterBrokerRequest(Protocol):
    broker_id: int

class UnregisterBrokerResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]

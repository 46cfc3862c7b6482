"""UnregisterController (94), versions 0-0; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class UnregisterControllerRequest(Protocol):
    controller_id: int

class UnregisterControllerResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]

"""AddOffsetsToTxn (25), versions 0-4; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class AddOffsetsToTxnRequest(Protocol):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str

class AddOffsetsToTxnResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]

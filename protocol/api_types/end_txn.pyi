"""EndTxn (26), versions 0-5; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class EndTxnRequest(Protocol):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool

class EndTxnResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    producer_id: NotRequired[int]  # 5
    producer_epoch: NotRequired[int]  # 5

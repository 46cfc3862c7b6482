"""InitProducerId (22), versions 0-6; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class InitProducerIdRequest(Protocol):
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int  # 3+
    producer_epoch: int  # 3+
    enable2_pc: bool  # 6
    keep_prepared_txn: bool  # 6

class InitProducerIdResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    producer_id: NotRequired[int]
    producer_epoch: int
    ongoing_txn_producer_id: NotRequired[int]  # 6
    ongoing_txn_producer_epoch: NotRequired[int]  # 6

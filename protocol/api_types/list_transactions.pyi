"""ListTransactions (66), versions 0-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ListTransactionsRequest(Protocol):
    state_filters: Sequence[str]
    producer_id_filters: Sequence[int]
    duration_filter: int  # 1+
    transactional_id_pattern: str | None  # 2

class TransactionState(TypedDict):
    transactional_id: str
    producer_id: int
    transaction_state: str

class ListTransactionsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]

"""DescribeTransactions (65), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DescribeTransactionsRequest(Protocol):
    transactional_ids: Sequence[str]

class TopicData(TypedDict):
    topic: str
    partitions: list[int]

class TransactionState(TypedDict):
    error_code: int
    transactional_id: str
    transaction_state: str
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    producer_id: int
    producer_epoch: int
    topics: list[TopicData]

class DescribeTransactionsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    transaction_states: list[TransactionState]

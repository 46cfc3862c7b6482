"""AddPartitionsToTxn (24), versions 0-5; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AddPartitionsToTxnTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class AddPartitionsToTxnTransaction(Protocol):
    @property
    def transactional_id(self) -> str: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def verify_only(self) -> bool: ...
    @property
    def topics(self) -> Sequence[AddPartitionsToTxnTopic]: ...

class AddPartitionsToTxnRequest(Protocol):
    transactions: Sequence[AddPartitionsToTxnTransaction]  # 4+
    v3_and_below_transactional_id: str  # 0-3
    v3_and_below_producer_id: int  # 0-3
    v3_and_below_producer_epoch: int  # 0-3
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic]  # 0-3

class AddPartitionsToTxnPartitionResult(TypedDict):
    partition_index: int
    partition_error_code: int

class AddPartitionsToTxnTopicResult(TypedDict):
    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]

class AddPartitionsToTxnResult(TypedDict):
    transactional_id: str
    topic_results: list[AddPartitionsToTxnTopicResult]

class AddPartitionsToTxnResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]  # 4+
    results_by_transaction: NotRequired[list[AddPartitionsToTxnResult]]  # 4+
    results_by_topic_v3_and_below: NotRequired[list[AddPartitionsToTxnTopicResult]]  # 0-3

"""WriteTxnMarkers (27), versions 1-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class WritableTxnMarkerTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...

class WritableTxnMarker(Protocol):
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def transaction_result(self) -> bool: ...
    @property
    def topics(self) -> Sequence[WritableTxnMarkerTopic]: ...
    @property
    def coordinator_epoch(self) -> int: ...
    @property
    def transaction_version(self) -> int: ...  # 2

class WriteTxnMarkersRequest(Protocol):
    markers: Sequence[WritableTxnMarker]

class WritableTxnMarkerPartitionResult(TypedDict):
    partition_index: int
    error_code: int

class WritableTxnMarkerTopicResult(TypedDict):
    name: str
    partitions: list[WritableTxnMarkerPartitionResult]

class WritableTxnMarkerResult(TypedDict):
    producer_id: int
    topics: list[WritableTxnMarkerTopicResult]

class WriteTxnMarkersResponse(TypedDict):
    markers: list[WritableTxnMarkerResult]

class WritableTxnMarkerTopicFields(TypedDict):
    name: str
    partition_indexes: list[int]

class WritableTxnMarkerFields(TypedDict):
    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: list[WritableTxnMarkerTopicFields]
    coordinator_epoch: int
    transaction_version: NotRequired[int]  # 2

class WriteTxnMarkersRequestFields(TypedDict):
    markers: list[WritableTxnMarkerFields]

class ReceivedWritableTxnMarkerPartitionResult(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def error_code(self) -> int: ...

class ReceivedWritableTxnMarkerTopicResult(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[ReceivedWritableTxnMarkerPartitionResult]: ...

class ReceivedWritableTxnMarkerResult(Protocol):
    @property
    def producer_id(self) -> int: ...
    @property
    def topics(self) -> Sequence[ReceivedWritableTxnMarkerTopicResult]: ...

class ReceivedWriteTxnMarkersResponse(Protocol):
    @property
    def markers(self) -> Sequence[ReceivedWritableTxnMarkerResult]: ...

"""The types of answers that are read; made by `make message-types`."""

from typing import Any, Literal, Protocol, overload

from ..api_keys import ApiKey
from .write_txn_markers import ReceivedWriteTxnMarkersResponse

class ReadAnswer(Protocol):
    @overload
    def __call__(
        self,
        key: Literal[ApiKey.WRITE_TXN_MARKERS],
        version: int,
        correlation_id: int,
        frame: bytes,
        /,
    ) -> ReceivedWriteTxnMarkersResponse: ...
    @overload
    def __call__(self, key: ApiKey, version: int, correlation_id: int, frame: bytes, /) -> Any: ...

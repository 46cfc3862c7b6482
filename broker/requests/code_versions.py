"""Error codes that an API got in a later version, and the older codes for earlier versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code

_NEVER: Final = 1 << 15
# The first version of the API with the code, and the code of the versions before.
_KNOWN_SINCE: Final[Mapping[tuple[Code, ApiKey], tuple[int, Code]]] = {
    (Code.PRODUCER_FENCED, ApiKey.INIT_PRODUCER_ID): (4, Code.INVALID_PRODUCER_EPOCH),
    (Code.PRODUCER_FENCED, ApiKey.ADD_PARTITIONS_TO_TXN): (2, Code.INVALID_PRODUCER_EPOCH),
    (Code.PRODUCER_FENCED, ApiKey.ADD_OFFSETS_TO_TXN): (2, Code.INVALID_PRODUCER_EPOCH),
    (Code.PRODUCER_FENCED, ApiKey.END_TXN): (2, Code.INVALID_PRODUCER_EPOCH),
    (Code.PRODUCER_FENCED, ApiKey.PRODUCE): (_NEVER, Code.INVALID_PRODUCER_EPOCH),
    (Code.TRANSACTION_ABORTABLE, ApiKey.PRODUCE): (11, Code.INVALID_TXN_STATE),
    (Code.TRANSACTION_ABORTABLE, ApiKey.TXN_OFFSET_COMMIT): (4, Code.INVALID_TXN_STATE),
    (Code.GROUP_ID_NOT_FOUND, ApiKey.OFFSET_COMMIT): (9, Code.ILLEGAL_GENERATION),
}


def code_for(code: Code, api_key: ApiKey, version: int) -> Code:
    """The error code to return in this version of the API."""
    since, before = _KNOWN_SINCE.get((code, api_key), (0, code))
    return code if version >= since else before

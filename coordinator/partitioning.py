"""The partition of an internal topic that coordinates a group or a transactional id.

Kafka takes Java's hash of the transactional id or group id, its absolute value, modulo the number
of partitions (TransactionStateManager.partitionFor, GroupCoordinatorService.partitionFor).
"""

from __future__ import annotations

from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.java_hash import cached_hash_code

_LEAST: Final = -(1 << 31)


def partition_for(key: str, count: int) -> int:
    """The partition of `key` among `count`; the least int has no absolute value and counts as 0."""
    code = cached_hash_code(key)
    return 0 if code == _LEAST else abs(code) % count


def check_transactional_id(transactional_id: str) -> None:
    """Check the transactional id of a request, before its partition is looked up.

    Raises:
        Refused: INVALID_REQUEST for an empty id.
    """
    if not transactional_id:
        raise Refused(Code.INVALID_REQUEST, "the transactional id is empty")

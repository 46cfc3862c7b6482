"""Which partition of an internal topic a key belongs to.

Kafka takes Java's hash of the transactional id or group id, its absolute value, modulo the number
of partitions (TransactionStateManager.partitionFor, GroupCoordinatorService.partitionFor).
"""

from __future__ import annotations

from typing import Final

from ..protocol.java_hash import java_hash_code

_LEAST: Final = -(1 << 31)


def partition_for(key: str, count: int) -> int:
    """The partition of `key` among `count`; the least int has no absolute value and counts as 0."""
    code = java_hash_code(key)
    return 0 if code == _LEAST else abs(code) % count

"""Which partition of an internal topic a key belongs to.

Kafka takes Java's hash of the transactional id or group id, its absolute value, modulo the number
of partitions (TransactionStateManager.partitionFor, GroupCoordinatorService.partitionFor).
"""

from __future__ import annotations

from typing import Final

_WORD: Final = 1 << 32
_LEAST: Final = -(1 << 31)


def java_hash_code(text: str) -> int:
    """What java.lang.String.hashCode returns: a signed 32-bit int over the UTF-16 code units."""
    if text.isascii():
        units: bytes | memoryview = text.encode("ascii")
    else:
        units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    code = 0
    for unit in units:
        code = (31 * code + unit) % _WORD
    return code - _WORD if code >= _WORD // 2 else code


def partition_for(key: str, count: int) -> int:
    """The partition of `key` among `count`; the least int has no absolute value and counts as 0."""
    code = java_hash_code(key)
    return 0 if code == _LEAST else abs(code) % count

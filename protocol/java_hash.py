"""Java's hash codes, and the order in which the hash maps of Java and Scala list their keys.

Where Kafka walks a hash map, that order is in its answers: what is told first, and whose error it
is that a client is told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_WORD: Final = 1 << 32
_SHORT: Final = 256


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


@lru_cache(maxsize=8192)
def _short_hash_code(text: str) -> int:
    return java_hash_code(text)


def kept_hash_code(text: str) -> int:
    """The same, remembered for names of usual length; clients may choose long ones."""
    return _short_hash_code(text) if len(text) <= _SHORT else java_hash_code(text)


def in_hash_map(
    keys: Collection[T], hash_code: Callable[[T], int], *, first_capacity: int = 16
) -> list[T]:
    """The keys as a HashMap lists them that they were put into one by one, in the given order.

    Args:
        first_capacity: what the map was made for, at least; 16 is what `new HashMap<>()` has.
    """
    capacity = 1
    while capacity < first_capacity or len(keys) > capacity * 3 // 4:
        capacity *= 2

    def slot(key: T) -> int:
        code = hash_code(key) % _WORD
        return (code ^ code >> 16) & (capacity - 1)

    return sorted(keys, key=slot)


def in_scala_hash_map(keys: Collection[T], hash_code: Callable[[T], int]) -> list[T]:
    """The keys as a scala.collection.mutable.HashMap lists them, put into it one by one."""
    capacity = 16
    while len(keys) >= capacity * 3 // 4:
        capacity *= 2

    def place(key: T) -> tuple[int, int]:
        code = hash_code(key) % _WORD
        code ^= code >> 16
        return code & (capacity - 1), code - _WORD if code >= _WORD // 2 else code

    return sorted(keys, key=place)

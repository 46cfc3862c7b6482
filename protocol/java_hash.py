"""Java's hash codes, and the order in which hash maps of Java and Scala list their keys.

If Kafka iterates over a hash map, this order is visible in its answers: in the order of elements,
and in the choice of the error for a request with several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_WORD: Final = 1 << 32
_SHORT: Final = 256


def java_hash_code(text: str) -> int:
    """The result of java.lang.String.hashCode: a signed 32-bit int over the UTF-16 code units."""
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


def cached_hash_code(text: str) -> int:
    """The same, cached for names of usual length only, because clients may choose long ones."""
    return _short_hash_code(text) if len(text) <= _SHORT else java_hash_code(text)


def in_hash_map(
    keys: Collection[T], hash_code: Callable[[T], int], *, first_capacity: int = 16
) -> list[T]:
    """The keys in the order of a java.util.HashMap into which they were put in the given order.

    Args:
        first_capacity: at least the map's initial capacity; `new HashMap<>()` has 16.
    """
    capacity = hash_map_capacity(len(keys), first_capacity=first_capacity)
    return sorted(keys, key=lambda key: hash_map_slot(hash_code(key), capacity))


def hash_map_capacity(count: int, *, first_capacity: int = 16) -> int:
    """The number of slots of a java.util.HashMap with so many keys; see `in_hash_map`."""
    capacity = 1
    while capacity < first_capacity or count > capacity * 3 // 4:
        capacity *= 2
    return capacity


def hash_map_slot(hash_code: int, capacity: int) -> int:
    """The slot of a key in a java.util.HashMap; keys in one slot have the order of insertion."""
    code = hash_code % _WORD
    return (code ^ code >> 16) & (capacity - 1)

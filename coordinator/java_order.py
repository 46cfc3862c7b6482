"""The order in which Java's hash tables list their keys.

In Kafka this order alone decides which member gets the odd partition. A group that moves between
Kafka and Ottla therefore keeps its assignment.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from typing import Final, Generic, TypeVar

from ..protocol.java_hash import cached_hash_code

Item = TypeVar("Item")

_LEAST_CAPACITY: Final = 16
_FIBONACCI: Final = 0x9E3779B97F4A7C15
_WORD: Final = (1 << 32) - 1
_LONG: Final = (1 << 64) - 1


def _spread(text: str) -> int:
    code = cached_hash_code(text) & _WORD
    return code ^ (code >> 16)


def _fibonacci(text: str) -> int:
    return (cached_hash_code(text) * _FIBONACCI) & _LONG


def _spread_id(topic_id: uuid.UUID) -> int:
    folded = (topic_id.int >> 64) ^ (topic_id.int & ((1 << 64) - 1))
    code = (folded >> 32) ^ (folded & _WORD)
    return code ^ (code >> 16)


def _grown(count: int) -> int:
    """The mask of a table that was filled one by one."""
    capacity = _LEAST_CAPACITY
    while count > capacity * 3 // 4:
        capacity *= 2
    return capacity - 1


def _copied(count: int) -> int:
    """The mask of a table that was made from a collection of that size."""
    capacity = _LEAST_CAPACITY
    while capacity < int(count / 0.75) + 1:
        capacity *= 2
    return capacity - 1


def in_timeline_table(keys: Collection[str]) -> list[str]:
    """A table of org.apache.kafka.timeline that was filled with the keys one by one.

    Keys of one slot come the last first.
    """
    bits = 1
    while len(keys) * 3 > 4 << bits:
        bits += 1
    return sorted(reversed(list(keys)), key=lambda key: _fibonacci(key) >> (64 - bits))


def members_in_order(known: Collection[str], new: Iterable[str] = ()) -> list[str]:
    """Member ids: a HashMap filled from the group's own table, then with joining members."""
    listed = in_timeline_table(known)
    listed += new
    mask = _grown(len(listed))
    return sorted(listed, key=lambda member_id: _spread(member_id) & mask)


def names_in_order(names: Collection[str]) -> list[str]:
    """A HashMap filled with the names one by one."""
    mask = _grown(len(names))
    return sorted(names, key=lambda name: _spread(name) & mask)


def ids_in_order(topic_ids: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """A HashSet of topic ids."""
    if len(topic_ids) < 2:
        return list(topic_ids)
    mask = _copied(len(topic_ids))
    return sorted(topic_ids, key=lambda topic_id: _spread_id(topic_id) & mask)


def partitions_in_order(partitions: Collection[int]) -> list[int]:
    """A HashSet of partitions: ascending, unless they are far apart."""
    mask = _copied(len(partitions))
    return sorted(sorted(partitions), key=lambda index: (index ^ (index >> 16)) & mask)


def ids_one_by_one(topic_ids: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """A HashMap filled with topic ids one by one."""
    mask = _grown(len(topic_ids))
    return sorted(topic_ids, key=lambda topic_id: _spread_id(topic_id) & mask)


def partitions_one_by_one(partitions: Collection[int]) -> list[int]:
    """A HashMap filled with partitions one by one: ascending, unless they are far apart."""
    mask = _grown(len(partitions))
    if partitions and min(partitions) >= 0 and max(partitions) <= mask:
        return sorted(partitions)
    return sorted(partitions, key=lambda index: _spread_int(index) & mask)


def _spread_int(number: int) -> int:
    code = number & _WORD
    return code ^ (code >> 16)


def computed_keys_in_order(keys: Collection[str], expected: int) -> list[str]:
    """A HashMap made for `expected` keys and filled by computeIfAbsent.

    That grows the table before a key too many, and puts keys of one slot the last first.
    """
    capacity = 1
    while capacity < expected:
        capacity *= 2
    while len(keys) - 1 > capacity * 3 // 4:
        capacity *= 2
    return sorted(reversed(list(keys)), key=lambda key: _spread(key) & (capacity - 1))


class LeastFirst(Generic[Item]):
    """A PriorityQueue of Java, which gives items of equal rank in an order of its own.

    Args:
        rank: of an item; it may change while the item is not in the queue.
        items: added one by one.
    """

    def __init__(self, rank: Callable[[Item], float], items: Iterable[Item] = ()) -> None:
        self._rank = rank
        self._heap: list[Item] = []
        for item in items:
            self.add(item)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, item: Item) -> None:
        """Add an item."""
        heap, rank = self._heap, self._rank
        place = len(heap)
        heap.append(item)
        while place > 0:
            parent = (place - 1) >> 1
            if rank(item) >= rank(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = item

    def take(self) -> Item:
        """Remove the first item. Raises IndexError if there is none."""
        heap, rank = self._heap, self._rank
        first, last = heap[0], heap.pop()
        if not heap:
            return first
        place, half = 0, len(heap) >> 1
        while place < half:
            child = 2 * place + 1
            if child + 1 < len(heap) and rank(heap[child]) > rank(heap[child + 1]):
                child += 1
            if rank(last) <= rank(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first

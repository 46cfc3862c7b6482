"""Producer ids: handed out one by one from blocks that the controller grants (KIP-730).

A block is in the metadata log before its first id is used, so no id is used twice. A restart loses
the unused ids of a block, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import length_hint


class ProducerIds:
    """The producer ids of one node.

    Args:
        next_block: gets a block from the controller: its first id and its length.
    """

    __slots__ = ("_left", "_next_block")

    def __init__(self, next_block: Callable[[], tuple[int, int]]) -> None:
        self._next_block = next_block
        self._left: Iterator[int] = iter(())

    @property
    def left(self) -> int:
        """The number of unused ids of the present block."""
        return length_hint(self._left)

    def next(self) -> int:
        """A new producer id."""
        producer_id = next(self._left, None)
        if producer_id is None:
            first_id, size = self._next_block()
            assert size > 0, (first_id, size)
            self._left = iter(range(first_id, first_id + size))
            producer_id = next(self._left)
        return producer_id

"""Producer ids: handed out one by one from blocks that the controller grants (KIP-730).

A block is in the metadata log before any of its ids is used, so no id is ever given twice; what is
left of a block at a restart is lost, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


class ProducerIds:
    """The producer ids of one node.

    Args:
        next_block: asks the controller for a block: its first id and how many there are.
    """

    __slots__ = ("_left", "_next_block")

    def __init__(self, next_block: Callable[[], tuple[int, int]]) -> None:
        self._next_block = next_block
        self._left: Iterator[int] = iter(())

    def next(self) -> int:
        """An id that nobody has had."""
        producer_id = next(self._left, None)
        if producer_id is None:
            first_id, size = self._next_block()
            assert size > 0, (first_id, size)
            self._left = iter(range(first_id, first_id + size))
            producer_id = next(self._left)
        return producer_id

"""An observer of a node's events, and a transaction to observe."""

from __future__ import annotations

from typing import Any

from tests.broker.one_node import OneNode
from tests.broker.transacting import Producer, producer


class Heard:
    """An observer that stores the events in their order."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def __call__(self, event: Any) -> None:
        self.events.append(event)

    def of(self, *kinds: type) -> list[Any]:
        """The events of some types."""
        return [event for event in self.events if isinstance(event, kinds)]


def hear(it: OneNode) -> Heard:
    """Observe a node from now on."""
    heard = Heard()
    it.node.events.add(heard)
    return heard


async def committed(it: OneNode, *, commit: bool = True) -> Producer:
    """A transaction of `shop` over two partitions of `orders` and the offsets of `readers`."""
    shop = await producer(it, "shop")
    assert await shop.add({"orders": [0, 1]}) == {"NONE"}
    assert await shop.add_offsets("readers") == "NONE"
    assert await shop.commit_offset("readers", "orders", 3) == "NONE"
    assert await shop.end(commit=commit, version=3) == "NONE"
    return shop

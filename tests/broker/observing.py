"""An observer of a node's events, and a transaction to observe."""

from __future__ import annotations

from typing import Any

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode


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


async def committed(it: OneNode, *, commit: bool = True) -> dict[str, Any]:
    """A transaction of `shop` over two partitions of `orders` and the offsets of `readers`."""
    await it.ask(ApiKey.FIND_COORDINATOR, 6, key_type=1, coordinator_keys=["shop"])
    it.node.controller.create_internal_topic("__consumer_offsets")
    begun = await it.ask(
        ApiKey.INIT_PRODUCER_ID, 4,
        transactional_id="shop", transaction_timeout_ms=60_000,
        producer_id=-1, producer_epoch=-1,
    )  # fmt: skip
    owner = {name: begun[name] for name in ("producer_id", "producer_epoch")}
    await it.ask(
        ApiKey.ADD_PARTITIONS_TO_TXN, 3,
        v3_and_below_transactional_id="shop",
        v3_and_below_topics=[{"name": "orders", "partitions": [0, 1]}],
        **{f"v3_and_below_{name}": value for name, value in owner.items()},
    )  # fmt: skip
    await it.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, transactional_id="shop", group_id="readers", **owner)
    part = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"name": "orders", "partitions": [part]}]
    await it.ask(
        ApiKey.TXN_OFFSET_COMMIT, 3, transactional_id="shop", group_id="readers", topics=topics,
        **owner,
    )  # fmt: skip
    ended = await it.ask(ApiKey.END_TXN, 3, transactional_id="shop", committed=commit, **owner)
    assert ended["error_code"] == Code.NONE
    return owner

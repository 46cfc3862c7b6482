"""Members of consumer groups at a node of a test."""

from __future__ import annotations

from typing import Any

from ottla.protocol.api_keys import ApiKey
from tests.broker.one_node import OneNode

JOINING = {
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["orders"],
    "topic_partitions": [],
}


async def beat(
    it: OneNode, group_id: str, member_id: str, epoch: int = 0, *, version: int = 1, **fields: Any
) -> Any:
    """ConsumerGroupHeartbeat; at epoch 0, with all that who joins has to say. Its answer."""
    named = {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}
    said = JOINING if epoch == 0 else {}
    return await it.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, **{**named, **said, **fields})

"""A partition that another node leads: its log is here, and serves no request."""

from __future__ import annotations

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Refused
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode


async def test_a_request_to_a_follower_gets_the_leader(it: OneNode) -> None:
    it.topic("orders")
    assert it.node.open_led_log("orders", 0) is it.log("orders")
    it.node.node_id += 1  # not the leader's any more
    with pytest.raises(Refused, match="NOT_LEADER_OR_FOLLOWER"):
        it.node.open_led_log("orders", 0)
    produced = await it.ask(
        ApiKey.PRODUCE,
        9,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            {
                "name": "orders",
                "partition_data": [
                    {"index": 0, "records": bytes(build([(None, b"a")], timestamp_ms=START_MS))}
                ],
            }
        ],
    )
    (answer,) = produced["responses"][0]["partition_responses"]
    assert Code(answer["error_code"]) is Code.NOT_LEADER_OR_FOLLOWER
    assert it.log("orders").log_end_offset == 0

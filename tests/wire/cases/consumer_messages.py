"""The error messages of ConsumerGroupHeartbeat (68)."""

from __future__ import annotations

from typing import Any

from ..broker import Broker
from ..client import retrying
from ..consumers import heartbeat_raw
from ..groups import NOTHING_SUBSCRIBED, Member, join_raw
from ..registry import case

PATTERNS = ("[", "(", ")", "*", "a**", "a{2,1}", "\\", "\\8", "[z-a]", "(?P<n", "(?=x)")


@case
def consumers__messages_of_refusals(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic()
    joining: dict[str, Any] = {
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": [topic],
        "topic_partitions": [],
    }

    def told(member_id: str, epoch: int, **fields: Any) -> Any:
        answer = heartbeat_raw(
            broker, fields.pop("group", group), member_id, epoch, **joining | fields
        )
        return [answer["error"], (answer["error_message"] or "").replace(group, "G")]

    empty = {"nobody_there": told("m", 5), "nobody_leaves": told("m", -1)}
    told("m", 0, instance_id="i")
    for member_id in ("n", "n", "o", "n"):
        told(member_id, 0)
    return {
        **empty,
        "no_group": told("m", 0, group=" "),
        "no_member_id": told("", 0),
        "no_instance": told("m", 0, instance_id=""),
        "no_rack": told("m", 0, rack_id=""),
        "no_timeout": told("x", 0, rebalance_timeout_ms=-1),
        "no_topics": told("x", 0, subscribed_topic_names=None),
        "owns_what": told("x", 0, topic_partitions=None),
        "assignor": told("x", 0, server_assignor="other"),
        "epoch": told("x", -3),
        "leaves_for_a_while": told("x", -2),
        "unknown_instance": told("x", -2, instance_id="other"),
        "unknown_member": told("x", 1),
        "future_epoch": told("m", 50, instance_id="i"),
        "past_epoch": told("n", 1, topic_partitions=None),
        "used_instance": told("x", 0, instance_id="i"),
        "fenced_instance": told("x", 1, instance_id="i"),
        "patterns": {
            pattern: told("x", 0, subscribed_topic_names=None, subscribed_topic_regex=pattern)
            for pattern in PATTERNS
        },
    }


@case
def consumers__messages_of_groups_without_conversion(broker: Broker) -> Any:
    """Classic groups that consumers cannot join."""

    def told(protocol_type: str, metadata: bytes, assigned: bytes = b"") -> Any:
        group = broker.fresh("g")
        joined = retrying(
            lambda: join_raw(
                broker,
                group,
                protocols=(("range", metadata),),
                protocol_type=protocol_type,
                version=3,
            ),
            lambda answer: [answer["error"]],
        )
        member = Member(broker, group, joined["member_id"], joined["generation_id"])
        member.sync([(member.member_id, assigned)])
        answer = heartbeat_raw(
            broker,
            group,
            "m",
            0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        return [answer["error"], (answer["error_message"] or "").replace(group, "G")]

    return {
        "connect": told("connect", b""),
        "unreadable": told("consumer", b""),
        "data_of_its_own": told("consumer", NOTHING_SUBSCRIBED, bytes(9) + b"\3abc"),
    }

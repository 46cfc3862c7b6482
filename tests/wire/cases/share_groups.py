"""ShareGroupHeartbeat (76) and ShareGroupDescribe (77), and the offsets of share groups (90-92)."""

from __future__ import annotations

import uuid
from typing import Any

from ..broker import Broker
from ..client import error_name, retrying, until
from ..consumers import heartbeat_raw as consumer_heartbeat_raw
from ..groups import join_raw
from ..registry import case
from ..settings import altered_group
from ..shares import (
    ACCEPT,
    ShareMember,
    ShareSession,
    acknowledged,
    assigned,
    described,
    heartbeat_raw,
    lag,
    lag_after,
    shared_topic,
)


def altered(broker: Broker, group: str, topic: str, offset: int, partition: int = 0) -> Any:
    """AlterShareGroupOffsets of one partition: the group's error, and the partition's."""
    part = {"partition_index": partition, "start_offset": offset}
    body = {"group_id": group, "topics": [{"topic_name": topic, "partitions": [part]}]}
    answer = broker.call("AlterShareGroupOffsets", 0, body)
    parts = [each for told in answer["responses"] for each in told["partitions"]]
    return [error_name(each["error_code"]) for each in (answer, *parts)]


def deleted(broker: Broker, group: str, topic: str) -> Any:
    """DeleteShareGroupOffsets of one topic: the group's error, and the topic's."""
    body = {"group_id": group, "topics": [{"topic_name": topic}]}
    answer = broker.call("DeleteShareGroupOffsets", 0, body)
    return [error_name(each["error_code"]) for each in (answer, *answer["responses"])]


@case
def share_groups__bad_heartbeats(broker: Broker, topic: str) -> Any:

    def told(group: str | None = None, **fields: Any) -> str:
        name = broker.fresh("g") if group is None else group
        return str(heartbeat_raw(broker, name, fields.pop("topics", [topic]), **fields)["error"])

    return {
        "empty_group": told(""),
        "blank_group": told("  "),
        "empty_member": told(member_id=""),
        "blank_member": told(member_id=" "),
        "member_of_36": told(member_id="m" * 36),
        "member_of_37": told(member_id="m" * 37),
        "epoch_minus_2": told(epoch=-2),
        "no_subscription": told(topics=None),
        "nothing_subscribed": told(topics=[]),
        "empty_rack": told(rack_id=""),
        "unknown_group": told(epoch=3),
    }


@case
def share_groups__epochs(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(2)
    member = ShareMember.joined(broker, group, topic, partitions=2)

    def told(epoch: int, topics: list[str] | None = None) -> Any:
        answer = heartbeat_raw(broker, group, topics, member_id=member.member_id, epoch=epoch)
        is_same = answer["member_epoch"] == member.epoch
        return [answer["error"], is_same, assigned(answer), answer["heartbeat_interval_ms"]]

    return {
        "no_news": told(member.epoch),
        "in_full": told(member.epoch, [topic]),
        "newer": told(member.epoch + 1)[0],
        "previous": told(member.epoch - 1)[0],
        "again_from_0": told(0, [topic])[::2],
        "left": [heartbeat_raw(broker, group, None, member_id=member.member_id, epoch=-1)[key]
                 for key in ("error", "member_epoch", "assignment")],
        "after_leaving": told(member.epoch)[0],
    }  # fmt: skip


@case
def share_groups__assignments(broker: Broker) -> Any:
    """Partitions of each member, and members of each partition."""
    outcome = {}
    for members, partitions in ((2, 2), (2, 4), (3, 2), (4, 2)):
        group, topic = broker.fresh("g"), broker.topic(partitions)
        joined = [ShareMember.joined(broker, group, topic) for _ in range(members)]

        def targets(
            group: str = group, joined: list[ShareMember] = joined
        ) -> tuple[list[int], list[int]]:
            for member in joined:
                member.beat()
            found = [
                part["partitions"]
                for member in described(broker, group)["members"]
                for part in member["assignment"]["topic_partitions"]
            ]
            indexes = [index for each in found for index in each]
            return sorted(map(len, found)), sorted(map(indexes.count, set(indexes)))

        wanted = max(1, partitions // members)
        even = ([wanted] * members, [max(1, members // partitions)] * partitions)
        outcome[f"{members} members, {partitions} partitions"] = until(
            targets, lambda told, even=even: told == even, limit_s=1.5  # type: ignore[misc]  # mypy cannot type the default
        )  # fmt: skip
    return outcome


@case
def share_groups__other_kinds_of_groups(broker: Broker, topic: str) -> Any:
    shared, committed, consumers = broker.fresh("g"), broker.fresh("g"), broker.fresh("g")
    ShareMember.joined(broker, shared, topic)
    broker.commit(committed, topic, 1)
    fields: dict[str, Any] = {
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": [topic],
        "topic_partitions": [],
    }
    retrying(
        lambda: consumer_heartbeat_raw(broker, consumers, "m", 0, **fields),
        lambda answer: [answer["error"]],
    )
    return {
        "share_on_consumers": heartbeat_raw(broker, consumers, [topic])["error"],
        "share_on_committed": heartbeat_raw(broker, committed, [topic])["error"],
        "consumer_on_share": consumer_heartbeat_raw(broker, shared, "m", 0, **fields)["error"],
        "join_on_share": join_raw(broker, shared)["error"],
        "commit_on_share": broker.commit(shared, topic, 1, version=9),
        "alter_of_committed": altered(broker, committed, topic, 1),
        "delete_of_committed": deleted(broker, committed, topic),
        "lag_of_committed": lag(broker, committed, topic),
    }


@case
def share_groups__describe(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(2)
    member = ShareMember.joined(broker, group, topic, partitions=2)

    def told(name: str) -> Any:
        answer = described(broker, name)
        return [
            error_name(answer["error_code"]),
            answer["group_state"],
            answer["assignor_name"],
            [
                [
                    each["member_id"] == member.member_id,
                    each["subscribed_topic_names"] == [topic],
                    [sorted(t["partitions"]) for t in each["assignment"]["topic_partitions"]],
                ]
                for each in answer["members"]
            ],
        ]

    stable = told(group)
    member.leave()
    return [stable, told(group), told(broker.fresh("g")), told("")]


@case
def share_groups__delete(broker: Broker) -> Any:
    """The leader of the partition goes on from its state in memory."""
    session, member = shared_topic(broker, 3)
    group, topic = session.group, session.topic
    session.acquire(3)
    session.acknowledge(acknowledged(0, 2, ACCEPT))
    lag_after(broker, group, topic, 0)

    def told() -> str:
        answer = broker.call("DeleteGroups", 2, {"groups_names": [group]})["results"][0]
        return error_name(answer["error_code"])

    busy = told()
    member.leave()
    empty = told()
    anew = ShareMember.joined(broker, group, topic)
    again = ShareSession(broker, group, topic, anew.member_id)
    return [busy, empty, again.acquire(3, limit_s=1)]


@case
def share_groups__offsets(broker: Broker) -> Any:
    session, member = shared_topic(broker, 5)
    group, topic = session.group, session.topic
    session.acquire(5)
    session.acknowledge(acknowledged(0, 1, ACCEPT), acknowledged(3, 3, ACCEPT))
    read = lag_after(broker, group, topic, 2)
    busy = [altered(broker, group, topic, 1), deleted(broker, group, topic)]
    member.leave()
    back = altered(broker, group, topic, 1)
    lag_back = lag_after(broker, group, topic, 4)
    dropped = deleted(broker, group, topic)
    unknown, no_topic = broker.fresh("g"), "no-such-topic"
    return {
        "read": read,
        "busy": busy,
        "back": [back, lag_back],
        "dropped": [dropped, deleted(broker, group, topic)],
        "no_group": [lag(broker, unknown, topic), deleted(broker, unknown, topic)],
        "no_topic": [altered(broker, group, no_topic, 1), deleted(broker, group, no_topic)],
        "no_partition": altered(broker, group, topic, 1, partition=9),
    }


@case
def share_groups__offsets_of_a_new_group(broker: Broker) -> Any:
    """The alteration makes the group."""
    group, topic = broker.fresh("g"), broker.filled_topic(5)
    made = altered(broker, group, topic, 2)
    state = described(broker, group)["group_state"]
    member = ShareMember.joined(broker, group, topic)
    return [made, state, ShareSession(broker, group, topic, member.member_id).acquire(3)]


@case
def share_groups__settings(broker: Broker) -> Any:
    group = broker.fresh("g")

    def told(name: str, *values: object) -> list[str]:
        return [altered_group(broker, group, **{name: value}) for value in values]

    durations = ("earliest", "latest", "none", "by_duration:PT1H", "by_duration:-PT1H")
    return {
        "reset": told("share_auto_offset_reset", *durations),
        "isolation": told("share_isolation_level", "read_committed", "serial"),
        "session": told("share_session_timeout_ms", 44_999, 45_000, 60_001),
        "heartbeat": told("share_heartbeat_interval_ms", 4_999, 5_000, 15_001),
        "locks": told("share_partition_max_record_locks", 99, 100, 4_001),
        "lock": told("share_record_lock_duration_ms", 14_999, 15_000, 60_001),
        "deliveries": told("share_delivery_count_limit", 1, 2, 10, 11),
        "renewal": told("share_renew_acknowledge_enable", "false", "1"),
        "interval": told("share_assignment_interval_ms", -1, 0, 15_001),
        "unknown": told("share_colour", "red"),
    }


@case
def share_groups__durations(broker: Broker) -> Any:
    """by_duration takes what Java's Duration.parse does, unless it is negative."""
    group = broker.fresh("g")
    given = (
        "P1D", "P1DT1H", "pt1h", "+PT1H", "PT-1H", "-PT-1H", "P-1DT24H", "P-1DT23H", "PT0S",
        "-PT0S", "PT1.5S", "PT1,5S", "PT1.S", "PT.5S", "PT.S", "PT1.123456789S",
        "PT1.1234567890S",
        "PT1.2.3S", "P", "PT", "P1DT", "P1Y", "P1W", "PT1M1H", "PT1H1H", "1h", "", " PT1H",
        "PT1H ",
        f"PT{2**63 - 1}S", f"PT{2**63}S", f"P{2**63 // 86_400}D", f"P{2**63 // 86_400 + 1}D",
        f"PT{2**63 // 3_600}H1M", f"PT{'9' * 5_000}H", "PT\u0661S", "PT-0.5S", "-PT0.0001S",
    )  # fmt: skip
    return {
        each if len(each) < 50 else "long": altered_group(
            broker, group, share_auto_offset_reset=f"by_duration:{each}"
        )
        for each in given
    }


@case
def share_groups__a_topic_comes_and_goes(broker: Broker) -> Any:
    group, topic, later = broker.fresh("g"), broker.topic(), broker.fresh()
    member = ShareMember.joined(broker, group, topic)
    member.topics = [topic, later]
    before = assigned(member.beat())
    broker.create_raw(later, partitions=2)
    both = until(lambda: assigned(member.beat()), lambda count: count == 3, limit_s=15)
    broker.delete_topic(topic)
    one = until(lambda: assigned(member.beat()), lambda count: count == 2, limit_s=15)
    return [before, both, one]


@case
def share_groups__unknown_topics(broker: Broker) -> Any:
    session, _ = shared_topic(broker, 1)
    ghost = uuid.UUID(int=0xABCDEF)
    fresh = [ShareSession(broker, session.group, session.topic) for _ in range(2)]
    return [
        fresh[0].fetch(partitions=[(ghost, 0)]),
        fresh[1].fetch(partitions=[(session.topic, 7)]),
    ]

"""ConsumerGroupHeartbeat (68) and ConsumerGroupDescribe (69): consumer groups of KIP-848."""

from __future__ import annotations

import struct
import time
import uuid
from typing import Any

from ..broker import Broker
from ..client import error_name, until
from ..consumers import Consumer, described, heartbeat_raw, state
from ..groups import Member, assignment, join_raw, subscription
from ..groups import described as described_classic
from ..registry import case, slow_case


def _join_fields(topic: str) -> dict[str, Any]:
    return {
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": [topic],
        "topic_partitions": [],
    }


@case
def consumers__bad_requests(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic()
    full = _join_fields(topic)

    def told(member: str = "m", epoch: int = 0, **fields: Any) -> str:
        given = {**(full if epoch == 0 else {}), **fields}
        name = given.pop("group", group)
        return str(heartbeat_raw(broker, name, member, epoch, **given)["error"])

    return {
        "empty_group": told(group=""),
        "blank_group": told(group=" "),
        "empty_member": told(""),
        "empty_member_later": told("", 3),
        "empty_instance": told(instance_id=""),
        "empty_rack": told(rack_id=" "),
        "no_timeout": told(rebalance_timeout_ms=-1),
        "no_subscription": told(subscribed_topic_names=None),
        "null_partitions": told(topic_partitions=None),
        "some_partitions": told(topic_partitions=[{"topic_id": uuid.uuid4(), "partitions": [0]}]),
        "epoch_minus_3": told(epoch=-3),
        "epoch_minus_2_dynamic": told(epoch=-2),
        "unknown_assignor": told(server_assignor="sticky"),
        "empty_assignor": told(server_assignor=""),
        "bad_regex": told(subscribed_topic_names=None, subscribed_topic_regex="(a"),
        "lookahead_regex": told(subscribed_topic_names=None, subscribed_topic_regex="(?!a)b"),
        "group_is_not_made": described(broker, group)["error"],
        "nothing_subscribed": told(subscribed_topic_names=[]),
        "v0_no_id": told("", version=0),
        "v0_no_id_later": told("", 3, version=0),
        "v0_no_id_leaves": told("", -1, version=0),
    }


@case
def consumers__ids(broker: Broker) -> Any:
    """In version 0 the coordinator assigns a member id, in version 1 the client sends it."""
    group, topic = broker.fresh("g"), broker.topic()
    given = heartbeat_raw(broker, group, "", 0, version=0, **_join_fields(topic))
    own = heartbeat_raw(broker, group, "mine", 0, version=0, **_join_fields(topic))
    return [
        [given["error"], len(given["member_id"]), given["heartbeat_interval_ms"]],
        [own["error"], own["member_id"]],
    ]


@case
def consumers__unknown_members_and_epochs(broker: Broker) -> Any:
    """The answers to heartbeats by member id and epoch."""
    group, topic = broker.fresh("g"), broker.topic(2)
    unknown = Consumer(broker, group, "a", [topic])
    out: dict[str, Any] = {"no_group": [unknown.beat(epoch=1), unknown.beat(epoch=-1)]}
    a, b = Consumer(broker, group, "a", [topic]), Consumer(broker, group, "b", [topic])
    out["joined"] = [a.join(), b.join()]
    out["stranger"] = [
        Consumer(broker, group, "c").beat(epoch=1),
        Consumer(broker, group, "c").leave(),
        Consumer(broker, group, "c", instance="i").beat(epoch=1),
    ]
    out["future"] = a.beat(epoch=3)
    out["joins_again"] = Consumer(broker, group, "a", [topic]).join()
    out["revokes"] = a.beat()
    out["reports_less"] = a.report()
    out["before_with_all"] = a.beat(epoch=2, owned={topic: [0, 1]})
    out["before_unsaid"] = a.beat(epoch=2)
    out["before_with_own"] = a.beat(epoch=2, owned=a.owned)
    out["before_with_none"] = a.beat(epoch=2, owned={})
    out["zero"] = a.beat(epoch=0)
    out["now"] = a.beat()
    return out


@case
def consumers__join_share_leave(broker: Broker) -> Any:
    """Three members of one topic join and leave; their partitions and epochs."""
    group, topic = broker.fresh("g"), broker.topic(6)
    a, b, c = (Consumer(broker, group, name, [topic]) for name in "abc")
    out: list[Any] = [a.join(), state(broker, group)]
    out += [b.join(), b.beat(), state(broker, group)]
    out += [a.beat(), state(broker, group), b.beat(), a.beat()]
    out += [a.report(), state(broker, group), b.beat(), b.report(), state(broker, group)]
    out += [c.join(), a.beat(), a.report(), c.beat(), b.beat(), b.report(), c.beat()]
    out += [c.report(), state(broker, group)]
    out += [b.leave(), state(broker, group), b.beat()]
    out += [a.beat(), a.report(), c.beat(), c.report(), state(broker, group)]
    out += [a.leave(), c.leave(), state(broker, group)]
    return out


@case
def consumers__full_request(broker: Broker) -> Any:
    """A heartbeat with all fields gets an answer with all fields."""
    group, topic = broker.fresh("g"), broker.topic(1)
    a = Consumer(broker, group, "a", [topic])
    a.join()
    everything: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [topic]}
    return [
        a.beat(),
        a.report(),
        a.report(**everything),
        a.beat(**everything),
        a.report(subscribed_topic_names=[topic]),
        a.report(rebalance_timeout_ms=60_000, subscribed_topic_regex=""),
    ]


@case
def consumers__range(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(5)
    a, b = (Consumer(broker, group, name, [topic]) for name in "ab")
    out: list[Any] = [a.join(server_assignor="range"), described(broker, group)["assignor_name"]]
    out += [b.join(server_assignor="uniform"), described(broker, group)["assignor_name"]]
    out += [a.beat(server_assignor="uniform"), described(broker, group)["assignor_name"]]
    out += [a.report(), b.beat(), b.report(), b.beat(server_assignor="range")]
    return [*out, state(broker, group)]


@case
def consumers__different_subscriptions(broker: Broker) -> Any:
    """One member subscribes to one topic, another to two."""
    group, topics = broker.fresh("g"), [broker.topic(4), broker.topic(2)]
    a, b = (Consumer(broker, group, name, topics) for name in "ab")
    out: list[Any] = [a.join(), b.join(subscribed_topic_names=topics[:1])]
    out += [a.beat(), a.report(), b.beat(), b.report(), a.beat()]
    out += [b.beat(subscribed_topic_names=[]), b.report(), a.beat(), a.report(), a.beat()]
    return [*out, state(broker, group)]


@case
def consumers__topics_come_and_go(broker: Broker) -> Any:
    """A topic is created, gets partitions and is deleted; the group learns of each change."""
    group, first, later = broker.fresh("g"), broker.topic(1), broker.fresh("t")
    a = Consumer(broker, group, "a", [first, later])
    out: list[Any] = [a.join(), state(broker, group)]
    broker.call("CreateTopics", 5, _creation(later, 2))
    out += [until(a.report, lambda told: told[2] is not None), state(broker, group)]
    more = {"topics": [{"name": later, "count": 3, "assignments": None}]}
    broker.call("CreatePartitions", 2, {**more, "timeout_ms": 5000, "validate_only": False})
    out += [until(a.report, lambda told: told[2] is not None), state(broker, group)]
    broker.delete_topic(later)
    told = until(a.report, lambda told: told[2] is not None)
    return [*out, told, a.report(), state(broker, group)]


def _creation(topic: str, partitions: int) -> dict[str, Any]:
    wanted = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
    return {"topics": [wanted], "timeout_ms": 5000, "validate_only": False}


@case
def consumers__regex(broker: Broker) -> Any:
    """A heartbeat after the one with the regular expression gets the matching topics."""
    group, topics = broker.fresh("g"), [broker.topic(2), broker.topic(1)]
    a = Consumer(broker, group, "a", topics)
    regex = f"({'|'.join(topics)})"
    out: list[Any] = [a.join(subscribed_topic_regex=regex, subscribed_topic_names=[])]
    out += [until(a.report, lambda told: told[2] is not None), a.report(), state(broker, group)]
    found = described(broker, group)["members"][0]
    out += [found["subscribed_topic_names"], found["subscribed_topic_regex"] == regex]
    out += [
        a.beat(subscribed_topic_regex="(", owned=a.owned),
        a.report(subscribed_topic_regex="", subscribed_topic_names=topics[1:]),
        a.report(),
        a.report(),
        state(broker, group),
        described(broker, group)["members"][0]["subscribed_topic_regex"],
    ]
    return out


@case
def consumers__a_regex_that_is_given_up(broker: Broker) -> Any:
    """Given up for nothing, for another one, and for one that another member keeps."""
    out: list[Any] = []
    for pattern in ("", "none"):
        group, topic = broker.fresh("g"), broker.topic(1)
        a = Consumer(broker, group, "a", [topic])
        out += [a.join(subscribed_topic_regex=topic), _settled(a), state(broker, group)]
        out += [a.report(subscribed_topic_regex=pattern), state(broker, group)]
        out.append(until(a.report, lambda told: told[1] == 3))  # "none" is matched meanwhile
        out += [*([] if pattern else [a.report()]), state(broker, group)]
    group, topic = broker.fresh("g"), broker.topic(2)
    a, b = (Consumer(broker, group, each, [topic]) for each in "ab")
    out += [a.join(subscribed_topic_regex=topic), _settled(a)]
    out += [b.join(subscribed_topic_regex=topic), a.beat(), a.report(), b.beat(), b.report()]
    out += [a.report(subscribed_topic_regex=""), state(broker, group)]
    out += [a.report(), b.beat(), b.report(), a.beat(), b.beat(), state(broker, group)]
    return out


def _settled(member: Consumer) -> list[Any]:
    """The first heartbeat with partitions; the pattern is matched behind the one before."""
    told: list[Any] = until(member.report, lambda told: bool(told[2]))
    return told


@case
def consumers__regex_matches_whole_names(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(1)
    a = Consumer(broker, group, "a", [topic])
    out = [a.join(subscribed_topic_regex=topic[:-1])]
    out += [a.report(), state(broker, group)]
    b = Consumer(broker, broker.fresh("g"), "b", [topic])
    out += [b.join(subscribed_topic_regex=topic), until(b.report, lambda told: told[2] is not None)]
    return out


@slow_case
def consumers__regex_finds_new_topics(broker: Broker) -> Any:
    """A topic created later is matched, but not within ten seconds of the last evaluation.

    The case also runs on an Apache Kafka, whose clock no test can move.
    """
    group, topic = broker.fresh("g"), broker.topic(1)
    later = f"{topic}-later"
    a = Consumer(broker, group, "a", [topic, later])
    out: list[Any] = [a.join(subscribed_topic_regex=f"{topic}.*")]
    out += [until(a.report, lambda told: told[2] is not None), a.report()]
    broker.call("CreateTopics", 5, _creation(later, 1))
    out += [a.report()]
    time.sleep(11)
    out += [until(a.report, lambda told: told[2] is not None), a.report(), state(broker, group)]
    broker.delete_topic(later)
    return out


@case
def consumers__static(broker: Broker) -> Any:
    """A static member leaves temporarily and returns with another member id."""
    group, topic = broker.fresh("g"), broker.topic(4)
    a = Consumer(broker, group, "a", [topic], instance="i")
    b = Consumer(broker, group, "b", [topic])
    again = Consumer(broker, group, "a2", [topic], instance="i")
    out: list[Any] = [a.join(), b.join(), a.beat(), a.report(), b.beat()]
    out += [again.join(), again.beat(epoch=1), again.leave(), a.beat(instance_id=None)]
    out += [a.leave(-2), state(broker, group), a.beat(), b.beat()]
    out += [again.join(), again.report(), a.beat(), a.leave(-2), state(broker, group)]
    out += [again.leave(), state(broker, group), b.beat(), b.report(), again.beat()]
    return out


@case
def consumers__static_other_subscription(broker: Broker) -> Any:
    group, topics = broker.fresh("g"), [broker.topic(2), broker.topic(2)]
    a = Consumer(broker, group, "a", topics, instance="i")
    again = Consumer(broker, group, "a2", topics, instance="i")
    out: list[Any] = [a.join(subscribed_topic_names=topics[:1]), a.leave(-2)]
    out += [again.join(subscribed_topic_names=topics[1:]), again.report(), again.report()]
    return [*out, state(broker, group)]


@case
def consumers__offsets(broker: Broker) -> Any:
    """Commits and fetches with known, unknown and empty member ids, below and from version 9."""
    group, topic = broker.fresh("g"), broker.topic(1)
    a = Consumer(broker, group, "a", [topic])
    a.join()
    me = Member(broker, group, "a", a.epoch)
    out: dict[str, Any] = {}
    for version in (8, 9):
        out[f"commit_v{version}"] = {
            "right": me.commit(topic, 1, version=version),
            "old": me.but(generation_id=0).commit(topic, 2, version=version),
            "future": me.but(generation_id=9).commit(topic, 3, version=version),
            "stranger": me.but(member_id="b").commit(topic, 4, version=version),
            "nobody": broker.commit(group, topic, 5, version=version),
            "nobody_in_epoch": me.but(member_id="").commit(topic, 6, version=version),
        }
    out["offset"] = broker.offsets(group, topic)
    for label, member_id, epoch in (
        ("right", "a", a.epoch),
        ("old", "a", 0),
        ("stranger", "b", 1),
        ("nobody", None, -1),
        ("nobody_in_epoch", None, 1),
        ("empty", "", -1),
    ):
        topics = [{"name": topic, "partition_indexes": [0]}]
        member = {"member_id": member_id, "member_epoch": epoch}
        asked = {"group_id": group, "topics": topics, **member}
        body: dict[str, Any] = {"groups": [asked], "require_stable": False}
        answer = broker.call("OffsetFetch", 9, body)["groups"][0]
        offsets = [part["committed_offset"] for t in answer["topics"] for part in t["partitions"]]
        out[f"fetch_{label}"] = [error_name(answer["error_code"]), offsets]
    deletion = {"name": topic, "partitions": [{"partition_index": 0}]}
    body = {"group_id": group, "topics": [deletion]}
    deleted = broker.call("OffsetDelete", 0, body)
    codes = [part["error_code"] for t in deleted["topics"] for part in t["partitions"]]
    out["delete"] = [error_name(deleted["error_code"]), [error_name(code) for code in codes]]
    out["delete_group"] = _deleted(broker, group)
    a.leave()
    out["left"] = [
        me.commit(topic, 7, version=9),
        broker.commit(group, topic, 8, version=9),
        broker.offsets(group, topic),
        _deleted(broker, group),
        broker.offsets(group, topic),
        described(broker, group)["error"],
    ]
    return out


def _deleted(broker: Broker, group: str) -> str:
    results = broker.call("DeleteGroups", 2, {"groups_names": [group]})["results"]
    return error_name(results[0]["error_code"])


@case
def consumers__transactional_offsets(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(1)
    a = Consumer(broker, group, "a", [topic])
    a.join()
    producer = broker.producer()
    producer.add_offsets(group)
    return {
        label: producer.commit_offset(
            group, topic, 3, member_id=member_id, generation_id_or_member_epoch=epoch
        )
        for label, member_id, epoch in (
            ("right", "a", a.epoch),
            ("old", "a", 0),
            ("stranger", "b", 1),
            ("nobody", "", -1),
            ("nobody_in_epoch", "", 1),
        )
    }


@case
def consumers__views(broker: Broker) -> Any:
    group, classic, topic = broker.fresh("g"), broker.fresh("g"), broker.topic(2)
    broker.stable_member(classic)
    a = Consumer(broker, group, "a", [topic], instance="i")
    a.join(rack_id="r", server_assignor="range")
    found = described(broker, group)
    (member,) = found["members"]
    names = [
        {part["topic_name"] == topic: part["partitions"]}
        for key in ("assignment", "target_assignment")
        for part in member[key]["topic_partitions"]
    ]
    hidden = {"assignment", "target_assignment", "subscribed_topic_names"}
    hidden |= {"error_message"}
    listed: dict[str, Any] = {}
    for label, states, types in (
        ("all", [], []),
        ("stable", ["stable"], []),
        ("Empty", ["Empty"], []),
        ("reconciling", ["Reconciling", "Assigning"], []),
        ("consumer", [], ["consumer"]),
        ("CLASSIC", [], ["CLASSIC"]),
    ):
        body = {"states_filter": states, "types_filter": types}
        groups = broker.call("ListGroups", 5, body)["groups"]
        listed[label] = [
            [each["protocol_type"], each["group_state"], each["group_type"]]
            for each in groups
            if each["group_id"] == group
        ]
    operations = {"group_ids": [group], "include_authorized_operations": True}
    allowed = broker.call("ConsumerGroupDescribe", 1, operations)["groups"][0]
    return {
        "group": {k: v for k, v in found.items() if k not in ("members", "group_id")},
        "member": {k: v for k, v in member.items() if k not in hidden},
        "topics": names,
        "v0": "member_type" in described(broker, group, 0)["members"][0],
        "listed": listed,
        "operations": sorted_bits(allowed["authorized_operations"]),
        "classic_view": [described_classic(broker, group, v) for v in (5, 6)],
        "classic_here": described(broker, classic)["error"],
        "nobody": described(broker, broker.fresh("g"))["error"],
        "nameless": described(broker, "")["error"],
    }


def sorted_bits(value: Any) -> Any:
    """Operations as numbers, from a set or a bit field."""
    if isinstance(value, int):
        return [bit for bit in range(32) if value >> bit & 1]
    return sorted(value)


@case
def consumers__empty_groups_change_sides(broker: Broker) -> Any:
    """A group without members takes the kind of its next member."""
    group, topic = broker.fresh("g"), broker.topic(1)
    a = Consumer(broker, group, "a", [topic])
    out: list[Any] = [a.join(), a.leave(), state(broker, group)]
    member = broker.stable_member(group)
    out += [described_classic(broker, group)[1], described(broker, group)["error"]]
    out += [a.beat(epoch=1), member.leave(), described_classic(broker, group)[1]]
    out += [a.beat(epoch=1), a.join(), state(broker, group), described_classic(broker, group)[1]]
    offsets = broker.fresh("g")
    broker.commit(offsets, topic, 3)
    b = Consumer(broker, offsets, "b", [topic])
    return [*out, b.join(), broker.offsets(offsets, topic), state(broker, offsets)]


@case
def consumers__connect_group_is_refused(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(1)
    join_raw(broker, group, version=3, protocol_type="connect", protocols=(("x", b""),))
    return Consumer(broker, group, "a", [topic]).join()


@case
def consumers__classic_members_join(broker: Broker) -> Any:
    """A classic member joins a consumer group, is reconciled, and stays as its only member."""
    group, topic = broker.fresh("g"), broker.topic(4)
    a = Consumer(broker, group, "a", [topic])
    out: list[Any] = [a.join()]
    first = _join_classic(broker, group, topic)
    given = first["member_id"]
    out += [first["error"], bool(given), first["generation_id"]]
    joined = _join_classic(broker, group, topic, given)
    shown = ("error", "generation_id", "protocol_type", "protocol_name", "leader", "members")
    out += [{key: joined[key] for key in shown}, joined["member_id"] == given]
    m = Member(broker, group, given, joined["generation_id"])
    out += [_synced(m, topic), m.heartbeat(), _kinds(broker, group), state(broker, group)[:4]]
    out += [m.but(generation_id=9).heartbeat(), m.but(generation_id=9).sync()[0]]
    out += [m.but(member_id="x").heartbeat(), m.but(member_id="a").heartbeat()]
    out += [m.sync(protocol_name="weird")[0], m.sync(protocol_type="connect")[0]]
    out += [_join_classic(broker, group, topic, given, protocols=(("weird", b""),))["error"]]
    out += [_join_classic(broker, group, topic, given, protocol_type="connect")["error"]]
    out += [a.beat(), m.heartbeat(), a.report(), m.heartbeat()]
    joined = _join_classic(broker, group, topic, given)
    m = m.but(generation_id=joined["generation_id"])
    out += [joined["generation_id"], _synced(m, topic), m.heartbeat(), state(broker, group)[:4]]
    out += [m.commit(topic, 1, version=8), m.but(generation_id=1).commit(topic, 1)]
    out += [a.leave(), state(broker, group)[0], described_classic(broker, group)]
    out += [m.heartbeat(), m.sync()[0]]
    joined = _join_classic(broker, group, topic, given)
    m = m.but(generation_id=joined["generation_id"])
    out += [joined["error"], joined["generation_id"], joined["leader"] == given]
    return [*out, m.sync([(given, b"x")]), described_classic(broker, group)[1]]


def _join_classic(
    broker: Broker, group: str, topic: str, member_id: str = "", **fields: Any
) -> dict[str, Any]:
    given = {"protocols": (("range", subscription(topic)),), **fields}
    return join_raw(broker, group, member_id=member_id, **given)


def _synced(member: Member, topic: str) -> list[str]:
    """SyncGroup: error name and assignment, with `T` for the topic."""
    error, assignment = member.sync()
    name = struct.pack(">h", len(topic)).decode("latin1") + topic
    return [error, assignment.replace(name, "T")]


def _kinds(broker: Broker, group: str) -> list[list[Any]]:
    """Type, epoch and partitions of each member, the consumers first."""
    return sorted(
        (
            [
                member["member_type"],
                member["member_epoch"],
                [part["partitions"] for part in member["assignment"]["topic_partitions"]],
                [part["partitions"] for part in member["target_assignment"]["topic_partitions"]],
            ]
            for member in described(broker, group)["members"]
        ),
        reverse=True,
    )


@case
def consumers__classic_group_is_converted(broker: Broker) -> Any:
    """A heartbeat converts a classic group with a member to a consumer group."""
    group, topic = broker.fresh("g"), broker.topic(2)
    given = _join_classic(broker, group, topic)["member_id"]
    joined = _join_classic(broker, group, topic, given)
    m = Member(broker, group, given, joined["generation_id"])
    out: list[Any] = [m.sync([(given, assignment(topic, 0, 1))])[0]]
    a = Consumer(broker, group, "a", [topic])
    out += [a.beat(epoch=1), a.join(), state(broker, group)[:4], _kinds(broker, group)]
    out += [described_classic(broker, group)[1], m.heartbeat(), m.sync()[0]]
    joined = _join_classic(broker, group, topic, given, protocols=_owning(topic, 0, 1))
    m = m.but(generation_id=joined["generation_id"])
    out += [joined["error"], joined["generation_id"], _synced(m, topic), m.heartbeat()]
    joined = _join_classic(broker, group, topic, given, protocols=_owning(topic, 0))
    m = m.but(generation_id=joined["generation_id"])
    out += [joined["error"], joined["generation_id"], _synced(m, topic), m.heartbeat()]
    out += [a.beat(), state(broker, group)[:4], _kinds(broker, group)]
    out += [m.leave(), state(broker, group)[:4], a.beat(), a.leave(), state(broker, group)]
    return out


def _owning(topic: str, *partitions: int) -> tuple[tuple[str, bytes], ...]:
    """A subscription, version 1, of a member that owns partitions."""
    owned = assignment(topic, *partitions)[2:-4]
    return (("range", b"\0\1" + subscription(topic)[2:-4] + b"\xff\xff\xff\xff" + owned),)


@case
def consumers__rebalancing_classic_group_is_converted(broker: Broker) -> Any:
    """Members that wait for the leader of the classic group have to join again."""
    group, topic = broker.fresh("g"), broker.topic(2)
    given = _join_classic(broker, group, topic)["member_id"]
    joined = _join_classic(broker, group, topic, given)
    m = Member(broker, group, given, joined["generation_id"])
    a = Consumer(broker, group, "a", [topic])
    out: list[Any] = [m.heartbeat(), a.join(), _kinds(broker, group), m.heartbeat()]
    out += [m.sync()[0]]
    joined = _join_classic(broker, group, topic, given)
    m = m.but(generation_id=joined["generation_id"])
    return [*out, joined["generation_id"], _synced(m, topic), a.report(), state(broker, group)[:4]]


@case
def consumers__classic_members_leave_and_are_static(broker: Broker) -> Any:
    group, topic = broker.fresh("g"), broker.topic(2)
    a = Consumer(broker, group, "a", [topic], instance="i")
    out: list[Any] = [a.join()]
    joined = _join_classic(broker, group, topic, instance="j")
    m = Member(broker, group, joined["member_id"], joined["generation_id"], "j")
    out += [joined["error"], joined["generation_id"], _synced(m, topic)]
    again = _join_classic(broker, group, topic, instance="j")
    out += [again["error"], again["generation_id"], m.heartbeat(), m.rejoin_raw()["error"]]
    m = m.but(member_id=again["member_id"], generation_id=again["generation_id"])
    out += [m.heartbeat(), _kinds(broker, group)]
    # The classic member replaces the last consumer, so the group is classic again.
    taken = _join_classic(broker, group, topic, instance="i")
    out += [taken["error"], a.beat(), described_classic(broker, group)[1]]
    out += [m.but(member_id="nobody").leave(), m.leave([("", "i")])]
    return [*out, described_classic(broker, group)[1]]


@case
def consumers__leave_group_of_consumers(broker: Broker) -> Any:
    """LeaveGroup also removes members of the consumer protocol."""
    group, topic = broker.fresh("g"), broker.topic(1)
    a, b = (
        Consumer(broker, group, "a", [topic]),
        Consumer(broker, group, "b", [topic], instance="i"),
    )
    out: list[Any] = [a.join(), b.join()]
    nobody = Member(broker, group)
    out += [nobody.leave([("x", None), ("a", None), ("x", "i"), ("", "i"), ("", "k")])]
    return [*out, state(broker, group), a.beat()]

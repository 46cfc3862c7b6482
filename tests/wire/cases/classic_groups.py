"""JoinGroup (11), SyncGroup (14), Heartbeat (12), LeaveGroup (13), and views of groups."""

from __future__ import annotations

import time
from itertools import permutations
from typing import Any

from ..broker import Broker
from ..client import Answer, error_name, retrying
from ..groups import NOTHING_SUBSCRIBED, Member, described, join_raw
from ..registry import case, slow_case


@case
def join__unknown_member(broker: Broker) -> Any:
    group = broker.fresh("g")
    broker.stable_member(group)
    return [
        join_raw(broker, name, member_id="nobody-1")["error"] for name in (broker.fresh("g"), group)
    ]


@case
def join__bad_requests(broker: Broker) -> Any:
    def told(group: str, **fields: Any) -> str:
        return retrying(lambda: str(join_raw(broker, group, **fields)["error"]))

    group, stable = broker.fresh("g"), broker.fresh("g")
    broker.stable_member(stable)
    return {
        "empty_group": told(""),
        "session_too_small": told(group, session_timeout_ms=5999),
        "session_too_big": told(group, session_timeout_ms=1_800_001),
        "session_min": told(group, session_timeout_ms=6000),
        "session_max": told(group, session_timeout_ms=1_800_000),
        "no_protocols": told(group, protocols=(), version=3),
        "empty_type": told(group, protocol_type="", version=3),
        "other_type": told(stable, protocol_type="connect", version=3),
        "other_protocol": told(stable, protocols=(("weird", b""),), version=3),
    }


@case
def join__all_versions(broker: Broker) -> Any:
    """Complete answers to the first member of a group, with the lengths of member ids."""
    out = {}
    for version in range(10):
        group = broker.fresh("g")
        answers = [retrying(lambda: join_raw(broker, group, version=version)["error"])]  # noqa: B023
        group = broker.fresh("g")
        answer = join_raw(broker, group, version=version)
        answers.append(answer["error"])
        if answer["error"] == "MEMBER_ID_REQUIRED":
            answer = join_raw(broker, group, member_id=answer["member_id"], version=version)
        own = answer["member_id"]
        answer["leader"], answer["member_id"] = answer["leader"] == own, len(own)
        for member in answer["members"]:
            member["member_id"] = member["member_id"] == own
        out[f"v{version}"] = [answers, answer]
    return out


@case
def join__generations_count_up(broker: Broker) -> Any:
    member = broker.stable_member(broker.fresh("g"))
    return [member.generation_id, *(member.rejoin_raw()["generation_id"] for _ in range(3))]


@slow_case
def join__session_expires(broker: Broker) -> Any:
    """Without heartbeats for the session timeout of 6 s the member is removed.

    6 s is Kafka's smallest. The case also runs on an Apache Kafka, whose clock no test can move.
    """
    group = broker.fresh("g")
    member = broker.member(group, session_timeout_ms=6000, version=3)
    member.sync(version=3)
    time.sleep(7.5)
    return [member.heartbeat(), described(broker, group)[1]]


@case
def sync__assignment(broker: Broker) -> Any:
    group = broker.fresh("g")
    member = broker.member(group)
    return {
        "heartbeat_before": member.heartbeat(),
        "state": described(broker, group)[1],
        "sync": member.sync([(member.member_id, b"abc")]),
        "again": member.sync(),
        "state_after": described(broker, group),
    }


@case
def sync__all_versions(broker: Broker) -> Any:
    """The assignment, the next heartbeat, and errors for unknown members and generations."""
    out = {}
    for version in range(6):
        member = broker.member(broker.fresh("g"))
        beat = min(version, 4)
        out[f"v{version}"] = [
            member.but(member_id="nobody").sync(version=version)[0],
            member.but(generation_id=9).sync(version=version)[0],
            member.but(group=broker.fresh("g")).sync(version=version)[0],
            member.sync([(member.member_id, b"abc")], version=version),
            member.heartbeat(beat),
            member.but(member_id="nobody").heartbeat(beat),
            member.but(generation_id=9).heartbeat(beat),
            member.but(group=broker.fresh("g")).heartbeat(beat),
            member.but(group="").heartbeat(beat),
        ]
    return out


@case
def sync__wrong_protocol(broker: Broker) -> Any:
    member = broker.member(broker.fresh("g"))
    return [
        member.sync(protocol_type="connect")[0],
        member.sync(protocol_name="weird")[0],
        member.sync(protocol_type=None, protocol_name=None)[0],
    ]


@case
def sync__member_left_out_of_assignment(broker: Broker) -> Any:
    return broker.member(broker.fresh("g")).sync()


@case
def group__two_members(broker: Broker) -> Any:
    """A second member joins; the first learns it by its heartbeat, both join, both sync."""
    group = broker.fresh("g")
    first = broker.stable_member(group)
    connection = broker.connect()
    given = join_raw(broker, group, connection=connection)["member_id"]
    waiting = _join_body(group, given)
    connection.send("JoinGroup", 7, waiting)
    told = retrying(first.heartbeat, transient=frozenset({"NONE"}))
    again = first.rejoin_raw()
    _, answer = connection.receive("JoinGroup", 7)
    second = Member(broker, group, answer["member_id"], answer["generation_id"])
    first = first.but(generation_id=again["generation_id"])
    leader, follower = (first, second) if again["leader"] == first.member_id else (second, first)
    shares = [(leader.member_id, b"L"), (follower.member_id, b"F")]
    out = {
        "told": told,
        "generation": [first.generation_id, second.generation_id],
        "members": [len(again["members"]), len(answer["members"])],
        "leader_is_first": leader is first,
        "synced": [leader.sync(shares), follower.sync()],
        "state": described(broker, group)[1:],
        "old_generation": first.but(generation_id=1).heartbeat(),
    }
    out["left"] = second.leave()
    out["told_again"] = retrying(first.heartbeat, transient=frozenset({"NONE"}))
    return out


@case
def group__members_with_different_protocols(broker: Broker) -> Any:
    """Two members vote for different protocols; the order of arrival does not decide."""
    out = {}
    names = ("range", "roundrobin", "sticky", "cooperative-sticky")
    for first, second in permutations(names, 2):
        group = broker.fresh("g")
        liked = tuple((name, b"") for name in (first, second))
        member = join_raw(broker, group, instance="i", protocols=liked)
        connection = broker.connect()
        body = _join_body(group, "") | {
            "group_instance_id": "j",
            "protocols": [{"name": name, "metadata": b""} for name in (second, first)],
        }
        connection.send("JoinGroup", 7, body)
        retrying(
            Member(broker, group, member["member_id"], 1, "i").heartbeat,
            transient=frozenset({"NONE"}),
        )
        again = join_raw(
            broker, group, member_id=member["member_id"], instance="i", protocols=liked
        )
        assert connection.receive("JoinGroup", 7)[1]["protocol_name"] == again["protocol_name"]
        out[f"{first}, {second}"] = again["protocol_name"]
    return out


def _join_body(group: str, member_id: str) -> Answer:
    return {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": NOTHING_SUBSCRIBED}],
    }


@case
def leave__cases(broker: Broker) -> Any:
    group = broker.fresh("g")
    member = broker.stable_member(group)
    stranger = Member(broker, group, "nobody")
    own = (member.member_id, None)
    return {
        "unknown": stranger.leave(),
        "twice_in_one": member.leave([own, own]),
        "state": described(broker, group)[1],
        "again": member.leave(),
        "unknown_group": Member(broker, broker.fresh("g"), "m").leave(),
        "old_version_unknown": stranger.leave_alone(),
        "heartbeat_after": member.heartbeat(),
    }


@case
def leave__old_version(broker: Broker) -> Any:
    group = broker.fresh("g")
    member = broker.stable_member(group)
    return [member.leave_alone(), described(broker, group)[1]]


@case
def static__replaced_without_rebalance(broker: Broker) -> Any:
    """A new member id of the same instance id and metadata: same generation, old id fenced."""
    group = broker.fresh("g")
    member = broker.stable_member(group, "i1")
    answer = join_raw(broker, group, instance="i1", protocols=(("range", NOTHING_SUBSCRIBED),))
    new = member.but(member_id=answer["member_id"], generation_id=answer["generation_id"])
    return {
        "e": answer["error"],
        "gen": new.generation_id - member.generation_id,
        "new_id": new.member_id != member.member_id,
        "prefix": new.member_id.startswith("i1-"),
        "old_heartbeat": member.heartbeat(),
        "old_without_instance": member.but(instance=None).heartbeat(),
        "sync": new.sync(),
        "old_join": member.rejoin_raw()["error"],
        "old_commit": member.commit(broker.topic(), 1),
    }


@case
def static__joins_at_once(broker: Broker) -> Any:
    """A member with an instance id gets no MEMBER_ID_REQUIRED."""
    answer = retrying(
        lambda: join_raw(broker, broker.fresh("g"), instance="i1"), lambda found: [found["error"]]
    )
    return [
        answer["error"],
        answer["member_id"].startswith("i1-"),
        [member["group_instance_id"] for member in answer["members"]],
    ]


@case
def groups__describe(broker: Broker) -> Any:
    empty, stable, nobody = broker.fresh("g"), broker.fresh("g"), broker.fresh("g")
    broker.commit(empty, broker.topic(), 1)
    known = broker.stable_member(stable)
    body = {"groups": [stable], "include_authorized_operations": True}
    found = broker.call("DescribeGroups", 5, body)["groups"][0]
    member = found["members"][0]
    return {
        "empty": described(broker, empty),
        "stable": described(broker, stable),
        "none_v5": described(broker, nobody),
        "none_v6": described(broker, nobody, 6),
        "member": [
            member["member_id"] == known.member_id,
            member["group_instance_id"],
            member["client_id"],
            member["client_host"],
            member["member_metadata"],
            member["member_assignment"],
        ],
        "operations": found["authorized_operations"],
    }


@case
def groups__list(broker: Broker) -> Any:
    empty, stable = broker.fresh("g"), broker.fresh("g")
    broker.commit(empty, broker.topic(), 1)
    broker.stable_member(stable)

    def told(version: int, states: list[str] | None = None, types: list[str] | None = None) -> Any:
        body: Answer = {}
        if version >= 4:
            body["states_filter"] = states or []
        if version >= 5:
            body["types_filter"] = types or []
        answer = broker.call("ListGroups", version, body)
        found = {
            one["group_id"]: [one["protocol_type"], one.get("group_state"), one.get("group_type")]
            for one in answer["groups"]
        }
        return [error_name(answer["error_code"]), found.get(empty), found.get(stable)]

    return {
        "v0": told(0),
        "v4": told(4),
        "v5": told(5),
        "stable": told(4, ["Stable"]),
        "lower_case": told(4, ["stable"]),
        "unknown_state": told(4, ["Foo"]),
        "classic": told(5, types=["classic"]),
        "consumer": told(5, types=["consumer"]),
        "unknown_type": told(5, types=["foo"]),
    }


def _deleted(broker: Broker, *groups: str) -> list[str | None]:
    """DeleteGroups: the error names in the order of the request."""
    results = broker.call("DeleteGroups", 2, {"groups_names": list(groups)})["results"]
    errors = {one["group_id"]: error_name(one["error_code"]) for one in results}
    return [errors.get(group) for group in groups]


@case
def groups__delete(broker: Broker) -> Any:
    empty, stable, topic = broker.fresh("g"), broker.fresh("g"), broker.topic()
    broker.commit(empty, topic, 1)
    broker.stable_member(stable)
    return {
        "empty_stable_none": _deleted(broker, empty, stable, broker.fresh("g")),
        "again": _deleted(broker, empty),
        "offsets": broker.offsets(empty, topic),
    }


@case
def groups__dead_after_delete(broker: Broker) -> Any:
    group = broker.fresh("g")
    broker.stable_member(group).leave()
    empty = described(broker, group)
    _deleted(broker, group)
    return [empty, described(broker, group)]

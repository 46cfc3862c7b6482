"""Situations of groups of consumers."""

from __future__ import annotations

from ottla.why import Subject
from tests.wire.broker import Broker
from tests.wire.client import until
from tests.wire.consumers import Consumer
from tests.wire.groups import Member, assignment, join_raw, subscription

from .situations import World, situation
from .transaction_situations import delete_records


@situation("group_unknown", r"No group \S+ exists: .*")
def group_that_does_not_exist(world: World) -> Subject:
    return Subject(group=world.wire.fresh("g"))


@situation(
    "no_members",
    r"Group \S+ has no members, so nobody reads the rest of partition \S+-0\.",
)
def group_without_members(world: World) -> Subject:
    topic, group = world.wire.filled_topic(3), world.wire.fresh("g")
    world.wire.commit(group, topic, 1)
    return Subject(group=group)


@situation("at_the_end", r"Group \S+ has read everything: its lag is 0\.", is_stuck=False)
def group_at_the_end(world: World) -> Subject:
    topic, group = world.wire.filled_topic(3), world.wire.fresh("g")
    world.wire.commit(group, topic, 3)
    return Subject(group=group)


@situation(
    "at_the_end",
    r"Group \S+ has read everything: its lag is 0 \(2 markers and 3 aborted records left, which no"
    r" reader gets\)\.",
    is_stuck=False,
)
def group_before_markers_and_aborted_records(world: World) -> Subject:
    topic, group = world.wire.topic(), world.wire.fresh("g")
    producer = world.wire.init(world.wire.fresh("x"))
    for count, commit in ((1, True), (3, False)):
        assert producer.add(topic) == "NONE"
        sequence = 0 if count == 1 else 1
        assert producer.produce(topic, [b"v"] * count, sequence=sequence)[0] == "NONE"
        assert producer.end(commit=commit) == "NONE"
        producer.wait_ended()
    world.wire.commit(group, topic, 1)
    return Subject(group=group)


@situation(
    "behind_log_start",
    r"Group \S+ has committed offset 1 of \S+-0, and the log starts at 3: up to 2 records before it"
    r" are deleted\. .* auto\.offset\.reset decides: .*",
)
def committed_offset_behind_the_log_start(world: World) -> Subject:
    topic, group = world.wire.filled_topic(4), world.wire.fresh("g")
    world.wire.commit(group, topic, 1)
    delete_records(world.wire, topic, 3)
    return Subject(group=group)


@situation(
    "beyond_the_end",
    r"Group \S+ has committed offset 1000 of \S+-0, and the log ends at 3: .*",
)
def committed_offset_beyond_the_end(world: World) -> Subject:
    topic, group = world.wire.filled_topic(3), world.wire.fresh("g")
    world.wire.commit(group, topic, 1000)
    return Subject(group=group)


@situation(
    "no_offset_yet",
    r"Group \S+ has committed nothing for partition \S+-0: auto\.offset\.reset decides .*",
    is_stuck=False,
)
def member_without_a_committed_offset(world: World) -> Subject:
    topic, group = world.wire.filled_topic(3), world.wire.fresh("g")
    assigned_member(world.wire, group, topic, 0)
    return Subject(group=group)


@situation("idle_members", r"Each member of group \S+ has no partition: \S+ does not exist\.")
def members_of_a_topic_that_does_not_exist(world: World) -> Subject:
    group, topic = world.wire.fresh("g"), world.wire.fresh("nowhere")
    member = Member.joined(
        world.wire, group, protocols=(("range", subscription(topic)),), session_timeout_ms=60_000
    )
    assert member.sync([(member.member_id, assignment(topic))])[0] == "NONE"
    world.later(member.leave)
    return Subject(group=group)


@situation(
    "idle_members",
    r"1 of the 2 members of group \S+ has no partition: the topics have fewer partitions than the"
    r" group has members\.",
    is_stuck=False,
)
def more_members_than_partitions(world: World) -> Subject:
    topic, group = world.wire.topic(), world.wire.fresh("g")
    first, second = (Consumer(world.wire, group, f"m{each}", [topic]) for each in range(2))
    first.join()
    second.join()
    until(lambda: (first.beat(), second.beat(), _state_848(world.wire, group))[2], _is_stable)
    world.later(first.leave)
    world.later(second.leave)
    return Subject(group=group)


@situation(
    "rebalance_waits_for_joins",
    r"The rebalance of group \S+ waits for .* joi(n|ned) again.*; nobody reads meanwhile.*",
)
def rebalance_that_waits_for_a_member(world: World) -> Subject:
    topic, group = world.wire.filled_topic(), world.wire.fresh("g")
    assigned_member(world.wire, group, topic, 0)
    second = world.wire.connect(60)
    answer = join_raw(world.wire, group, protocols=(("range", subscription(topic)),))
    body = {
        "group_id": group, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
        "member_id": answer["member_id"], "group_instance_id": None, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription(topic)}],
    }  # fmt: skip
    second.send("JoinGroup", 7, body)
    until(lambda: _classic(world.wire, group), lambda told: told == "PreparingRebalance")
    return Subject(group=group)


@situation(
    "rebalance_waits_for_syncs",
    r"Group \S+ waits for SyncGroup of .*, without which nobody has an assignment.*",
)
def rebalance_that_waits_for_the_leader(world: World) -> Subject:
    group = world.wire.fresh("g")
    Member.joined(world.wire, group, protocols=(("range", subscription("t")),))
    return Subject(group=group)


@situation(
    "unrevoked_partitions",
    r"Member m1 \(\w+\) of group \S+ waits for partition \S+-\d, which member m0 \(\w+\) has not"
    r" given up.*",
)
def member_that_does_not_give_up_a_partition(world: World) -> Subject:
    topic, group = world.wire.topic(2), world.wire.fresh("g")
    first, second = (Consumer(world.wire, group, f"m{each}", [topic]) for each in range(2))
    until(lambda: (first.beat() if first.epoch else first.join()) and first.owned, bool)
    second.join()
    # It says with each heartbeat that it still has both.
    kept = {topic: [0, 1]}
    until(
        lambda: (first.beat(owned=kept), second.beat(owned={}), _state_848(world.wire, group))[2],
        lambda told: told == "Reconciling",
    )
    return Subject(group=group)


@situation(
    "static_member_away",
    r"The static member i-1 of group \S+ has left and keeps partition \S+-0 for its return.*",
)
def static_member_that_is_away(world: World) -> Subject:
    topic, group = world.wire.topic(), world.wire.fresh("g")
    member = Consumer(world.wire, group, "m", [topic], instance="i-1")
    until(lambda: (member.join() if not member.epoch else member.beat()) and member.owned, bool)
    member.leave(-2)
    return Subject(group=group)


def assigned_member(wire: Broker, group: str, topic: str, *partitions: int) -> Member:
    """The only member of a stable classic group, with partitions."""
    member = Member.joined(wire, group, protocols=(("range", subscription(topic)),))
    assert member.sync([(member.member_id, assignment(topic, *partitions))])[0] == "NONE"
    return member


def _classic(wire: Broker, group: str) -> str:
    body = {"groups": [group], "include_authorized_operations": False}
    return str(wire.call("DescribeGroups", 5, body)["groups"][0]["group_state"])


def _state_848(wire: Broker, group: str) -> str:
    body = {"group_ids": [group], "include_authorized_operations": False}
    return str(wire.call("ConsumerGroupDescribe", 0, body)["groups"][0]["group_state"])


def _is_stable(state: str) -> bool:
    return state == "Stable"

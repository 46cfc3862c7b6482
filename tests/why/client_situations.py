"""Situations of share groups, of clients, and of the lab."""

from __future__ import annotations

from ottla.client import Client
from ottla.client.admin.configs import alter_quotas
from ottla.why import Subject
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import encode, until
from tests.wire.shares import ACCEPT, acknowledged, lag, shared_topic

from .group_situations import assigned_member
from .situations import World, situation


@situation(
    "share_group_without_members",
    r"Share group \S+ has no members, so nobody gets the records of partition \S+-0\.",
)
def share_group_without_members(world: World) -> Subject:
    session, member = shared_topic(world.wire, 3)
    session.acquire(1)
    session.fetch(acknowledged(0, 0, ACCEPT), epoch=-1)
    member.leave()
    return Subject(group=session.group)


@situation(
    "share_group_at_the_end",
    r"Share group \S+ is idle: all records up to the end are acknowledged or archived\.",
    is_stuck=False,
)
def share_group_that_is_idle(world: World) -> Subject:
    session, member = shared_topic(world.wire, 2)
    session.acquire(2)
    session.fetch(acknowledged(0, 1, ACCEPT))
    until(lambda: _share_lag(world.wire, session.group, session.topic), lambda lag: lag == 0)
    world.later(member.leave)
    return Subject(group=session.group)


@situation(
    "locked_records",
    r"Member \S+ of share group \S+ has 3 records of \S+-0 and has not acknowledged them; the locks"
    r" end in .*",
    on_kafka=False,
)
def records_that_a_share_member_has(world: World) -> Subject:
    session, member = shared_topic(world.wire, 3)
    session.acquire(3)
    world.later(member.leave)
    return Subject(group=session.group)


def _share_lag(wire: Broker, group: str, topic: str) -> int:
    told = lag(wire, group, topic)
    return int(told[0]) if isinstance(told, list) else -1


@situation(
    "silent_member",
    r"Member \S+ of group \S+ has sent no heartbeat for 5 s, and holds partition \S+-0 for 5 s more"
    r" of the broker's time\.",
    on_kafka=False,
)
def member_without_heartbeats(world: World) -> Subject:
    topic, group = world.wire.filled_topic(), world.wire.fresh("g")
    assigned_member(world.wire, group, topic, 0)
    world.ottla.clock.advance(seconds=5)
    return Subject(group=group)


@situation(
    "fault_holds",
    r"Fault \d+, hold, holds 1 request \(api=ListOffsets, client_id=held\): the client waits until"
    r" it is released\.",
    on_kafka=False,
)
def fault_that_holds_an_answer(world: World) -> Subject:
    fault = world.ottla.faults.add("hold", match={"api": "ListOffsets", "client_id": "held"})
    connection = world.wire.connect(30)
    part = {"partition_index": 0, "timestamp": -1}
    topic = world.wire.topic()
    body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [part]}]}
    connection.send_raw(encode("ListOffsets", 7, body, correlation_id=1, client_id="held"))
    fault.wait_held()
    world.later(fault.remove)
    return Subject()


@situation(
    "fault_acted",
    r"Fault \d+ \(slow\), delay, has acted 1 time \(api=ApiVersions\)\.",
    is_stuck=False,
    on_kafka=False,
)
def fault_that_has_acted(world: World) -> Subject:
    fault = world.ottla.faults.add("delay", match={"api": "ApiVersions"}, name="slow", ms=1)
    world.wire.call("ApiVersions", 0)
    world.later(fault.remove)
    return Subject()


@situation(
    "throttled",
    r"A quota throttles client \S+: the broker reads nothing from it for .* more\.",
    on_kafka=False,
)
def client_over_its_quota(world: World) -> Subject:
    topic = world.wire.topic()
    connection = world.wire.connect(30)
    with Client.to(world.ottla.bootstrap) as client:
        alter_quotas(client, {"client-id": "greedy"}, {"producer_byte_rate": 100.0})
        data = {"index": 0, "records": batch([b"x" * 5000])}
        body = {
            "transactional_id": None, "acks": 1, "timeout_ms": 5000,
            "topic_data": [{"name": topic, "partition_data": [data]}],
        }  # fmt: skip
        connection.send_raw(encode("Produce", 9, body, correlation_id=1, client_id="greedy"))
        connection.receive("Produce", 9)
    return Subject()


@situation(
    "refused",
    r"EndTxn of client \S* was refused with \w+ .* ago for transactional id \S+: .*",
    on_kafka=False,
)
def producer_that_is_fenced(world: World) -> Subject:
    world.ottla.trace.start()
    world.later(world.ottla.trace.stop)
    topic = world.wire.topic()
    zombie = world.wire.init(world.wire.fresh("x"))
    zombie.add(topic)
    world.wire.init(zombie.transactional_id)
    assert zombie.end() in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    return Subject(transactional_id=zombie.transactional_id)


@situation(
    "refused",
    r"OffsetCommit of client \S* was refused with ILLEGAL_GENERATION .* ago for group \S+: its"
    r" generation is fenced: the group has rebalanced meanwhile\.",
    on_kafka=False,
)
def generation_that_is_fenced(world: World) -> Subject:
    world.ottla.trace.start()
    world.later(world.ottla.trace.stop)
    topic, group = world.wire.filled_topic(), world.wire.fresh("g")
    member = assigned_member(world.wire, group, topic, 0)
    old = member.but(generation_id=member.generation_id - 1)
    assert old.commit(topic, 1) == "ILLEGAL_GENERATION"
    return Subject(group=group)

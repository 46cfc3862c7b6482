"""Moments in which nothing is stuck, though much looks unusual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ottla.client import Client
from ottla.client.admin.configs import alter_quotas
from ottla.why import Subject
from tests.wire.batches import batch
from tests.wire.client import until
from tests.wire.consumers import Consumer
from tests.wire.groups import Member, assignment, subscription

from .client_situations import records_that_a_share_member_has, share_group_that_is_idle
from .group_situations import assigned_member, group_at_the_end
from .situations import World
from .transaction_situations import (
    delete_records,
    reader_behind_an_open_transaction,
    topic_whose_records_are_aborted,
)

# A client that waits in these situations does not wait long.
MOMENTS: Final[list[Callable[[World], Subject]]] = [
    topic_whose_records_are_aborted, reader_behind_an_open_transaction, group_at_the_end,
    share_group_that_is_idle, records_that_a_share_member_has,
]  # fmt: skip


def moment(make: Callable[[World], Subject]) -> Callable[[World], Subject]:
    """Add a function to the table that makes a moment, and returns what to ask about."""
    MOMENTS.append(make)
    return make


@moment
def empty_topic(world: World) -> Subject:
    return Subject(world.wire.topic(3))


@moment
def topic_with_records(world: World) -> Subject:
    return Subject(world.wire.filled_topic(5))


@moment
def topic_with_a_deleted_begin(world: World) -> Subject:
    topic = world.wire.filled_topic(5)
    delete_records(world.wire, topic, 3)
    return Subject(topic)


@moment
def compacted_topic(world: World) -> Subject:
    return Subject(world.wire.filled_topic(5, cleanup_policy="compact"))


@moment
def topic_of_many_partitions(world: World) -> Subject:
    return Subject(world.wire.topic(50))


@moment
def committed_transaction(world: World) -> Subject:
    topic = world.wire.topic()
    producer = world.opened(topic)
    producer.end()
    producer.wait_ended()
    return Subject(topic)


@moment
def transactional_id_at_rest(world: World) -> Subject:
    producer = world.opened(world.wire.topic())
    producer.end()
    producer.wait_ended()
    return Subject(transactional_id=producer.transactional_id)


@moment
def transactional_id_without_a_transaction(world: World) -> Subject:
    return Subject(transactional_id=world.wire.init(world.wire.fresh("x")).transactional_id)


@moment
def transaction_after_another_one(world: World) -> Subject:
    topic = world.wire.topic()
    producer = world.opened(topic)
    producer.end()
    producer.wait_ended()
    producer.add(topic)
    producer.produce(topic, sequence=3)
    world.later(lambda: producer.end(commit=False))
    return Subject(transactional_id=producer.transactional_id)


@moment
def offsets_committed_by_a_transaction(world: World) -> Subject:
    topic, group = world.wire.filled_topic(2), world.wire.fresh("g")
    producer = world.wire.init(world.wire.fresh("x"))
    producer.add_offsets(group)
    producer.commit_offset(group, topic, 3)
    producer.end()
    producer.wait_ended()
    world.wire.produce(topic, batch([b"v"]))
    return Subject(group=group)


@moment
def group_before_markers_alone(world: World) -> Subject:
    topic, group = world.wire.topic(), world.wire.fresh("g")
    producer = world.opened(topic)
    producer.end()
    producer.wait_ended()
    world.wire.commit(group, topic, 3)
    return Subject(group=group)


@moment
def classic_member_that_reads(world: World) -> Subject:
    topic, group = world.wire.filled_topic(5), world.wire.fresh("g")
    member = assigned_member(world.wire, group, topic, 0)
    member.commit(topic, 2)
    world.later(member.leave)
    return Subject(group=group)


@moment
def classic_member_at_the_end(world: World) -> Subject:
    topic, group = world.wire.filled_topic(2), world.wire.fresh("g")
    member = assigned_member(world.wire, group, topic, 0)
    member.commit(topic, 2)
    member.heartbeat()
    world.later(member.leave)
    return Subject(group=group)


@moment
def classic_member_that_has_joined_again(world: World) -> Subject:
    topic, group = world.wire.filled_topic(2), world.wire.fresh("g")
    member = assigned_member(world.wire, group, topic, 0)
    answer = member.rejoin_raw(protocols=(("range", subscription(topic)),))
    again = Member(world.wire, group, member.member_id, answer["generation_id"])
    again.sync([(again.member_id, assignment(topic, 0))])
    world.later(again.leave)
    return Subject(group=group)


@moment
def worker_of_kafka_connect(world: World) -> Subject:
    group = world.wire.fresh("connect")
    how: dict[str, Any] = {"protocol_type": "connect"}
    member = Member.joined(world.wire, group, protocols=(("sessioned", b"\0\2\0\1x"),), **how)
    given = b"\0\2\0\0\0\4host\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0"
    synced = member.sync([(member.member_id, given)], protocol_name="sessioned", **how)
    assert synced[0] == "NONE"
    world.later(member.leave)
    return Subject(group=group)


@moment
def committed_offset_of_a_topic_of_former_times(world: World) -> Subject:
    topic, former, group = (
        world.wire.filled_topic(3),
        world.wire.filled_topic(5),
        world.wire.fresh("g"),
    )
    world.wire.commit(group, former, 1)
    delete_records(world.wire, former, 4)
    member = assigned_member(world.wire, group, topic, 0)
    member.commit(topic, 3)
    world.later(member.leave)
    return Subject()


@moment
def group_that_was_left(world: World) -> Subject:
    topic, group = world.wire.filled_topic(2), world.wire.fresh("g")
    member = assigned_member(world.wire, group, topic, 0)
    member.commit(topic, 2)
    member.leave()
    return Subject(group=group)


@moment
def member_of_the_new_protocol(world: World) -> Subject:
    topic, group = world.wire.filled_topic(2), world.wire.fresh("g")
    member = Consumer(world.wire, group, "m", [topic])
    until(lambda: (member.beat() if member.epoch else member.join()) and member.owned, bool)
    world.later(member.leave)
    return Subject(group=group)


@moment
def two_members_of_the_new_protocol(world: World) -> Subject:
    topic, group = world.wire.topic(2), world.wire.fresh("g")
    members = [Consumer(world.wire, group, f"m{each}", [topic]) for each in range(2)]
    for each in members:
        each.join()
        world.later(each.leave)
    until(lambda: [each.report() and each.owned for each in members], all)
    return Subject(group=group)


@moment
def quota_that_nobody_exceeds(world: World) -> Subject:
    topic = world.wire.topic()
    with Client.to("{}:{}".format(*world.wire.address)) as client:
        who = {"client-id": world.wire.fresh("c")}
        alter_quotas(client, who, {"producer_byte_rate": 1e9})
    world.wire.produce(topic, batch([b"v"]))
    return Subject(topic)


@moment
def topic_that_was_made_again(world: World) -> Subject:
    topic = world.wire.filled_topic(1)
    world.wire.delete_topic(topic)
    until(lambda: world.wire.create_raw(topic)["error_code"], lambda code: code == 0)
    return Subject(topic)


@moment
def whole_cluster(world: World) -> Subject:
    return Subject()

"""The wall clock steps: members take no notice, and records carry what it shows."""

from __future__ import annotations

import pytest

from ottla.coordinator.group_records import GroupStored, OffsetCommitted
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import Expired
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import (
    REBALANCE_MS,
    Consumer,
    ConsumerTalk,
    FakeTopics,
    stable,
)
from tests.coordinator.consumer.conversation import SESSION_MS as CONSUMER_SESSION_MS
from tests.coordinator.group_conversation import (
    SESSION_MS,
    START_MS,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
)
from tests.coordinator.transactions.conversation import (
    SHOP,
    TIMEOUT_MS,
    begun,
    done,
    next_wall_deadline,
    told,
)

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
STEPS_MS = pytest.mark.parametrize("step_ms", [-DAY_MS, -HOUR_MS, HOUR_MS, 400 * DAY_MS])


@STEPS_MS
def test_a_step_of_the_wall_clock_does_not_expire_a_classic_member(step_ms: int) -> None:
    talk = GroupTalk()
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a, b)
    talk.pass_time(SESSION_MS - 1)
    talk.wall_step_ms = step_ms
    talk.pass_time(0)
    assert a.heartbeat() is Code.NONE
    talk.pass_time(1)
    assert [member.member_id for member, _ in talk.group.members] == [a.member_id], "b was silent"


@STEPS_MS
def test_a_step_of_the_wall_clock_does_not_expire_a_consumer_member(step_ms: int) -> None:
    talk = ConsumerTalk()
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    stable(a, b)
    talk.pass_time(CONSUMER_SESSION_MS - 1)
    talk.wall_step_ms = step_ms
    talk.pass_time(0)
    a.beat()
    talk.pass_time(1)
    assert list(talk.consumers.members) == ["a"]


@STEPS_MS
def test_a_step_of_the_wall_clock_does_not_change_the_revocation_timeout(step_ms: int) -> None:
    talk = ConsumerTalk()
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    b.join()
    a.beat()
    talk.wall_step_ms = step_ms
    for _ in range(3):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
        b.beat()
    assert set(talk.consumers.members) == {"a", "b"}
    talk.pass_time(REBALANCE_MS // 4)
    assert list(talk.consumers.members) == ["b"]


@STEPS_MS
def test_a_rebalance_takes_no_longer_than_its_timeout(step_ms: int, talk: GroupTalk) -> None:
    a, b = Client(talk, "a", session_ms=60_000), Client(talk, "b", session_ms=60_000)
    stable_group(talk, a, b)
    assert a.join() is None
    talk.wall_step_ms = step_ms
    talk.pass_time(a.rebalance_ms - 1)
    assert a.joined() is None, "it waits for b"
    talk.pass_time(1)
    assert a.joined() is not None


def test_records_have_the_time_of_the_wall(talk: GroupTalk) -> None:
    talk.wall_step_ms = HOUR_MS
    a = Client(talk, "a")
    joined_group(talk, a)
    a.sync({a: b""})
    a.commit(5)
    times = [
        record.current_state_timestamp_ms
        if isinstance(record, GroupStored)
        else record.commit_timestamp_ms
        for record, _ in talk.log
        if isinstance(record, GroupStored | OffsetCommitted)
    ]
    assert len(times) == 3
    assert set(times) == {START_MS + HOUR_MS}


def test_regular_expressions_are_resolved_though_the_clock_was_set_back() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1))
    a = Consumer(talk, "a")
    talk.wall_step_ms = DAY_MS
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    assert a.report() == {"orders": [0]}
    talk.wall_step_ms = 0
    assert a.report(subscribed_topic_regex="sto.*") == {}, "orders are given up"
    talk.pass_time()
    assert a.report() == {"stock": [0]}


INTERVAL_MS = 10_000


def transactions(expiration_check_interval_ms: int = 1) -> Transactions:
    return Transactions(
        next_producer_id=lambda: 7,
        transactional_id_expiration_ms=7 * DAY_MS,
        timeout_check_interval_ms=INTERVAL_MS,
        expiration_check_interval_ms=expiration_check_interval_ms,
    )


def test_a_transaction_past_its_timeout_is_found_soon_after_the_wall_clock_was_set_right() -> None:
    """While it is back in time nothing is due, and the coordinator looks again by and by."""
    machine = transactions()
    begun(machine, now_ms=DAY_MS)
    set_back = Moment(wall_ms=DAY_MS - HOUR_MS, monotonic_ms=5)
    assert list(machine.tick(set_back)) == []
    assert machine.next_deadline(set_back) == 5 + INTERVAL_MS
    set_right = Moment(wall_ms=DAY_MS + TIMEOUT_MS, monotonic_ms=5 + INTERVAL_MS)
    assert machine.next_deadline(set_right) == set_right.monotonic_ms
    assert len(list(machine.tick(set_right))) == 1


def test_the_deadline_of_a_transaction_follows_the_wall() -> None:
    machine = transactions()
    begun(machine, now_ms=0)
    assert machine.next_deadline(Moment(TIMEOUT_MS - 3_000, 17)) == 17 + 3_000
    assert machine.next_deadline(Moment(TIMEOUT_MS + DAY_MS, 17)) == 17


def test_unused_ids_are_forgotten_when_it_is_looked_for_them() -> None:
    """transaction.remove.expired.transaction.cleanup.interval.ms: until then they can be used."""
    machine = transactions(HOUR_MS)
    shop = begun(machine, now_ms=1)
    done(machine, machine.end(SHOP, shop, commit=True, now_ms=1), now_ms=1)
    looks_ms = 7 * DAY_MS + HOUR_MS
    assert next_wall_deadline(machine) == looks_ms
    assert list(machine.tick(Moment(looks_ms - 1, 0))) == []
    told(machine, machine.add_partitions(SHOP, shop, (), now_ms=looks_ms - 1))
    done(machine, machine.end(SHOP, shop, commit=True, now_ms=1), now_ms=1)
    (forgotten,) = machine.tick(Moment(looks_ms, 0))
    assert forgotten == Outcome(None, (Expired(SHOP),), is_atomic=False)


def test_an_id_last_used_in_the_future_does_not_keep_the_others() -> None:
    """The wall clock was wrong for a while."""
    machine = transactions()
    for name, now_ms in (("a", 400 * DAY_MS), ("b", 0), ("c", HOUR_MS)):
        told(machine, machine.init_producer_id(name, timeout_ms=1_000, now_ms=now_ms))
    (forgotten,) = machine.tick(Moment(7 * DAY_MS + HOUR_MS, 0))
    assert forgotten.records == (Expired("b"), Expired("c"))

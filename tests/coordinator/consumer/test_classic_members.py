"""Members of the classic protocol in consumer groups, and groups that change their kind.

The expected answers are those of Apache Kafka 4.1.1 to the same requests.
"""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.classic.requests import JoinReply, LeavingMember
from ottla.coordinator.consumer.classic_protocol import read_assignment, write_assignment
from ottla.coordinator.consumer.records import TargetMember
from ottla.coordinator.groups import ClaimedMember
from ottla.protocol.errors import Code, Malformed
from ottla.protocol.messages import encode_data
from tests.coordinator.consumer.classic_conversation import Classic, classic_group
from tests.coordinator.consumer.conversation import (
    Consumer,
    ConsumerTalk,
    FakeTopics,
    settle,
    stable,
)
from tests.coordinator.group_conversation import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    subscription,
)

# ---- in a consumer group


def test_a_classic_member_is_let_into_a_consumer_group() -> None:
    talk = ConsumerTalk(FakeTopics(orders=4))
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    assert m.join() is Code.NONE
    assert m.generation_id == 3
    assert m.take() == {}
    assert m.heartbeat() is Code.NONE
    a.beat()
    assert m.heartbeat() is Code.NONE, "what it is to have is not free yet"
    a.report()
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert m.rejoin() is Code.NONE
    assert m.take() == {"orders": [2, 3]}
    assert m.heartbeat() is Code.NONE
    assert talk.epochs == ("Stable", 3, 3)


def test_a_classic_member_without_an_id_gets_one_at_once(talk: ConsumerTalk) -> None:
    Consumer(talk, "a").join()
    m = Classic(talk, "m")
    assert m.ask_for_id() is Code.MEMBER_ID_REQUIRED
    reply = m._join()
    assert isinstance(reply, JoinReply)
    assert (reply.leader, reply.members, reply.protocol) == ("", (), "range")
    old = Classic(talk, "old", version=3)
    assert old.join() is Code.NONE


def test_a_classic_member_need_not_rejoin_before_there_is_a_new_target() -> None:
    """As in Kafka 4.4; the next heartbeat of another member makes the target."""
    talk = ConsumerTalk(FakeTopics(orders=3))
    a, b, m = Consumer(talk, "a"), Consumer(talk, "b"), Classic(talk, "m")
    a.join()
    b.join()
    m.join()
    m.take()
    b.leave()
    assert talk.epochs == ("Assigning", 5, 4)
    assert m.heartbeat() is Code.NONE
    assert m.take() == {}
    a.beat()
    assert talk.epochs[1:] == (5, 5)
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert m.sync() is Code.REBALANCE_IN_PROGRESS


def test_a_classic_member_must_rejoin_when_the_group_epoch_rises() -> None:
    talk = ConsumerTalk(FakeTopics(orders=6))
    a, b, m = Consumer(talk, "a"), Consumer(talk, "b"), Classic(talk, "m")
    a.join()
    m.join()
    a.beat()
    a.report()
    m.rejoin()
    m.take()
    b.join()
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert m.sync() is Code.REBALANCE_IN_PROGRESS
    assert m.rejoin() is Code.NONE
    assert m.generation_id == 3, "it has something to give up first"
    m.take()
    assert len(m.owned["orders"]) == 2
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert m.rejoin() is Code.NONE
    assert m.generation_id == 4
    assert m.take() == m.owned
    settle(a, b)
    assert sorted(i for x in (a, b, m) for i in x.owned["orders"]) == [0, 1, 2, 3, 4, 5]


def test_requests_of_strangers_and_of_other_generations_are_refused(talk: ConsumerTalk) -> None:
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    m.join()
    m.generation_id = 10
    assert (m.heartbeat(), m.sync()) == (Code.ILLEGAL_GENERATION, Code.ILLEGAL_GENERATION)
    m.member_id = "a"
    assert (m.heartbeat(), m.sync()) == (Code.UNKNOWN_MEMBER_ID, Code.UNKNOWN_MEMBER_ID)
    m.member_id = "x"
    assert (m.heartbeat(), m.sync()) == (Code.UNKNOWN_MEMBER_ID, Code.UNKNOWN_MEMBER_ID)


def test_protocols_have_to_fit(talk: ConsumerTalk) -> None:
    Consumer(talk, "a").join()
    m = Classic(talk, "m")
    assert m.join() is Code.NONE
    assert m.sync(protocol="sticky") is Code.INCONSISTENT_GROUP_PROTOCOL
    m.protocol_type = "connect"
    assert m.sync() is Code.INCONSISTENT_GROUP_PROTOCOL
    assert Classic(talk, "c", protocol_type="connect").join() is Code.INCONSISTENT_GROUP_PROTOCOL
    other = Classic(talk, "o", protocols=(("sticky", subscription("orders")),))
    assert other.join() is Code.INCONSISTENT_GROUP_PROTOCOL
    broken = Classic(talk, "b", protocols=(("range", b"\0"),))
    assert broken.join() is Code.INCONSISTENT_GROUP_PROTOCOL
    assert Classic(talk, "s", session_ms=1).join() is Code.INVALID_SESSION_TIMEOUT


def test_a_full_group_takes_no_classic_member() -> None:
    talk = ConsumerTalk(consumer={"max_size": 1})
    Consumer(talk, "a").join()
    assert Classic(talk, "m").join() is Code.GROUP_MAX_SIZE_REACHED


def test_a_classic_member_has_its_own_session(talk: ConsumerTalk) -> None:
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    m.join()
    m.take()
    talk.pass_time(SESSION_MS)
    assert m.heartbeat() is Code.UNKNOWN_MEMBER_ID
    assert list(talk.consumers.members) == ["a"]


@pytest.mark.parametrize("syncs", [False, True])
def test_a_classic_member_that_does_not_go_on_is_fenced(syncs: bool) -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, m = Consumer(talk, "a"), Classic(talk, "m", session_ms=1_000_000)
    a.join()
    m.join()
    if syncs:
        m.take()
        a.beat()
        a.report()
        assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    for _ in range(4):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
    assert list(talk.consumers.members) == ["a"]


def test_a_member_under_a_reused_id_has_no_pending_sync(talk: ConsumerTalk) -> None:
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    m.join()
    m.leave()
    again = Consumer(talk, m.member_id)
    again.join()
    for _ in range(5):
        talk.pass_time(REBALANCE_MS // 4)
        assert again.beat() is not Code.UNKNOWN_MEMBER_ID, "nobody waits for its SyncGroup"


def test_leave_group_removes_members_of_both_protocols(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b", instance="i")
    stable(a, b)
    leaving = [
        LeavingMember("x"),
        LeavingMember("a"),
        LeavingMember("x", "i"),
        LeavingMember("", "i"),
        LeavingMember("", "k"),
    ]
    codes = talk.told(talk.machine.leave(GROUP, leaving, now=talk.now))
    unknown = Code.UNKNOWN_MEMBER_ID
    assert codes == (unknown, Code.NONE, Code.FENCED_INSTANCE_ID, Code.NONE, unknown)
    assert talk.epochs == ("Empty", 4, 4), "one step for all"


def test_offsets_of_subscribed_topics_are_not_deleted() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1))
    a = Consumer(talk, "a")
    a.join()
    talk.commit(1, ClaimedMember("a", 2), topic="stock")
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0), ("stock", 0)])
    assert talk.told(outcome) == (Code.GROUP_SUBSCRIBED_TO_TOPIC, Code.NONE)
    assert talk.offset("stock") == -1


# ---- from classic to consumer


def test_the_first_consumer_takes_over_a_classic_group() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    m = classic_group(talk, {"orders": [0, 1]})
    a = Consumer(talk, "a")
    assert a.beat(epoch=2) is Code.GROUP_ID_NOT_FOUND
    assert a.join() == {}
    assert talk.epochs == ("Reconciling", 2, 2)
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert m.rejoin() is Code.NONE
    m.take()
    assert m.rejoin() is Code.NONE
    m.take()
    assert a.report() == {"orders": [1]}
    assert (m.owned, m.generation_id, m.heartbeat()) == ({"orders": [0]}, 2, Code.NONE)
    talk.restart()
    assert talk.epochs == ("Stable", 2, 2)
    assert (a.report(), m.heartbeat()) == (None, Code.NONE)


@pytest.mark.parametrize("topics", [("orders",), ("orders", "stock")])
def test_partitions_missing_from_a_recreated_topic_are_unassigned(topics: Any) -> None:
    talk = ConsumerTalk(FakeTopics(orders=6, stock=1))
    m = classic_group(talk, {"orders": [3, 4, 5]})
    talk.topics.delete("orders")
    talk.topics.make("orders", 4)
    a = Consumer(talk, "a", *topics)
    assert isinstance(a.join(), dict)
    shared = sorted(i for target in talk.targets.values() for i in target.get("orders", []))
    assert shared == [0, 1, 2, 3]
    assert talk.topics.named(talk.consumers.members[m.member_id].assigned) == {"orders": [3]}


@pytest.mark.parametrize("topics", [("orders",), ("orders", "stock")])
def test_a_target_in_the_log_may_have_partitions_that_do_not_exist(topics: Any) -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, stock=1))
    a, b = Consumer(talk, "a"), Consumer(talk, "b", *topics)
    a.join()
    talk.machine.replay(TargetMember(GROUP, "a", talk.topics.by_ids({"orders": [1, 2, 3]})))
    assert isinstance(b.join(), dict)
    shared = sorted(i for target in talk.targets.values() for i in target.get("orders", []))
    assert shared == [0, 1]


def test_members_waiting_in_a_rebalance_must_rejoin_after_the_upgrade(talk: ConsumerTalk) -> None:
    m, n = Classic(talk, "m"), Classic(talk, "n", version=3)
    m.join()
    talk.pass_time()
    m.joined()
    assert n.join() is None
    Consumer(talk, "a").join()
    reply = n.joined()
    assert reply is not None
    assert reply.error is Code.REBALANCE_IN_PROGRESS

    talk = ConsumerTalk()
    m, n = Classic(talk, "m"), Classic(talk, "n")
    for client in (m, n):
        client.join()
    talk.pass_time()
    for client in (m, n):
        client.joined()
    assert n.sync() is None
    Consumer(talk, "a").join()
    assert n.synced() is Code.REBALANCE_IN_PROGRESS
    assert sorted(talk.consumers.members) == sorted(["a", m.member_id, n.member_id])


def test_sessions_of_classic_members_go_on() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    m = classic_group(talk, {"orders": [0, 1]})
    Consumer(talk, "a").join()
    talk.pass_time(SESSION_MS)
    assert list(talk.consumers.members) == ["a"]
    assert m.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_an_empty_classic_group_is_simply_replaced(talk: ConsumerTalk) -> None:
    talk.commit(7)
    assert Consumer(talk, "a").join() != {}
    assert talk.offset() == 7
    talk.restart()
    assert talk.machine.kind_name_of(GROUP) == "consumer"
    assert talk.offset() == 7


REFUSED: dict[str, dict[str, Any]] = {
    "policy": {"consumer": {"may_upgrade": False}},
    "size": {"consumer": {"max_size": 0}},
    "connect": {},
    "unreadable": {},
    "custom": {},
}


@pytest.mark.parametrize("why", REFUSED)
def test_some_classic_groups_cannot_be_taken_over(why: str) -> None:
    talk = ConsumerTalk(**REFUSED[why])
    kind = "connect" if why == "connect" else "consumer"
    metadata = b"\0" if why == "unreadable" else subscription("orders")
    m = Classic(talk, "m", protocol_type=kind, protocols=(("range", metadata),))
    m.join()
    talk.pass_time()
    m.joined()
    custom = encode_data(
        "ConsumerProtocolAssignment", 0, {"assigned_partitions": [], "user_data": b"x"}
    )
    m.sync({m: custom if why == "custom" else b""})
    logged = len(talk.log)
    assert Consumer(talk, "a").join() is Code.GROUP_ID_NOT_FOUND
    assert (len(talk.log), m.heartbeat()) == (logged, Code.NONE)


# ---- from consumer to classic


@pytest.mark.parametrize("how", ["leaves", "is not heard of"])
def test_when_the_last_consumer_goes_the_group_is_classic_again(how: str) -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, m = Consumer(talk, "a"), Classic(talk, "m", session_ms=1_000_000)
    a.join()
    m.join()
    m.take()
    if how == "leaves":
        a.leave()
    else:
        for _ in range(5):
            talk.pass_time(9_000)
    assert talk.machine.kind_name_of(GROUP) != "consumer"
    assert (talk.state, m.heartbeat()) == ("PreparingRebalance", Code.REBALANCE_IN_PROGRESS)
    reply = m._join()
    assert isinstance(reply, JoinReply)
    assert (reply.generation_id, reply.leader) == (4, m.member_id)
    m.generation_id = 4
    assert m.sync({m: b"x"}) == b"x"
    assert talk.state == "Stable"


def test_after_a_restart_the_group_is_classic_too() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    m.join()
    m.take()
    a.leave()
    talk.restart()
    assert talk.state == "Stable"
    described = talk.group
    assert [member.member_id for member, _ in described.members] == [m.member_id]
    assignment, _ = read_assignment(described.members[0][0].assignment, talk.topics)
    assert talk.topics.named(assignment) == {"orders": [1]}
    assert m.heartbeat() is Code.NONE, "its generation is the epoch that the group had"


@pytest.mark.parametrize("why", ["policy", "size"])
def test_some_consumer_groups_cannot_be_downgraded(why: str) -> None:
    limits: dict[str, Any] = {"consumer": {"may_downgrade": False}}
    if why == "size":
        limits = {"max_size": 1}
    talk = ConsumerTalk(**limits)
    a = Consumer(talk, "a")
    a.join()
    for name in ("m", "n"):
        Classic(talk, name).join()
    a.leave()
    assert talk.machine.kind_name_of(GROUP) == "consumer"
    assert len(talk.consumers.members) == 2


def test_a_group_of_just_the_largest_size_becomes_classic() -> None:
    talk = ConsumerTalk(max_size=2)
    a = Consumer(talk, "a")
    a.join()
    for name in ("m", "n"):
        Classic(talk, name).join()
    a.leave()
    assert talk.machine.kind_name_of(GROUP) != "consumer"
    assert len(talk.group.members) == 2


@pytest.mark.parametrize("largest", [{}, {"max_size": 1}], ids=["of any size", "of one member"])
def test_a_static_classic_member_replaces_the_last_consumer(largest: dict[str, Any]) -> None:
    talk = ConsumerTalk(FakeTopics(orders=2), **largest)
    a = Consumer(talk, "a", instance="i")
    a.join()
    m = Classic(talk, "m", instance="i")
    assert m.join() is Code.NONE
    assert talk.machine.kind_name_of(GROUP) != "consumer"
    assert talk.state == "Stable"
    assert a.beat() is Code.GROUP_ID_NOT_FOUND
    assert m.heartbeat() is Code.NONE


def test_with_another_subscription_it_has_to_join_again() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, stock=1))
    Consumer(talk, "a", instance="i").join()
    m = Classic(talk, "m", instance="i", protocols=(("range", subscription("stock")),))
    assert m.join() is Code.NONE
    assert talk.state == "PreparingRebalance"


def test_a_static_classic_member_is_replaced_in_a_consumer_group() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, m = Consumer(talk, "a"), Classic(talk, "m", instance="j")
    a.join()
    m.join()
    m.take()
    again = Classic(talk, "n", instance="j")
    assert again.join() is Code.NONE
    assert m.heartbeat() is Code.FENCED_INSTANCE_ID
    assert m.join() is Code.FENCED_INSTANCE_ID
    assert again.take() == {}
    assert len(talk.consumers.members) == 2


def test_an_empty_consumer_group_becomes_classic_at_a_classic_join(talk: ConsumerTalk) -> None:
    a = Consumer(talk, "a")
    a.join()
    talk.commit(3, ClaimedMember("a", 2))
    a.leave()
    m = Classic(talk, "m")
    m.join()
    talk.pass_time()
    assert talk.state == "CompletingRebalance"
    assert talk.offset() == 3
    talk.restart()
    assert talk.machine.kind_name_of(GROUP) != "consumer"
    assert talk.offset() == 3


def test_bytes_that_are_no_assignment_are_malformed() -> None:
    topics = FakeTopics(orders=1)
    for data in (b"\0", b"\xff\xff\0\0", b"\0\0\0\0\0\x01"):
        with pytest.raises(Malformed):
            read_assignment(data, topics)
    assert read_assignment(b"", topics) == ({}, False)
    newer = write_assignment(topics.by_ids({"orders": [0]}), topics, version=3)
    assert read_assignment(b"\0\x09" + newer[2:], topics)[0] == topics.by_ids({"orders": [0]})


def told_to_rejoin() -> tuple[ConsumerTalk, Consumer, Classic]:
    """A classic member, for which something has become free."""
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, m = Consumer(talk, "a"), Classic(talk, "m", session_ms=1_000_000)
    a.join()
    m.join()
    m.take()
    a.beat()
    a.report()
    assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    return talk, a, m


def test_heartbeats_do_not_put_off_the_time_to_join_again() -> None:
    talk, a, m = told_to_rejoin()
    for _ in range(3):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
        assert m.heartbeat() is Code.REBALANCE_IN_PROGRESS
    talk.pass_time(REBALANCE_MS // 4)
    assert m.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_a_rejoined_member_is_not_waited_for() -> None:
    talk, a, m = told_to_rejoin()
    m.rejoin()
    m.take()
    for _ in range(5):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
        assert m.heartbeat() is Code.NONE


def test_the_downgraded_group_keeps_subscriptions_and_timeouts() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    Consumer(talk, "a", instance="i").join()
    m = Classic(talk, "m", instance="i")
    m.join()
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0), ("stock", 0)])
    assert outcome.reply == (Code.GROUP_SUBSCRIBED_TO_TOPIC, Code.NONE)
    talk.pass_time(SESSION_MS)
    assert m.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_a_commit_of_an_unknown_member_is_refused_in_an_empty_group_too(talk: ConsumerTalk) -> None:
    a = Consumer(talk, "a")
    a.join()
    a.leave()
    assert talk.commit(1, ClaimedMember("a", 2)) is Code.UNKNOWN_MEMBER_ID


def test_a_group_is_replaced_even_if_the_log_refused_its_last_leave() -> None:
    talk = ConsumerTalk(initial_rebalance_delay_ms=3_000)
    old = Client(talk, "old")
    assert old.join() is None
    assert old.leave() is Code.NONE
    talk.now_ms += 2 * SESSION_MS
    emptied = [outcome for outcome in talk.machine.tick(talk.now) if outcome.records]
    assert emptied, "which nobody appends: too few replicas are in sync"
    assert talk.state == "PreparingRebalance"
    Consumer(talk, "new").join()
    assert list(talk.consumers.members) == ["new"]

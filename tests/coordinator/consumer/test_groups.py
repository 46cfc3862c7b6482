"""ConsumerGroupHeartbeat (68): joining, sharing, leaving, epochs and limits.

The expected answers are those of Apache Kafka 4.1.1 to the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from ottla.coordinator.consumer.assignors import plus
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.member import ConsumerMember
from ottla.coordinator.consumer.reconcile import reconciled
from ottla.coordinator.consumer.records import CurrentMember
from ottla.coordinator.consumer.requests import GroupLimits
from ottla.coordinator.modern_groups import MemberState
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import (
    REBALANCE_MS,
    Consumer,
    ConsumerTalk,
    FakeTopics,
    settle,
    stable,
)
from tests.coordinator.group_conversation import GROUP, GroupTalk

ALL = {"orders": [0, 1, 2, 3, 4, 5]}


def test_the_first_member_gets_everything_at_once(talk: ConsumerTalk, a: Consumer) -> None:
    assert a.join() == ALL
    assert (a.epoch, talk.epochs) == (2, ("Stable", 2, 2))
    assert a.reply is not None
    assert a.reply.heartbeat_interval_ms == 5_000


def test_a_heartbeat_without_a_change_logs_nothing_and_returns_no_assignment() -> None:
    talk = ConsumerTalk()
    a = Consumer(talk, "a")
    a.join()
    logged = len(talk.log)
    assert (a.beat(), a.report(), len(talk.log)) == (None, None, logged)


def test_a_full_heartbeat_gets_a_full_answer(talk: ConsumerTalk, a: Consumer) -> None:
    a.join()
    everything: dict[str, Any] = {
        "rebalance_timeout_ms": REBALANCE_MS,
        "subscribed_topic_names": a.topics,
    }
    assert a.report(**everything) == ALL
    assert a.beat(**everything) is None, "what it owns is missing"


def test_a_member_keeps_its_epoch_until_it_has_revoked_its_partitions(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    assert b.join() == {}, "everything is still in the hands of the first"
    assert (b.epoch, talk.epochs) == (3, ("Reconciling", 3, 3))
    assert a.beat() == {"orders": [0, 1, 2]}
    assert a.epoch == 2
    assert talk.consumers.members["a"].state is MemberState.UNREVOKED
    assert (a.beat(), a.beat(owned=ALL)) == (None, None), "it has not let go"
    assert b.beat() is None
    assert a.report() is None
    assert a.epoch == 3
    assert b.beat() == {"orders": [3, 4, 5]}
    assert talk.epochs == ("Stable", 3, 3)


def test_a_member_that_has_more_to_give_up_keeps_its_epoch(talk: ConsumerTalk) -> None:
    a, b, c = (Consumer(talk, name) for name in "abc")
    a.join()
    b.join()
    a.beat()
    c.join()
    assert a.report() == {"orders": [0, 1]}
    assert (a.epoch, talk.consumers.epoch) == (2, 4)
    assert a.report() is None
    assert a.epoch == 4


@pytest.mark.parametrize("held", ["orders", "stock"])
def test_a_member_waits_as_long_as_one_topic_is_held_by_others(held: str) -> None:
    topics = FakeTopics(orders=1, stock=1)
    target = topics.by_ids({"orders": [0], "stock": [0]})
    member = reconciled(
        ConsumerMember("a"),
        target,
        1,
        owned={},
        partition_epochs=lambda topic_id: (
            {0: 1} if topics.named({topic_id: frozenset({0})}).get(held) else {}
        ),
        is_subscribed=lambda _: True,
    )
    assert member.state is MemberState.UNRELEASED
    assert topics.named(member.assigned).keys() == {"orders", "stock"} - {held}


def test_the_owners_of_a_topic_are_looked_up_once_for_all_of_its_partitions() -> None:
    topics = FakeTopics(orders=1000)
    asked: list[UUID] = []

    def partition_epochs(topic_id: UUID) -> dict[int, int]:
        asked.append(topic_id)
        return {7: 1, 8: -1}

    target = topics.by_ids({"orders": range(1000)})
    member = reconciled(
        ConsumerMember("a"),
        target,
        1,
        owned={},
        partition_epochs=partition_epochs,
        is_subscribed=lambda _: True,
    )
    assert asked == [*target]
    assert topics.named(member.assigned) == {"orders": [*range(7), *range(8, 1000)]}


def test_partitions_are_added_to_their_topics_in_any_order() -> None:
    first, other = UUID(int=1), UUID(int=2)
    before = {first: frozenset({9})}
    added = plus(before, [(first, 0), (other, 0), (first, 1), (first, 2), (other, 5)])
    assert added == {first: frozenset({9, 0, 1, 2}), other: frozenset({0, 5})}
    assert before == {first: frozenset({9})}


def test_the_third_member_takes_one_from_each(talk: ConsumerTalk) -> None:
    """What librdkafka's own tests want to see of the uniform assignor."""
    a, b, c = (Consumer(talk, name) for name in "abc")
    stable(a, b, c)
    assert talk.targets == {
        "a": {"orders": [0, 1]},
        "b": {"orders": [3, 4]},
        "c": {"orders": [2, 5]},
    }
    assert (a.owned, b.owned, c.owned) == tuple(talk.targets.values())


def test_partitions_of_a_leaving_member_go_to_the_others_at_their_next_heartbeats() -> None:
    talk = ConsumerTalk()
    a, b, c = (Consumer(talk, name) for name in "abc")
    stable(a, b, c)
    assert b.leave() is None
    assert b.reply is not None
    assert b.reply.member_epoch == -1
    assert talk.epochs == ("Assigning", 5, 4)
    settle(a, c)
    assert {len(a.owned["orders"]), len(c.owned["orders"])} == {3}
    assert b.beat(epoch=4) is Code.UNKNOWN_MEMBER_ID


def test_an_empty_group_keeps_its_epoch(talk: ConsumerTalk, a: Consumer) -> None:
    a.join()
    a.leave()
    assert talk.epochs == ("Empty", 3, 3)
    assert a.join() == ALL
    assert talk.epochs == ("Stable", 4, 4)


def test_a_repeated_heartbeat_gets_a_lost_answer_again(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    b.join()
    a.beat()
    a.report()
    assert a.beat(epoch=2, owned={"orders": [0, 1, 2]}) is None
    assert a.epoch == 3
    assert a.beat(epoch=2) is Code.FENCED_MEMBER_EPOCH, "it does not say what it has"
    assert a.beat(epoch=2, owned=ALL) is Code.FENCED_MEMBER_EPOCH, "it has too much"
    assert a.beat(epoch=2, owned={"returns": [0]}) is Code.FENCED_MEMBER_EPOCH


def test_only_the_epoch_right_before_is_forgiven(talk: ConsumerTalk) -> None:
    a, b, c = (Consumer(talk, name) for name in "abc")
    stable(a, b)
    c.join()
    settle(a, b, c)
    assert a.epoch == 4
    assert a.beat(epoch=2, owned={}) is Code.FENCED_MEMBER_EPOCH
    assert a.beat(epoch=3, owned={}) is None


@pytest.mark.parametrize("epoch", [1, 2, 4, 100])
def test_an_epoch_that_is_not_the_members_is_fenced(epoch: int, talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    b.join()
    assert b.beat(epoch=epoch) is Code.FENCED_MEMBER_EPOCH


def test_a_heartbeat_of_an_unknown_member_is_refused(talk: ConsumerTalk) -> None:
    nobody = Consumer(talk, "x")
    assert nobody.beat(epoch=2) is Code.GROUP_ID_NOT_FOUND
    assert nobody.leave() is Code.GROUP_ID_NOT_FOUND
    Consumer(talk, "a").join()
    assert nobody.beat(epoch=2) is Code.UNKNOWN_MEMBER_ID
    assert nobody.leave() is Code.UNKNOWN_MEMBER_ID
    assert Consumer(talk, "a", instance="i").beat(epoch=2) is Code.UNKNOWN_MEMBER_ID


WRONG: list[tuple[str, Callable[[Consumer], Any]]] = [
    ("no member id", lambda m: Consumer(m.talk, "").join()),
    ("no group id", lambda m: Consumer(m.talk, "a", group=" ").join()),
    ("an empty instance", lambda m: Consumer(m.talk, "a", instance="").join()),
    ("an empty rack", lambda m: m.join(rack_id="")),
    ("no timeout", lambda m: m.join(rebalance_timeout_ms=-1)),
    ("unsaid partitions", lambda m: m.join(owned=None)),
    ("partitions", lambda m: m.join(owned=ALL)),
    ("no subscription", lambda m: m.join(subscribed_topic_names=None)),
    ("an epoch below -2", lambda m: m.beat(epoch=-3)),
    ("a while without an instance", lambda m: m.leave(for_a_while=True)),
]


@pytest.mark.parametrize(("what", "ask"), WRONG, ids=[what for what, _ in WRONG])
def test_a_request_that_makes_no_sense_is_refused(
    what: str, ask: Callable[[Consumer], Any], talk: ConsumerTalk
) -> None:
    assert ask(Consumer(talk, "a")) is Code.INVALID_REQUEST
    assert not talk.log, "nothing has changed"


def test_before_version_1_the_id_may_come_from_the_broker(talk: ConsumerTalk) -> None:
    a = Consumer(talk, "")
    assert a.beat(epoch=4, requires_member_id=False) is Code.INVALID_REQUEST
    assert a.beat(epoch=-1, requires_member_id=False) is Code.INVALID_REQUEST
    assert a.beat(epoch=-2, requires_member_id=False) is Code.INVALID_REQUEST, "no instance"


def test_an_unknown_assignor_is_refused() -> None:
    talk = ConsumerTalk(consumer={"assignors": ("range",)})
    a = Consumer(talk, "a")
    assert a.join(server_assignor="uniform") is Code.UNSUPPORTED_ASSIGNOR
    assert a.join(server_assignor="range") == ALL


def test_the_assignor_that_most_members_want_assigns(talk: ConsumerTalk) -> None:
    a, b, c = (Consumer(talk, name) for name in "abc")
    a.join(server_assignor="range")
    b.join(server_assignor="range")
    c.join(server_assignor="uniform")
    assert talk.consumers.assignor("uniform") == "range"
    assert talk.targets["a"] == {"orders": [0, 1]}
    b.beat(server_assignor="uniform")
    assert talk.consumers.assignor("range") == "uniform"


def test_the_last_named_of_two_assignors_wins() -> None:
    """As in Kafka; the next time, nothing having changed, it is the other one that is shown."""
    talk = ConsumerTalk(FakeTopics(orders=3))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(server_assignor="uniform")
    b.join(server_assignor="range")
    assert talk.targets == {"a": {"orders": [0, 1]}, "b": {"orders": [2]}}
    assert talk.consumers.assignor("range") == "uniform"


def test_heartbeats_of_the_last_named_of_two_assignors_raise_the_epoch() -> None:
    """As in Kafka 4.4, as long as as many members name the one as the other."""
    talk = ConsumerTalk(FakeTopics(orders=3))
    a, b, c = (Consumer(talk, name) for name in "abc")
    a.join(server_assignor="uniform")
    b.join(server_assignor="range")
    epoch = talk.consumers.epoch
    a.beat()
    assert talk.consumers.epoch == epoch
    b.beat()
    b.beat()
    assert talk.consumers.epoch == epoch + 2
    c.join(server_assignor="range")
    b.beat()
    assert talk.consumers.epoch == epoch + 3


def test_they_raise_it_also_if_the_member_has_all_of_its_target() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(server_assignor="uniform")
    b.join(server_assignor="range")
    for beats in (1, 2):
        assert talk.consumers.members["b"].is_reconciled_to(talk.consumers.target_epoch)
        epoch = talk.consumers.epoch
        b.beat()
        assert talk.consumers.epoch == epoch + 1, beats


def test_a_full_group_accepts_no_further_member() -> None:
    talk = ConsumerTalk(consumer={"max_size": 1})
    a = Consumer(talk, "a")
    a.join()
    assert Consumer(talk, "b").join() is Code.GROUP_MAX_SIZE_REACHED
    assert a.beat() is None


def test_a_group_has_limits_of_its_own(talk: ConsumerTalk) -> None:
    talk.limits[GROUP] = GroupLimits(50_000, 7_000, assignment_interval_ms=0)
    a = Consumer(talk, "a")
    a.join()
    assert a.reply is not None
    assert a.reply.heartbeat_interval_ms == 7_000
    talk.pass_time(49_999)
    assert "a" in talk.consumers.members
    talk.pass_time(1)
    assert "a" not in talk.consumers.members


def test_members_get_partitions_of_their_own_subscriptions_only() -> None:
    talk = ConsumerTalk(FakeTopics(orders=4, stock=2))
    a, b = Consumer(talk, "a", "orders", "stock"), Consumer(talk, "b", "orders")
    stable(a, b)
    assert a.owned["stock"] == [0, 1]
    assert b.owned.keys() == {"orders"}
    assert len(b.owned["orders"]) == 3


def test_a_subscription_may_change() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, stock=2))
    a = Consumer(talk, "a", "orders")
    a.join()
    assert a.report(subscribed_topic_names=frozenset({"stock"})) == {}
    assert a.epoch == 2, "it has not given up the old ones yet"
    assert a.report() == {"stock": [0, 1]}
    assert talk.epochs == ("Stable", 3, 3)
    assert a.report(subscribed_topic_names=frozenset()) == {}
    settle(a)
    assert a.owned == {}


def test_a_change_without_effect_on_the_assignment_keeps_the_group_epoch() -> None:
    talk = ConsumerTalk()
    a = Consumer(talk, "a")
    a.join()
    logged = len(talk.log)
    assert a.beat(rack_id="r", client_id="other", rebalance_timeout_ms=1) is None
    assert len(talk.log) == logged + 1
    assert talk.epochs == ("Stable", 2, 2)


def test_a_restart_finds_the_group_as_it_was(talk: ConsumerTalk) -> None:
    a, b, c = (Consumer(talk, name) for name in "abc")
    stable(a, b)
    c.join()
    before = talk.machine.kind(ConsumerKind).describe(GROUP)
    talk.restart()
    assert talk.machine.kind(ConsumerKind).describe(GROUP) == before
    settle(a, b, c)
    assert sorted(i for m in (a, b, c) for i in m.owned["orders"]) == [0, 1, 2, 3, 4, 5]


def test_a_member_in_a_state_of_the_future_starts_anew(talk: ConsumerTalk, a: Consumer) -> None:
    a.join()
    member = talk.consumers.members["a"]
    strange = CurrentMember(
        GROUP, "a", member.member_epoch, 0, MemberState(99), member.assigned, {}
    )
    assert strange.state is MemberState.UNKNOWN
    talk.machine.replay(strange)
    assert a.report() is Code.FENCED_MEMBER_EPOCH
    assert a.beat(owned={}) is None
    assert talk.consumers.members["a"].state is MemberState.STABLE


def test_views_distinguish_both_kinds_of_groups(talk: ConsumerTalk) -> None:
    talk.commit(1)
    assert [each.group_type for each in talk.machine.list_groups()] == ["classic"]
    with pytest.raises(Refused, match="is not a consumer group"):
        talk.machine.kind(ConsumerKind).describe(GROUP)
    Consumer(talk, "a").join()
    (listed,) = talk.machine.list_groups(states={"stable"}, types={"consumer"})
    assert (listed.group_type, listed.protocol_type) == ("consumer", "consumer")
    assert talk.machine.list_groups(types={"classic"}) == []
    assert talk.machine.list_groups(states={"empty"}) == []
    assert talk.machine.describe(GROUP) is None
    assert talk.machine.kind_name_of(GROUP) == "consumer"
    with pytest.raises(Refused, match="GROUP_ID_NOT_FOUND"):
        talk.machine.kind(ConsumerKind).describe("other")
    with pytest.raises(Refused, match="INVALID_GROUP_ID"):
        talk.machine.kind(ConsumerKind).describe("")


def test_a_group_is_deleted_when_it_is_empty(talk: ConsumerTalk, a: Consumer) -> None:
    a.join()
    talk.commit(1)
    assert talk.machine.delete([GROUP]).reply == {GROUP: Code.NON_EMPTY_GROUP}
    a.leave()
    assert talk.commit(5) is Code.NONE
    talk.told(talk.machine.delete([GROUP]))
    assert talk.machine.kind_name_of(GROUP) != "consumer"
    assert talk.offset() == -1
    talk.restart()
    assert talk.machine.list_groups() == []


def test_the_talk_of_classic_groups_knows_no_topics() -> None:
    """A coordinator without topics still serves consumer groups, with nothing to assign."""
    talk = GroupTalk()
    request = Consumer(ConsumerTalk(), "a").request(
        0, subscribed_topic_names=frozenset({"orders"}), rebalance_timeout_ms=1, owned={}
    )
    reply = talk.told(talk.machine.kind(ConsumerKind).consumer_heartbeat(request, now=talk.now))
    assert reply.assignment == {}

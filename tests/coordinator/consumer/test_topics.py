"""Consumer groups and topics: those that come, grow and go, and regular expressions."""

from __future__ import annotations

import uuid

import pytest

from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.regexes import MatchTopics
from ottla.coordinator.consumer.steps import REGEX_PAUSE_MS
from ottla.coordinator.consumer.topics import NoTopics, TopicMetadata, metadata_hash
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import (
    Consumer,
    ConsumerTalk,
    FakeTopics,
    settle,
    stable,
)
from tests.coordinator.group_conversation import GROUP, found_by

# Two topics of an Apache Kafka 4.1.1, and the hash in the record of a group subscribed to both.
HASHED_TOPICS = [
    ("orders-1795274454", "7d405276-b370-4b50-b71b-b1d2fd8de5fe", 3),
    ("stock-1795274454", "690d4033-5974-44b2-8984-e542e448e782", 2),
]
KAFKAS_HASH = 1594097523552517459


def test_a_topic_that_is_made_later_is_assigned_by_the_next_heartbeat() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a", "orders", "stock")
    assert a.join() == {"orders": [0]}
    talk.topics.make("stock", 2)
    assert a.report() == {"orders": [0], "stock": [0, 1]}
    assert talk.epochs == ("Stable", 3, 3)


def test_a_decision_that_the_log_refused_is_repeated() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a", "orders", "stock")
    a.join()
    talk.topics.make("stock", 1)
    lost = talk.machine.kind(ConsumerKind).consumer_heartbeat(a.request(2), now=talk.now)
    assert lost.records
    assert a.beat() == {"orders": [0], "stock": [0]}


def test_partitions_that_are_added_are_assigned() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    stable(a, b)
    talk.topics.grow("orders", 2)
    assert [a.report(), b.report()].count({"orders": [1]}) == 1


def test_a_topic_that_is_deleted_is_given_up() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1))
    a = Consumer(talk, "a", "orders", "stock")
    a.join()
    talk.topics.delete("stock")
    assert a.report() == {"orders": [0]}
    assert talk.epochs == ("Stable", 3, 3)
    assert talk.targets == {"a": {"orders": [0]}}


def test_a_topic_that_is_made_anew_is_another_one() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join()
    before = talk.topics.by_name("orders")
    talk.topics.delete("orders")
    talk.topics.make("orders", 1)
    assert before is not None
    assert a.beat(owned={"?": [0]}) == {"orders": [0]}
    assert before.topic_id not in talk.consumers.targets["a"]


def test_unsubscribed_topics_cause_no_new_assignment() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join()
    logged = len(talk.log)
    talk.topics.make("stock")
    assert (a.report(), len(talk.log)) == (None, logged)


def test_after_a_restart_the_same_topics_are_the_same() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join()
    talk.restart()
    logged = len(talk.log)
    assert (a.report(), len(talk.log)) == (None, logged)


# ---- regular expressions


def test_topics_matching_a_new_pattern_are_assigned_after_the_answer() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, orders2=1, stock=1))
    a = Consumer(talk, "a")
    assert a.join(subscribed_topic_regex="ord.*") == {}
    assert talk.epochs == ("Stable", 1, 1)
    talk.pass_time()
    assert talk.epochs == ("Assigning", 2, 1)
    assert a.report() == {"orders": [0, 1], "orders2": [0]}


def test_names_and_a_regular_expression_add_up() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1))
    a = Consumer(talk, "a")
    assert a.join(subscribed_topic_regex="st.*", subscribed_topic_names=frozenset({"orders"})) == {
        "orders": [0]
    }
    talk.pass_time()
    assert a.report() == {"orders": [0], "stock": [0]}


def test_a_regular_expression_matches_whole_names() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, reorders=1))
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="order")
    talk.pass_time()
    assert a.report() is None
    a.report(subscribed_topic_regex=".*orders")
    talk.pass_time(REGEX_PAUSE_MS + 1)
    a.report()
    talk.pass_time()
    assert a.report() == {"orders": [0], "reorders": [0]}


def test_a_member_that_gives_up_its_expression_raises_the_epoch_at_once() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    settle(a)
    assert (a.owned, talk.epochs) == ({"orders": [0]}, ("Stable", 2, 2))
    assert a.report(subscribed_topic_regex="") == {}
    assert talk.epochs[1:] == (3, 3)


def test_a_member_with_another_expression_raises_the_epoch_with_its_next_heartbeat() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    settle(a)
    assert a.report(subscribed_topic_regex="none") == {}
    assert talk.epochs[1:] == (2, 2)
    a.report()
    assert talk.epochs[1:] == (3, 3)


@pytest.mark.parametrize("regex", ["(", "[a", "(?!a)b", "a**", "\\"])
def test_an_expression_that_re2_rejects_is_refused(regex: str, talk: ConsumerTalk) -> None:
    a = Consumer(talk, "a")
    assert a.join(subscribed_topic_regex=regex) is Code.INVALID_REGULAR_EXPRESSION
    assert not talk.log
    a.join()
    assert a.report(subscribed_topic_regex=regex) is Code.INVALID_REGULAR_EXPRESSION


def test_new_topics_are_found_after_ten_seconds() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    a.report()
    talk.topics.make("orders2")
    talk.pass_time(REGEX_PAUSE_MS)
    a.report()
    talk.pass_time()
    assert talk.consumers.epoch == 2, "too early"
    talk.pass_time(1)
    a.report()
    talk.pass_time()
    assert a.report() == {"orders": [0], "orders2": [0]}


def test_when_nothing_was_made_nothing_is_matched_but_now_and_then() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1), consumer={"regex_refresh_interval_ms": 40_000})
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    a.report()
    logged = len(talk.log)
    talk.pass_time(40_000)
    a.beat()
    talk.pass_time()
    assert len(talk.log) == logged
    talk.pass_time(1)
    a.beat()
    talk.pass_time()
    assert len(talk.log) == logged + 1, "when it was looked at"
    assert talk.consumers.epoch == 2


def test_a_second_member_of_the_same_regular_expression_shares_at_once() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    a.report()
    b.join(subscribed_topic_regex="ord.*")
    assert talk.epochs == ("Reconciling", 3, 3)
    assert sorted(map(len, talk.targets.values())) == [1, 1]


def test_an_unused_regular_expression_is_forgotten() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1))
    a, b = Consumer(talk, "a"), Consumer(talk, "b", "stock")
    a.join(subscribed_topic_regex="ord.*")
    b.join()
    talk.pass_time()
    a.report()
    assert talk.consumers.resolved.keys() == {"ord.*"}
    a.report(subscribed_topic_regex="")
    assert not talk.consumers.resolved
    a.report(subscribed_topic_regex="sto.*")
    talk.pass_time(REGEX_PAUSE_MS + 1)
    a.report()
    talk.pass_time()
    assert talk.consumers.resolved.keys() == {"sto.*"}
    a.leave()
    assert not talk.consumers.resolved
    assert talk.consumers.subscribers.keys() == {"stock"}
    talk.restart()
    assert talk.consumers.subscribers.keys() == {"stock"}


def test_a_regular_expression_of_another_member_stays() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    b.join(subscribed_topic_regex="ord.*")
    settle(a, b)
    a.report(subscribed_topic_regex="", subscribed_topic_names=frozenset({"stock"}))
    assert talk.consumers.resolved.keys() == {"ord.*"}
    settle(b, a)
    assert (a.owned, b.owned) == ({}, {"orders": [0, 1]})
    a.leave()
    assert talk.consumers.resolved.keys() == {"ord.*"}


def test_the_partitions_of_a_member_that_drops_a_shared_expression_go_to_the_other() -> None:
    """Kafka 4.4 raises the epoch, although the topics of the group are the same."""
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    b.join(subscribed_topic_regex="ord.*")
    settle(a, b)
    assert a.report(subscribed_topic_regex="") == {}
    settle(a, b)
    assert (a.owned, b.owned, talk.epochs) == ({}, {"orders": [0, 1]}, ("Stable", 4, 4))


def test_only_topics_that_may_be_known_are_matched() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, orders_secret=1))
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*", may_see=lambda name: "secret" not in name)
    talk.pass_time()
    assert a.report() == {"orders": [0]}


def test_a_regular_expression_that_is_not_valid_any_more_matches_nothing() -> None:
    order = MatchTopics(GROUP, ["(", "a"], ["a"], 1, None)
    assert found_by(order) == {"(": frozenset(), "a": frozenset({"a"})}


# ---- the hash of the topics


def test_the_hash_is_that_of_apache_kafka() -> None:
    """What Kafka 4.1.1 logged for two topics with these ids."""
    topics = FakeTopics()
    for name, topic_id, count in HASHED_TOPICS:
        topics.put(TopicMetadata(uuid.UUID(topic_id), name, count))
    assert metadata_hash([name for name, _, _ in HASHED_TOPICS], topics) == KAFKAS_HASH
    assert metadata_hash(["unknown"], topics) == 0


def test_the_hash_sees_racks() -> None:
    plain = FakeTopics(orders=2)
    racked = FakeTopics(orders=2)
    orders = racked.by_name("orders")
    assert orders is not None
    racked.put(orders._replace(racks=(("a", "b"), ("a",))))
    hashes = {metadata_hash(["orders"], topics) for topics in (plain, racked)}
    assert len(hashes) == 2


def test_a_pattern_matches_nothing_without_topics() -> None:
    topics = NoTopics()
    assert topics.by_name("orders") is None
    assert topics.by_id(uuid.UUID(int=1)) is None
    assert list(topics.names()) == []
    assert metadata_hash(["orders"], topics) == 0


def test_a_name_besides_the_same_regular_expression_is_for_its_member_alone() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, stock=4))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    b.join(subscribed_topic_regex="ord.*", subscribed_topic_names=frozenset({"stock"}))
    settle(a, b)
    assert (a.owned, b.owned) == ({"orders": [0, 1]}, {"stock": [0, 1, 2, 3]})

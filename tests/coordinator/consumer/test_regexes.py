"""Regular expressions of subscriptions: their limits, and what happens while they are matched."""

from __future__ import annotations

import pytest

from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.regexes import (
    TEXT_BYTES,
    UNICODE_CLASSES,
    MatchTopics,
    compiled,
    matching,
)
from ottla.coordinator.consumer.steps import REGEX_PAUSE_MS
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import Consumer, ConsumerTalk, FakeTopics
from tests.coordinator.group_conversation import found_by

COSTLY = "(.?){1000}"
"""RE2 makes a program of 9,000 instructions of it."""


class HeldTalk(ConsumerTalk):
    """A coordinator whose regular expressions are matched when the test says so.

    Attributes:
        orders: those that are not carried out yet.
    """

    def __init__(self, **counts: int) -> None:
        self.orders: list[MatchTopics] = []
        super().__init__(FakeTopics(**counts))

    def match(self, order: MatchTopics) -> None:
        self.orders.append(order)

    def matched(self) -> None:
        """The oldest order is carried out."""
        order = self.orders.pop(0)
        kind = self.machine.kind(ConsumerKind)
        self.told(kind.matched(order, found_by(order), now=self.now))


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * TEXT_BYTES,
        "|".join(f"topic-{number:03}-{'x' * 150}" for number in range(200)),
        "|".join(f"orders.of.shop.number-{number:05}" for number in range(1000)),
        COSTLY * 4,
        "[" + r"\pL" * UNICODE_CLASSES + "]",
    ],
)
def test_patterns_of_many_names_are_compiled(pattern: str) -> None:
    compiled(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * (TEXT_BYTES + 1), "\u0416" * (TEXT_BYTES // 6 + 1), COSTLY * 10, "a|" * 500_000,
        "[" + r"\pL" * (UNICODE_CLASSES + 1) + "]", r"(\PL*)*" * 4_000,
    ],
)  # fmt: skip
def test_patterns_that_take_long_are_refused(pattern: str, talk: ConsumerTalk) -> None:
    joined = Consumer(talk, "a").join(subscribed_topic_regex=pattern)
    assert joined is Code.INVALID_REGULAR_EXPRESSION
    with pytest.raises(Refused) as refused:
        compiled(pattern)
    assert "is not a valid regular expression: pattern too large" in str(refused.value)


def test_the_matching_pauses_after_each_name() -> None:
    assert sum(1 for _ in matching(["a", "b"], ["a", "b", "c"])) == 6


def test_a_decision_matches_nothing_itself() -> None:
    talk = HeldTalk(orders=1)
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    assert (talk.epochs, len(talk.orders)) == (("Stable", 1, 1), 1)
    talk.matched()
    assert a.report() == {"orders": [0]}


def test_expressions_are_not_matched_twice_at_a_time() -> None:
    talk = HeldTalk(orders=1)
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    for _ in range(3):
        talk.pass_time(REGEX_PAUSE_MS + 1)
        a.report()
    assert len(talk.orders) == 1
    talk.matched()
    assert a.report() == {"orders": [0]}


def test_an_expression_that_loses_its_subscribers_meanwhile_is_left_out() -> None:
    talk = HeldTalk(orders=1, stock=1)
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    a.report(subscribed_topic_regex="st.*")
    talk.matched()
    assert talk.consumers.resolved == {}
    a.report()
    talk.pass_time()
    talk.matched()
    assert a.report() == {"stock": [0]}


def test_a_topic_that_is_made_meanwhile_is_found_later() -> None:
    talk = HeldTalk(orders=1)
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    talk.topics.make("orders2")
    talk.matched()
    assert a.report() == {"orders": [0]}
    talk.pass_time(REGEX_PAUSE_MS + 1)
    a.report()
    talk.pass_time()
    talk.matched()
    assert a.report() == {"orders": [0], "orders2": [0]}


def test_a_group_that_is_gone_is_not_decided_on() -> None:
    talk = HeldTalk(orders=1)
    a = Consumer(talk, "a")
    a.join(subscribed_topic_regex="ord.*")
    talk.pass_time()
    order = talk.orders[0]
    talk.restart()
    talk.machine.kind(ConsumerKind).consumer_groups.forget(order.group_id)
    logged = len(talk.log)
    talk.matched()
    assert len(talk.log) == logged

"""Random histories of consumer groups get the same answers from Ottla and an Apache Kafka.

Members join, report, lag, leave, come back under their instance, and speak either protocol; the
group changes its kind with them. A seed repeats a run.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from ..wire.broker import Broker
from ..wire.consumers import Consumer, described, state
from ..wire.groups import Member, join_raw, subscription
from ..wire.groups import described as described_classic
from .conftest import Pair

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SEEDS = range(12)
STEPS = 60


class History:
    """A group on one broker; the same calls on the other broker must give the same answers."""

    def __init__(self, broker: Broker, topics: list[str]) -> None:
        self.broker = broker
        self.topics = topics
        self.group = broker.fresh("g")
        instances = (None, None, None, "i", "i")
        self.consumers = [
            Consumer(broker, self.group, f"member-{number}", topics, instance=instance)
            for number, instance in enumerate(instances)
        ]
        self.classic = Member(broker, self.group)

    # No member joins others with an empty subscription. At its next assignment Kafka would take the
    # subscriptions as equal, and revoke all partitions of all members.

    def join(self, number: int, choice: int, assignor: str | None) -> Any:
        wanted = [self.topics[:1], self.topics[1:2], self.topics[:1]][choice]
        consumer = self.consumers[number]
        return consumer.join(subscribed_topic_names=wanted, server_assignor=assignor)

    def beat(self, number: int, _: int, __: Any) -> Any:
        return self.consumers[number].beat()

    def report(self, number: int, _: int, __: Any) -> Any:
        return self.consumers[number].report()

    def report_nothing(self, number: int, _: int, __: Any) -> Any:
        return self.consumers[number].beat(owned={})

    def report_late(self, number: int, choice: int, __: Any) -> Any:
        consumer = self.consumers[number]
        return consumer.beat(epoch=max(consumer.epoch - choice, 1), owned=consumer.owned)

    def subscribe(self, number: int, choice: int, assignor: str | None) -> Any:
        wanted = [self.topics[:1], self.topics[1:2], self.topics[:1]][choice]
        consumer = self.consumers[number]
        return consumer.report(subscribed_topic_names=wanted, server_assignor=assignor)

    def leave(self, number: int, choice: int, _: Any) -> Any:
        consumer = self.consumers[number]
        return consumer.leave(-2 if choice and consumer.instance else -1)

    def join_classic(self, *_: Any) -> Any:
        if described(self.broker, self.group)["error"] != "NONE" or self._is_empty():
            return "skipped: it would wait for others"
        # Its id, which the broker allocates, decides about the odd partition: it reads alone.
        protocols = (("range", subscription(self.topics[2])),)
        member_id = self.classic.member_id
        answer = join_raw(self.broker, self.group, member_id=member_id, protocols=protocols)
        if answer["error"] in ("NONE", "MEMBER_ID_REQUIRED"):
            self.classic = self.classic.but(
                member_id=answer["member_id"], generation_id=answer["generation_id"]
            )
        elif answer["error"] == "UNKNOWN_MEMBER_ID":
            self.classic = self.classic.but(member_id="")
        return [answer["error"], answer["generation_id"], answer["protocol_name"]]

    def rejoin_classic(self, *_: Any) -> Any:
        """Also in a classic group of which it is the only member."""
        found = described(self.broker, self.group)
        if not self.classic.member_id or (found["error"] == "NONE" and not found["members"]):
            return "skipped: Kafka forgets an empty consumer group, until it is restarted"
        protocols = (("range", subscription(self.topics[2])),)
        answer = self.classic.rejoin_raw(protocols=protocols)
        if answer["error"] == "NONE":
            self.classic = self.classic.but(generation_id=answer["generation_id"])
        return [answer["error"], answer["generation_id"]]

    def sync_classic(self, *_: Any) -> Any:
        error, assignment = self.classic.sync()
        for number, topic in enumerate(self.topics):
            assignment = assignment.replace(f"\0{chr(len(topic))}{topic}", f"t{number}")
        return [error, assignment]

    def beat_classic(self, *_: Any) -> Any:
        return self.classic.heartbeat()

    def leave_classic(self, *_: Any) -> Any:
        return self.classic.leave()

    def commit(self, number: int, choice: int, _: Any) -> Any:
        consumer = self.consumers[number]
        member = Member(self.broker, self.group, consumer.member_id, consumer.epoch - choice // 2)
        return member.commit(self.topics[0], number, version=9)

    def look(self, *_: Any) -> Any:
        found = state(self.broker, self.group)
        epochs = {
            "classic" if member_id == self.classic.member_id else member_id: epoch
            for member_id, epoch in found[4].items()
        }
        return [found[:4], epochs, described_classic(self.broker, self.group)[:4]]

    def _is_empty(self) -> bool:
        return not described(self.broker, self.group)["members"]


OFTEN = ["report"] * 6 + ["join"] * 4 + ["beat"] * 3 + ["look"] * 2 + ["join_classic"] * 2
STEPS_OF_A_LIFE = [
    *OFTEN,
    "report_nothing",
    "report_late",
    "subscribe",
    "subscribe",
    "leave",
    "leave",
    "rejoin_classic",
    "sync_classic",
    "beat_classic",
    "leave_classic",
    "commit",
]


@pytest.fixture(scope="module")
def lives(pair: Pair) -> Any:
    """Two brokers with topics of different sizes, so that their order does not depend on ids."""
    brokers = [Broker(address, "groups") for address in pair]
    topics = [[broker.topic(count) for count in (5, 2, 3)] for broker in brokers]
    yield list(zip(brokers, topics, strict=True))
    for broker in brokers:
        broker.delete_topics()
        broker.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_group_history_has_the_same_answers_on_both(lives: Any, seed: int) -> None:
    ours, theirs = (History(broker, topics) for broker, topics in lives)
    chance = random.Random(seed)
    done: list[str] = []
    for _ in range(STEPS):
        name = chance.choice(STEPS_OF_A_LIFE)
        number, choice = chance.randrange(5), chance.randrange(3)
        assignor = chance.choice([None, None, None, "range", "uniform"])
        told = [getattr(life, name)(number, choice, assignor) for life in (ours, theirs)]
        done.append(f"{name}({number}, {choice}, {assignor}): {told[1]}")
        assert told[0] == told[1], "\n".join([f"seed {seed}", *done[-12:]])

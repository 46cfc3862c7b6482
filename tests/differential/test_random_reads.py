"""Random fetches, in sessions and without, and offset lookups on Ottla and on an Apache Kafka.

Like test_random_requests.py, with a simple log and complex reads.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ..wire.batches import batch, batches_in
from ..wire.broker import NO_SUCH_TOPIC, Broker, Topic
from ..wire.client import Answer, error_name
from .conftest import Pair
from .conversations import hold

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

T = TypeVar("T")

PARTITIONS = 3
TOPICS = 2
places = st.tuples(st.integers(0, TOPICS), st.integers(0, PARTITIONS))  # the last ones are unknown
known_places = st.tuples(st.integers(0, TOPICS - 1), st.integers(0, PARTITIONS - 1))
Place = tuple[int, int]

# In a session Kafka chooses the order of partitions; only the first one may exceed the limit of the
# answer.
LIMITS = [1, 200, 1 << 20]


class Reading(RuleBasedStateMachine):
    """Two topics, and one session by name and one by id on each broker."""

    pair: Pair

    def __init__(self) -> None:
        super().__init__()
        self.brokers = [Broker(address, "reads") for address in self.pair]
        self.topics = [[broker.topic(PARTITIONS) for _ in range(TOPICS)] for broker in self.brokers]
        self.sessions = {12: [0, 0], 16: [0, 0]}
        self.epochs = {12: 0, 16: 0}

    def teardown(self) -> None:
        for broker in self.brokers:
            broker.delete_topics()
            broker.close()

    def both(self, ask: Callable[[int], T]) -> T:
        """Send a request to both, Ottla first; the answer if both are equal."""
        ours, theirs = ask(0), ask(1)
        assert ours == theirs, f"Kafka: {theirs}, Ottla: {ours}"
        return ours

    def topic(self, side: int, number: int, version: int = 0) -> Topic:
        """The topic of that number, by name or by id, depending on the version."""
        name = self.topics[side][number] if number < TOPICS else NO_SUCH_TOPIC
        if version < 13:
            return name
        return self.brokers[side].topic_ids.get(name, UNKNOWN_ID)

    @rule(place=known_places, count=st.integers(1, 3), start=st.integers(1, 5))
    def produce(self, place: Place, count: int, start: int) -> None:
        data = batch(
            [b"x" * 50] * count, timestamp=start * 1000, timestamp_deltas=[0, 900, 100][:count]
        )
        self.both(
            lambda side: self.brokers[side].produced(self.topic(side, place[0]), data, place[1])
        )

    @rule(place=known_places, offset=st.integers(-1, 5))
    def delete_records(self, place: Place, offset: int) -> None:
        self.both(
            lambda side: self.brokers[side].delete_records(
                self.topics[side][place[0]], offset, place[1]
            )
        )

    @rule(
        place=places,
        timestamp=st.sampled_from([-1, -2, -3, -4, -5, 0, 1000, 1500, 3900, 5000, 9000]),
        isolation=st.integers(0, 1),
        version=st.sampled_from([1, 4, 7, 8, 9, 10]),
    )
    def list_offset(self, place: Place, timestamp: int, isolation: int, version: int) -> None:
        self.both(
            lambda side: self.brokers[side].list_offset(
                str(self.topic(side, place[0])),
                timestamp,
                partition=place[1],
                isolation=isolation,
                version=version,
            )
        )

    @rule(place=places, offset=st.integers(-1, 7), limit=st.sampled_from(LIMITS))
    def fetch(self, place: Place, offset: int, limit: int) -> None:
        def ask(side: int) -> Any:
            parts = [(self.topic(side, place[0]), place[1], offset)]
            answer = self.brokers[side].fetch_raw(parts, partition_max_bytes=limit, max_wait_ms=1)
            return self.comparable(side, answer)

        self.both(ask)

    @rule(
        version=st.sampled_from([12, 16]),
        parts=st.dictionaries(places, st.integers(0, 6), max_size=4),
        forgotten=st.sets(places, max_size=2),
        epoch=st.sampled_from(["next", "next", "next", "next", "wrong", "full", "close"]),
    )
    def fetch_in_session(
        self, version: int, parts: dict[Place, int], forgotten: set[Place], epoch: str
    ) -> None:
        number = {"next": self.epochs[version], "wrong": 99, "full": 0, "close": -1}[epoch]

        def ask(side: int) -> Any:
            answer = self.brokers[side].fetch_raw(
                [(self.topic(side, t, version), p, o) for (t, p), o in parts.items()],
                forgotten=[(self.topic(side, t, version), [p]) for t, p in forgotten],
                session=(self.sessions[version][side], number),
                version=version,
                max_wait_ms=1,
            )
            known = self.sessions[version][side]
            same = answer["session_id"] == known
            if answer["error_code"] == 0:
                self.sessions[version][side] = answer["session_id"]
            return [answer["session_id"] == 0, same, self.comparable(side, answer)]

        ended, _, (error, _) = self.both(ask)
        if error == "NONE":
            self.epochs[version] = 0 if ended else max(number, 0) + 1

    def comparable(self, side: int, answer: Answer) -> tuple[str, list[Any]]:
        """A fetch answer with topics by their numbers, sorted."""
        names: dict[Any, int] = {}
        for number in range(TOPICS + 1):
            names |= {self.topic(side, number, version): number for version in (12, 16)}
        parts = [
            [
                names[topic.get("topic") or topic["topic_id"]],
                part["partition_index"],
                error_name(part["error_code"]),
                part["high_watermark"],
                part["log_start_offset"],
                [(found.base_offset, found.count) for found in batches_in(part["records"])],
            ]
            for topic in answer["responses"]
            for part in topic["partitions"]
        ]
        return error_name(answer["error_code"]), sorted(parts)


UNKNOWN_ID = uuid.UUID("12345678-1234-4234-8234-123456789abc")


def test_random_reads_get_the_same_answers(pair: Pair) -> None:
    hold(Reading, pair)

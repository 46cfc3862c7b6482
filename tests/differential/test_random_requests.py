"""Random producers, transactions and readers on Ottla and on an Apache Kafka, step by step.

Hypothesis chooses valid and invalid requests. Both brokers get each of them and must give the same
error names, offsets, epochs and records. Producer ids, times and messages are not compared. A
failure is shrunk to the shortest conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ..wire.broker import Broker
from ..wire.transactions import Producer
from .conftest import Pair
from .conversations import hold

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

T = TypeVar("T")

PARTITIONS = 2
partitions = st.integers(0, PARTITIONS)  # the last one does not exist
producers = st.integers(0, 2)
sequences = st.integers(0, 4)
epoch_steps = st.sampled_from([0, 0, 0, 0, 0, -1, 1])
counts = st.integers(1, 3)

# A client uses one generation of the transactional requests: producer 0 the one before KIP-890, the
# others the one since.

# Kafka answers a produce with either of these, depending on concurrent requests.
EITHER = {"TRANSACTION_ABORTABLE": "INVALID_TXN_STATE"}


class Conversation(RuleBasedStateMachine):
    """One conversation with both brokers: two partitions, a group, three transactional ids."""

    pair: Pair

    def __init__(self) -> None:
        super().__init__()
        self.brokers = [Broker(address, "random") for address in self.pair]
        self.topics = [broker.topic(PARTITIONS) for broker in self.brokers]
        self.groups = [broker.fresh("g") for broker in self.brokers]
        self.producers = [[broker.producer() for broker in self.brokers] for _ in range(3)]
        self.idempotent = [broker.idempotent() for broker in self.brokers]

    def teardown(self) -> None:
        for broker in self.brokers:
            broker.delete_topics()
            broker.close()

    def both(self, ask: Callable[[int], T]) -> T:
        """Send a request to both, Ottla first; the answer if both are equal."""
        ours, theirs = ask(0), ask(1)
        assert _comparable(ours) == _comparable(theirs), f"Kafka: {theirs}, Ottla: {ours}"
        return ours

    def producer(self, which: int, side: int, epoch_step: int = 0) -> Producer:
        known = self.producers[which][side]
        return known.but(epoch=max(0, known.epoch + epoch_step))

    @rule(which=producers, partition=partitions, step=epoch_steps, version=st.sampled_from([0, 3]))
    def add_partition(self, which: int, partition: int, step: int, version: int) -> None:
        self.both(
            lambda side: self.producer(which, side, step).add(self.topics[side], partition, version)
        )

    # No wrong epochs here: Kafka remembers the sequence of a batch that the coordinator refused,
    # and then refuses the next valid one of the transaction. Ottla does not copy that.
    @rule(
        which=producers,
        partition=partitions,
        sequence=sequences,
        count=counts,
        older=st.booleans(),
    )
    def produce_in_transaction(
        self, which: int, partition: int, sequence: int, count: int, older: bool
    ) -> None:
        version = (9 if older else 11) if which == 0 else 12
        self.both(
            lambda side: self.producer(which, side).produce(
                self.topics[side],
                [b"v"] * count,
                sequence=sequence,
                partition=partition,
                version=version,
            )
        )

    @rule(partition=partitions, step=epoch_steps, sequence=sequences, count=counts)
    def produce_idempotent(self, partition: int, step: int, sequence: int, count: int) -> None:
        def ask(side: int) -> tuple[str, int]:
            known = self.idempotent[side]
            return known.but(epoch=max(0, known.epoch + step)).produce(
                self.topics[side], [b"i"] * count, sequence=sequence, partition=partition
            )

        self.both(ask)

    @rule(which=producers, step=epoch_steps, commit=st.booleans())
    def end(self, which: int, step: int, commit: bool) -> None:
        version = 1 if which == 0 else 5
        answer = self.both(
            lambda side: self.producer(which, side, step).end(commit=commit, version=version)
        )
        self.both(lambda side: self.producers[which][side].wait_state(*SETTLED))
        if version == 5 and answer[0] == "NONE" and answer[1] == "same-pid":
            self.producers[which] = [one.but(epoch=answer[2]) for one in self.producers[which]]

    @rule(which=producers)
    def init(self, which: int) -> None:
        def ask(side: int) -> int:
            known = self.producers[which][side]
            self.producers[which][side] = self.brokers[side].init(known.transactional_id)
            return self.producers[which][side].epoch

        self.both(ask)

    @rule(which=producers, step=epoch_steps, version=st.sampled_from([3, 4]))
    def init_again(self, which: int, step: int, version: int) -> None:
        error, _, epoch = self.both(
            lambda side: self.producer(which, side, step).init_again_raw(version=version)
        )
        if error == "NONE":
            self.producers[which] = [one.but(epoch=epoch) for one in self.producers[which]]

    @rule(which=producers, offset=st.integers(0, 9))
    def commit_offset(self, which: int, offset: int) -> None:
        version = 3 if which == 0 else 5
        self.both(
            lambda side: self.producers[which][side].commit_offset(
                self.groups[side], self.topics[side], offset, version=version
            )
        )

    @rule(which=producers)
    def add_offsets(self, which: int) -> None:
        self.both(lambda side: self.producers[which][side].add_offsets(self.groups[side]))

    @rule(partition=st.integers(0, PARTITIONS - 1), offset=st.integers(-1, 6))
    def delete_records(self, partition: int, offset: int) -> None:
        self.both(
            lambda side: self.brokers[side].delete_records(self.topics[side], offset, partition)
        )

    @rule(stable=st.booleans())
    def fetch_offsets(self, stable: bool) -> None:
        self.both(
            lambda side: self.brokers[side].offsets(
                self.groups[side], self.topics[side], require_stable=stable
            )
        )

    @rule()
    def read(self) -> None:
        """States, offsets of ends, and the batches and aborted transactions of fetches."""
        self.both(lambda side: [one[side].state() for one in self.producers])
        for partition in range(PARTITIONS):
            self.both(lambda side, p=partition: self.seen(side, p))  # type: ignore[misc]  # mypy cannot type the default

    def seen(self, side: int, partition: int) -> list[Any]:
        """The content of a partition without ids and times."""
        broker, topic = self.brokers[side], self.topics[side]
        start = broker.list_offset(topic, -2, partition=partition)[1]
        part = broker.fetch(topic, start, partition, isolation=1)
        batches = [
            (b.base_offset, b.count, b.epoch, b.sequence, b.attributes)
            for b in broker.fetch(topic, start, partition)["batches"]
        ]
        aborted = sorted(one["first_offset"] for one in part["aborted_transactions"] or [])
        committed = [b.base_offset for b in part["batches"]]
        stable, end = broker.ends(topic, partition)
        # Kafka's last stable offset may be before the log start offset, if that is inside a batch.
        return [max(stable, start), end, start, batches, aborted, committed]


SETTLED = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")


def _comparable(answer: Any) -> Any:
    if isinstance(answer, list | tuple):
        return [_comparable(one) for one in answer]
    return EITHER.get(answer, answer) if isinstance(answer, str) else answer


def test_random_conversations_get_the_same_answers(pair: Pair) -> None:
    hold(Conversation, pair)

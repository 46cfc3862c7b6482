"""A Fetch of a session reads only the partitions with changes, and misses no change."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from ottla.broker.requests.reads.awaited_bytes import AwaitedBytes
from ottla.broker.requests.reads.fetch_reads import Limits
from ottla.broker.requests.reads.session_reads import _wait_in
from ottla.broker.runtime.fetching.fetch_sessions import READ_ALL_AFTER_MS
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control import Marker, marker
from tests.broker.fakes import START_MS, settle
from tests.broker.one_node import OneNode, read

FETCH = ApiKey.FETCH
NEVER_MS = 1_000_000
MANY = 200
Part = tuple[str, int, int]


class Consumer:
    """A consumer in a session."""

    def __init__(self, it: OneNode) -> None:
        self._it = it
        self.session_id = 0
        self.epoch = 0

    def begin(self, *parts: Part, forgotten: list[tuple[str, int]] = [], **fields: Any) -> Any:  # noqa: B006
        """Send a Fetch; returns its answer or a future of it."""
        topics = [
            {
                "topic": topic,
                "partitions": [
                    {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
                ],
            }
            for topic, index, offset in parts
        ]
        given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, **fields}
        dropped = [{"topic": topic, "partitions": [index]} for topic, index in forgotten]
        _, answered = self._it.begin(
            FETCH, 12, replica_id=-1, topics=topics, forgotten_topics_data=dropped,
            session_id=self.session_id, session_epoch=self.epoch, **given,
        )  # fmt: skip
        return answered

    async def take(self, answered: Any) -> dict[tuple[str, int], dict[str, Any]]:
        """The partitions of an answer, by topic and index."""
        if isinstance(answered, asyncio.Future):
            answered = await answered
        answer = read(FETCH, 12, answered)
        assert answer["error_code"] == 0
        self.session_id = answer["session_id"]
        self.epoch += 1
        return {
            (topic["topic"], each["partition_index"]): each
            for topic in answer["responses"]
            for each in topic["partitions"]
        }

    async def fetch(self, *parts: Part, **fields: Any) -> dict[tuple[str, int], dict[str, Any]]:
        return await self.take(self.begin(*parts, **fields))


def may_have_news(it: OneNode, consumer: Consumer) -> list[int]:
    """The partitions of `orders` that the next Fetch reads."""
    session = it.node.fetch_sessions._sessions[consumer.session_id]
    return sorted({index for _, index in (*session.unsettled, *session.changed)})


async def begun(it: OneNode, count: int = MANY) -> Consumer:
    """A consumer whose session has so many empty partitions of `orders`."""
    it.topic("orders", count)
    consumer = Consumer(it)
    await consumer.fetch(*(("orders", index, 0) for index in range(count)))
    return consumer


async def test_only_partitions_with_changes_are_read(it: OneNode) -> None:
    consumer = await begun(it)
    assert may_have_news(it, consumer) == []
    assert await consumer.fetch() == {}
    it.append("orders", b"a", partition=7)
    assert may_have_news(it, consumer) == [7]
    assert list(await consumer.fetch()) == [("orders", 7)]
    assert may_have_news(it, consumer) == [7], "the consumer has not moved on"
    assert await consumer.fetch(("orders", 7, 1)) == {}
    assert may_have_news(it, consumer) == []


async def test_an_append_ends_the_wait_of_a_session(it: OneNode) -> None:
    consumer = await begun(it)
    answered = consumer.begin(max_wait_ms=NEVER_MS)
    await settle()
    assert not answered.done()
    it.append("orders", b"a", partition=7)
    assert list(await consumer.take(answered)) == [("orders", 7)]
    assert may_have_news(it, consumer) == [7]
    assert asyncio.get_running_loop().time() == 0


async def test_a_wait_counts_the_bytes_of_all_partitions(it: OneNode) -> None:
    consumer = await begun(it)
    it.append("orders", bytes(1000), partition=3)
    answered = consumer.begin(max_wait_ms=NEVER_MS, min_bytes=3000)
    for index in (9, 9):
        await settle()
        assert not answered.done()
        it.append("orders", bytes(1000), partition=index)
    assert set(await consumer.take(answered)) == {("orders", 3), ("orders", 9)}
    assert asyncio.get_running_loop().time() == 0


async def test_an_append_while_the_session_is_read_ends_the_wait(it: OneNode) -> None:
    consumer = await begun(it)
    session = it.node.fetch_sessions._sessions[consumer.session_id]
    it.append("orders", b"a", partition=3)  # noted before the Fetch waits
    waiting = it.node.fetch_waits.wait_in_session()
    limits = Limits(1 << 20, committed=False, replica_id=-1)
    _wait_in(session, AwaitedBytes(it.node, limits, min_bytes=1), waiting)
    assert waiting.done()


@pytest.mark.parametrize("change", ["deleted", "stopped", "ended"])
async def test_another_change_ends_the_wait(it: OneNode, change: str) -> None:
    consumer = await begun(it)
    answered = consumer.begin(max_wait_ms=NEVER_MS)
    await settle()
    if change == "deleted":
        it.node.controller.delete_topic("orders")
    elif change == "stopped":
        it.node.stop_coordinating()
        it.node.fetch_waits.wake_all()
    else:
        it.node.fetch_sessions.end(consumer.session_id)
    found = await consumer.take(answered)
    assert len(found) == (MANY if change == "deleted" else 0)
    assert asyncio.get_running_loop().time() == 0


async def test_an_ended_wait_and_an_ended_session_leave_nothing_behind(it: OneNode) -> None:
    consumer = await begun(it)
    answered = consumer.begin(max_wait_ms=NEVER_MS)
    await settle()
    answered.cancel()
    consumer.epoch += 1
    await settle()
    assert not it.node.fetch_waits._of_sessions
    assert len(it.node.fetch_waits._watchers) == MANY
    await consumer.fetch(forgotten=[("orders", 3)])
    assert len(it.node.fetch_waits._watchers) == MANY - 1
    it.node.fetch_sessions.end(consumer.session_id)
    assert not it.node.fetch_waits._watchers


async def test_a_large_session_that_ends_leaves_nothing_behind(it: OneNode) -> None:
    consumer = await begun(it, 2_500)
    it.node.fetch_sessions.end(consumer.session_id)
    assert len(it.node.fetch_waits._watchers) == 1_500, "the others follow in later turns"
    await settle()
    assert not it.node.fetch_waits._watchers


async def test_undecided_records_are_read_each_time_until_the_consumer_moves_on(
    it: OneNode,
) -> None:
    consumer = await begun(it)
    it.append(
        "orders", b"a", partition=5, producer_id=7, producer_epoch=0, base_sequence=0,
        transactional=True,
    )  # fmt: skip
    for _ in range(3):
        assert list(await consumer.fetch()) == [("orders", 5)]
    assert await consumer.fetch(("orders", 5, 1)) == {}


async def test_the_other_isolation_level_reads_all(it: OneNode) -> None:
    consumer = await begun(it)
    it.append(
        "orders", b"a", partition=5, producer_id=7, producer_epoch=0, base_sequence=0,
        transactional=True,
    )  # fmt: skip
    assert list(await consumer.fetch(isolation_level=1)) == [("orders", 5)]
    assert await consumer.fetch(isolation_level=1) == {}
    found = await consumer.fetch(isolation_level=0)
    assert found["orders", 5]["records"]


async def test_all_partitions_are_read_after_some_seconds(it: OneNode) -> None:
    consumer = await begun(it)
    log = it.log("orders")
    log.append(_batch(), now_ms=START_MS)  # not noted
    assert await consumer.fetch() == {}
    await asyncio.sleep(READ_ALL_AFTER_MS / 1000)
    assert list(await consumer.fetch()) == [("orders", 0)]


async def test_appends_of_a_coordinator_are_read_though_not_noted(it: OneNode) -> None:
    it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    consumer = Consumer(it)
    await consumer.fetch((CONSUMER_OFFSETS, 0, 0))
    assert await consumer.fetch() == {}
    log = it.log(CONSUMER_OFFSETS)
    log.append(_batch(), now_ms=START_MS)
    assert list(await consumer.fetch()) == [(CONSUMER_OFFSETS, 0)]


def _batch(**header: Any) -> bytearray:
    from ottla.protocol.batch import build

    return build([(b"k", b"v")], timestamp_ms=START_MS, **header)


class _History:
    """Random changes and fetches of two consumers; one reads all partitions each time."""

    def __init__(self, it: OneNode, seed: int) -> None:
        self.it = it
        self.draw = random.Random(seed)
        self.tracking, self.naive = Consumer(it), Consumer(it)
        self.offsets: dict[tuple[str, int], int] = {}
        self.open: dict[tuple[str, int], int] = {}
        self.producers = 100
        self.named = {(name, at) for name in "ab" for at in range(3)}

    def there(self) -> list[tuple[str, int]]:
        topics = self.it.node.catalog.topics
        return [(name, at) for name in ("a", "b") if name in topics for at in range(3)]

    def change(self) -> None:
        places = self.there()
        kind = self.draw.choice((*("append", "transaction", "end", "delete") * 3, "topic"))
        if kind == "topic":
            name = self.draw.choice("ab")
            if name in self.it.node.catalog.topics:
                self.it.node.controller.delete_topic(name)
                self.open = {place: pid for place, pid in self.open.items() if place[0] != name}
            else:
                self.it.topic(name, 3)
            return
        if not places:
            return
        place = self.draw.choice(places)
        if kind == "append":
            self.it.append(place[0], b"x", partition=place[1])
        elif kind == "delete":
            log = self.it.log(*place)
            log.delete_records(self.draw.randint(0, log.high_watermark))
        elif kind == "transaction" and place not in self.open:
            self.producers += 1
            self.open[place] = self.producers
            self.it.append(
                place[0], b"t", partition=place[1], producer_id=self.producers,
                producer_epoch=0, base_sequence=0, transactional=True,
            )  # fmt: skip
        elif kind == "end" and place in self.open:
            commit = self.draw.random() < 0.5
            batch = marker(
                commit=commit, producer_id=self.open.pop(place), producer_epoch=0,
                coordinator_epoch=0, timestamp_ms=START_MS,
            )  # fmt: skip
            log = self.it.log(*place)
            log.append_marker(batch, Marker(commit, 0), now_ms=START_MS)
            self.it.node.wake_fetches(log.topic, log.partition)

    async def fetch(self, isolation: int) -> None:
        parts = [(*place, offset) for place, offset in self.offsets.items()]
        changed = self.draw.sample(parts, self.draw.randint(0, len(parts))) if parts else []
        if self.tracking.epoch == 0:
            changed = [(name, at, 0) for name in "ab" for at in range(3)]
        dropped = []
        if self.tracking.epoch and self.draw.random() < 0.2:
            dropped = [(self.draw.choice("ab"), self.draw.randrange(3))]
            changed = [part for part in changed if part[:2] != dropped[0]]
        self.named = (self.named | {part[:2] for part in changed}) - set(dropped)
        if not self.named:  # an empty session would end
            self.named, dropped = set(dropped), []
        given = {"forgotten": dropped, "isolation_level": isolation}
        if not self.draw.randrange(3):
            given |= {"max_wait_ms": 50, "min_bytes": self.draw.choice((1, 200))}
        found = await self.tracking.fetch(*changed, **given)
        if self.naive.epoch:
            session = self.it.node.fetch_sessions._sessions[self.naive.session_id]
            session._read_all_ms -= READ_ALL_AFTER_MS
        expected = await self.naive.fetch(*changed, **given)
        assert found == expected
        for place in dropped:
            self.offsets.pop(place, None)
        for place, told in found.items():
            moved = max(told["log_start_offset"], 0)
            if told["error_code"] == 0:
                stable = told["last_stable_offset"] if isolation else told["high_watermark"]
                moved = self.draw.randint(min(moved, stable), stable)
            self.offsets[place] = moved
        self.offsets |= {} if self.draw.random() < 0.9 else dict.fromkeys(self.there(), 0)


@pytest.mark.parametrize("seed", range(10))
async def test_a_session_answers_as_if_all_partitions_were_read(it: OneNode, seed: int) -> None:
    history = _History(it, seed)
    it.topic("a", 3)
    for _ in range(40):
        for _ in range(history.draw.randint(0, 3)):
            history.change()
        await history.fetch(int((history.draw.random() < 0.05) is not (seed % 2 == 0)))

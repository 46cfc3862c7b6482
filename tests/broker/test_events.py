"""The stream of events of a whole node: events, observers, and the cost without observers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.broker.crash_points import CRASH_POINTS, AfterPoint
from ottla.broker.event_stream import Events
from ottla.broker.events import (
    ClockJumped,
    ConnectionClosed,
    ConnectionOpened,
    DecisionRefused,
    LeadersChanged,
    MarkerAppended,
    OffsetsMaterialized,
    RequestAnswered,
    RequestReceived,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.storage.disk.file_events import SegmentRolled
from tests.broker.net.listening_node import Client, listening_node
from tests.broker.observing import Heard, committed, hear
from tests.broker.one_node import OneNode, one_node, until
from tests.log_lines import LogLines


def points(events: list[Any]) -> list[str]:
    """The crash points that events reach, in their order."""
    return [
        name
        for event in events
        for name, is_reached in CRASH_POINTS.items()
        if is_reached(event) and name != "answered"
    ]


async def test_a_transaction_emits_an_event_for_each_step(tmp_path: Path) -> None:
    async with one_node(tmp_path, offsets_topic_num_partitions="1") as it:
        it.topic("orders", 2)
        heard = hear(it)
        await committed(it)
        reached = points(heard.events)
        assert reached[reached.index("prepare appended") :] == [
            "prepare appended",
            "offsets materialized", "marker appended", "marker appended", "marker appended",
            "complete appended", "prepare answered",
        ]  # fmt: skip
        assert "offset commit appended" in reached
        markers = heard.of(MarkerAppended)
        assert {(each.topic, each.partition) for each in markers} == {
            ("__consumer_offsets", 0), ("orders", 0), ("orders", 1)
        }  # fmt: skip
        assert all(each.commit for each in (*markers, *heard.of(OffsetsMaterialized)))


async def test_a_request_emits_an_event_when_it_comes_and_when_it_is_answered(it: OneNode) -> None:
    it.topic("orders")
    heard = hear(it)
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    await it.ask(
        ApiKey.FETCH, 4, max_wait_ms=50, min_bytes=1, max_bytes=1000,
        topics=[{"topic": "orders", "partitions": [part]}],
    )  # fmt: skip
    received, answered = heard.of(RequestReceived, RequestAnswered)
    assert tuple(received) == tuple(answered)
    assert isinstance(answered, RequestAnswered)
    assert (received.api_key, received.version, received.correlation_id) == (
        ApiKey.FETCH, 4, 7
    )  # fmt: skip


async def test_the_refusal_of_an_unknown_version_of_api_versions_is_an_answer(it: OneNode) -> None:
    heard = hear(it)
    await it.answer_to(it.frame(ApiKey.API_VERSIONS, 4)[:2] + b"\x00\x63" + bytes(8))
    received, answered = heard.events
    assert (type(received), type(answered)) == (RequestReceived, RequestAnswered)
    assert tuple(received) == tuple(answered)


async def test_refusals_of_coordinators_emit_events(it: OneNode) -> None:
    it.topic("orders", 2)
    shop = await committed(it)
    heard = hear(it)
    await shop.but(epoch=shop.epoch - 1).end(version=3)
    (refused,) = heard.of(DecisionRefused)
    assert (refused.topic, refused.code) == ("__transaction_state", Code.PRODUCER_FENCED)


async def test_new_leaders_and_jumps_of_the_clock_emit_events(it: OneNode) -> None:
    topic = it.topic("orders")
    heard = hear(it)
    it.node.cluster._leaders_changed(topic)
    it.clock.jumped(-5000)
    assert heard.events == [LeadersChanged("orders", ((1, 0),)), ClockJumped(-5000)]


async def test_the_wall_clock_is_watched_only_while_there_are_observers(it: OneNode) -> None:
    assert it.clock._observers == []
    heard = hear(it)
    assert len(it.clock._observers) == 1
    it.node.events.remove(heard)
    assert it.clock._observers == []


@pytest.mark.real_time
async def test_connections_emit_events_when_they_open_and_close(tmp_path: Path) -> None:
    async with listening_node(tmp_path) as (node, sockets):
        heard = Heard()
        node.events.add(heard)
        client = await Client.of(sockets)
        assert await client.answer()
        await client.leave()
        await until(lambda: bool(heard.of(ConnectionClosed)))
        opened, closed = heard.of(ConnectionOpened, ConnectionClosed)
        assert opened[:2] == closed[:2]
        assert opened.listener == "PLAINTEXT"


def test_an_observer_that_raises_is_removed_and_the_others_go_on(log_lines: LogLines) -> None:
    heard, stream = Heard(), Events()

    def fails(event: Any) -> None:
        raise ZeroDivisionError

    stream.add(fails)
    stream.add(heard)
    for by_ms in (1, 2):
        assert stream.tell is not None
        stream.tell(ClockJumped(by_ms))
    assert heard.events == [ClockJumped(1), ClockJumped(2)]
    ((_, event, _),) = log_lines.of("events").lines
    assert event == "an observer of events fails and is removed"


def test_each_observer_has_each_event_once() -> None:
    first, second, stream = Heard(), Heard(), Events()
    stream.add(first)
    stream.add(second)
    assert stream.tell is not None
    stream.tell(ClockJumped(1))
    assert first.events == second.events == [ClockJumped(1)]


def test_without_observers_there_is_nothing_to_call() -> None:
    stream, heard = Events(), Heard()
    assert stream.tell is None
    stream.add(heard)
    assert stream.tell is not None
    stream.remove(heard)
    assert stream.tell is None


def test_a_point_is_reached_for_the_third_time() -> None:
    reached: list[int] = []
    observer = AfterPoint("segment rolled", 3, lambda: reached.append(number))
    for number in range(6):
        observer(SegmentRolled("t-0/0.log", number))
    assert reached == [2]

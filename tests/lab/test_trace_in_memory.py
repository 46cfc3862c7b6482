"""Finding events in memory, also of a long trace, and while new ones come."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.broker.clock import SystemClock
from ottla.broker.event_stream import Events
from ottla.lab.tracing.trace import Tracer
from ottla.trace.events import Answer, Decision, Other, Request


@pytest.fixture
def tracer() -> Tracer:
    made = Tracer(Events(), SystemClock())
    made.start(ring=5000)
    return made


def fill(tracer: Tracer, count: int) -> None:
    """Requests of two APIs, each with an answer and a change."""
    for number in range(count):
        api = ("EndTxn", "Produce")[number % 2]
        cause = tracer.add(Request(api=api, version=1, client_id="[a]"))
        tracer.add(Answer(cause=cause, api=api))
        tracer.add(Decision(cause=cause))


async def test_a_follower_sees_each_event_once(tracer: Tracer) -> None:
    seen, after = [], 0
    for _ in range(20):
        fill(tracer, 10)
        while True:
            events, after = await tracer.find(after=after, limit=7)
            seen += [event["seq"] for event in events]
            if len(events) < 7:
                break
    assert seen == list(range(1, tracer.last + 1))
    assert await tracer.find(after=tracer.last) == ([], tracer.last)
    assert await tracer.find(after=tracer.last + 100) == ([], tracer.last + 100)


async def test_a_request_is_found_with_all_that_it_caused(tracer: Tracer) -> None:
    fill(tracer, 4)
    events, _ = await tracer.find(api="End*", client_id="[a]")
    assert [event["seq"] for event in events] == [1, 2, 3, 7, 8, 9]
    events, _ = await tracer.find(after=1, api="EndTxn", client_id="[?]", limit=3)
    assert [event["seq"] for event in events] == [2, 3, 7]
    assert (await tracer.find(client_id="b*"))[0] == []


async def test_events_that_come_meanwhile_are_left_for_later(tracer: Tracer) -> None:
    fill(tracer, 1500)
    finding = asyncio.ensure_future(tracer.find(limit=10_000, kind="*"))
    await asyncio.sleep(0)
    fill(tracer, 1000)  # the ring drops those that are being looked at
    events, after = await finding
    assert [event["seq"] for event in events] == list(range(1, 4501))
    assert after == 4500
    assert len((await tracer.find(after=after))[0]) == 3000


async def test_a_trace_that_was_forgotten_goes_on_with_its_numbers(tracer: Tracer) -> None:
    fill(tracer, 2)
    tracer.clear()
    fill(tracer, 1)
    assert [event["seq"] for event in (await tracer.find())[0]] == [7, 8, 9]
    tracer.start(ring=2)
    assert [event["seq"] for event in (await tracer.find(after=7))[0]] == [8, 9]


async def test_any_text_can_be_written_to_the_file(tracer: Tracer, tmp_path: Path) -> None:
    """A path may have bytes that are no UTF-8."""
    file = tmp_path / "trace.jsonl"
    tracer.start(file=file)
    tracer.add(Other(kind="segment_rolled", fields={"path": "/data/\udcff"}))
    tracer.stop()
    assert b"udcff" in file.read_bytes()

"""What holds the event loop is counted under the name of its work."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from ottla.broker.metrics import Metrics, collect
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.requests.measured_dispatch import measure_requests
from ottla.broker.scheduling.holds import BUCKETS_S, LIMIT_S, Holds, work_of
from ottla.broker.scheduling.measured_loop import MeasuredLoop
from ottla.broker.scheduling.turns import set_slice_s
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Malformed
from tests.broker.one_node import OneNode, one_node

pytestmark = pytest.mark.real_time

DOCS = Path(__file__).resolve().parents[3] / "docs/reference/metrics.md"

LONG_S = 2 * LIMIT_S


class Time:
    """A time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def passes(self, seconds: float) -> None:
        self.now_s += seconds


def counting() -> tuple[Time, Holds]:
    time = Time()
    return time, Holds(lambda: time.now_s)


def test_a_long_piece_is_counted_with_the_name_of_its_function() -> None:
    time, holds = counting()

    def slow() -> None:
        time.passes(LONG_S)

    holds.run(slow)
    (name,) = holds.longest_s
    assert name.endswith("slow")
    assert holds.over_limit == {name: 1}
    assert holds.longest_s[name] == pytest.approx(LONG_S)


def test_a_piece_at_the_limit_is_not_long() -> None:
    time, holds = counting()
    time.now_s = 0.0
    holds.run(time.passes, LIMIT_S)
    assert not holds.over_limit
    assert list(holds.longest_s.values()) == [LIMIT_S]


def test_the_time_of_inner_work_does_not_count_for_the_outer() -> None:
    time, holds = counting()

    def outer() -> None:
        time.passes(0.003)
        for _ in range(2):
            inner = holds.begin()
            time.passes(LONG_S)
            holds.end(inner, "METADATA")
        time.passes(0.003)

    holds.run(outer)
    holds.run(time.passes, 0.002)
    assert holds.over_limit == {"METADATA": 2}
    (other,) = holds.longest_s.keys() - {"METADATA", "Time.passes"}
    assert holds.longest_s[other] == pytest.approx(0.006)
    assert holds.longest_s["Time.passes"] == pytest.approx(0.002)


def test_a_piece_that_raises_is_counted() -> None:
    time, holds = counting()

    def fails() -> None:
        time.passes(LONG_S)
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        holds.run(fails)
    assert holds.over_limit.total() == 1


def test_a_duration_is_in_the_first_bucket_that_holds_it() -> None:
    time, holds = counting()
    time.now_s = 0.0
    for took_s in (0.0, BUCKETS_S[0] * 1.01, BUCKETS_S[-1] * 2):
        begun = holds.begin()
        time.passes(took_s)
        holds.end(begun, "FETCH")
    counts = holds.pieces.counts
    assert (counts[0], counts[1], counts[-1], sum(counts)) == (1, 1, 1, 3)


def test_a_late_timer_is_counted_by_its_delay() -> None:
    time, holds = counting()
    holds.run_timer(time.now_s - LONG_S, time.passes, 0.0)
    holds.run_timer(time.now_s + 1, time.passes, 0.0)  # called a little early
    assert holds.lags.sum_s == pytest.approx(LONG_S)
    assert sum(holds.lags.counts) == 2


def test_the_longest_pieces_are_of_the_time_since_they_were_taken() -> None:
    time, holds = counting()
    holds.run(time.passes, LONG_S)
    assert list(holds.take_longest().values()) == [pytest.approx(LONG_S)]
    assert holds.take_longest() == {}
    assert holds.over_limit.total() == 1


def test_the_measured_loop_counts_tasks_timers_and_calls() -> None:
    time, holds = counting()

    async def scene() -> None:
        loop = asyncio.get_running_loop()

        async def steps() -> None:
            time.passes(LONG_S)
            await asyncio.sleep(0)
            time.passes(LONG_S)

        await asyncio.create_task(steps(), name="retention")
        called = asyncio.Event()
        loop.call_later(0.0, time.passes, LONG_S)
        loop.call_later(0.001, called.set)
        await called.wait()
        await asyncio.to_thread(loop.call_soon_threadsafe, partial(time.passes, LONG_S))
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=partial(MeasuredLoop, holds)) as runner:
        runner.run(scene())
    assert holds.over_limit == {"retention": 2, "Time.passes": 1, "partial": 1}
    assert sum(holds.lags.counts) >= 2


async def test_an_unnamed_task_has_the_name_of_its_coroutine() -> None:
    async def unnamed() -> None:
        pass

    task = asyncio.create_task(unnamed())
    name = work_of(task.cancelling)  # as a step of the task, it belongs to it
    await task
    assert name.endswith("unnamed")


async def test_a_request_is_counted_with_the_name_of_its_api(it: OneNode) -> None:
    holds = Holds(partial(next, count(0.0, LONG_S)))  # each piece is a long one
    dispatch = Dispatch(it.node, [partial(measure_requests, holds)])
    dispatch.serve(memoryview(it.frame(ApiKey.API_VERSIONS, 0)), it.connection)
    with pytest.raises(Malformed):
        dispatch.serve(memoryview(b"\x7f\xff\0\0\0\0\0\0"), it.connection)
    assert holds.over_limit == {"API_VERSIONS": 1, "unknown API": 1}


async def test_a_request_that_waits_is_a_task_with_the_name_of_its_api(tmp_path: Path) -> None:
    set_slice_s(0.0)
    async with one_node(tmp_path) as it:
        it.topic("orders", 200)
        topics = [{"topic_id": None, "name": "orders"}]
        _, answered = it.begin(ApiKey.METADATA, 12, topics=[*topics] * 200)
        assert isinstance(answered, asyncio.Task)
        assert answered.get_name() == "METADATA"
        await answered


async def test_the_docs_name_every_metric_of_the_loop(tmp_path: Path) -> None:
    time, holds = counting()
    begun = holds.begin()
    time.passes(LONG_S)
    holds.end(begun, "FETCH")
    async with one_node(tmp_path) as it:
        Metrics([it.node])
        it.node.cluster.holds = holds
        families = {each.name: each for each in collect([it.node])}
        again = {each.name: each for each in collect([it.node])}
    loops = [each for name, each in families.items() if name.startswith("ottla_loop")]
    assert len(loops) == 4
    for family in loops:
        name = family.name + ("_total" if family.type == "counter" else "")
        assert f"`{name}` | {family.type} |" in DOCS.read_text(), name
    (longest,) = families["ottla_loop_longest_hold_seconds"].samples
    assert longest.labels == {"work": "FETCH"}
    assert longest.value == pytest.approx(LONG_S)
    assert not again["ottla_loop_longest_hold_seconds"].samples
    buckets = {
        each.labels["le"]: each.value
        for each in families["ottla_loop_hold_seconds"].samples
        if each.name.endswith("_bucket")
    }
    assert buckets == {
        "0.001": 0, "0.005": 0, "0.02": 0, "0.1": 1, "0.5": 1, "+Inf": 1,
    }  # fmt: skip

"""The manual clock on uvloop: order, times, rest, jumps, and what goes on in real time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from ottla.lab.manual_clock import MOST_ROUNDS, ManualClock

START_MS = 1_700_000_000_000


def on_a_loop(act: Callable[[ManualClock], Awaitable[None]]) -> Callable[[], None]:
    """A test that runs on a uvloop of its own, with a clock of it."""

    def test() -> None:
        async def run() -> None:
            await act(ManualClock(START_MS))

        uvloop.run(run())

    test.__doc__ = act.__doc__
    return test


@on_a_loop
async def test_timers_are_called_in_order_each_at_its_time(clock: ManualClock) -> None:
    called: list[tuple[str, int]] = []
    began_ms = clock.monotonic_ms()

    def note(name: str) -> None:
        called.append((name, clock.monotonic_ms() - began_ms))
        assert clock.now_ms() - START_MS == clock.monotonic_ms() - began_ms

    clock.call_after_ms(300, note, "c")
    clock.call_after_ms(100, note, "a")
    clock.call_after_ms(200, clock.call_after_ms, 50, note, "b")
    clock.call_after_ms(150, note, "never").cancel()
    clock.call_after_ms(1001, note, "later")
    await clock.advance_ms(1000)
    assert called == [("a", 100), ("b", 250), ("c", 300)]
    assert clock.now_ms() == START_MS + 1000
    await clock.advance_ms(1)
    assert called[3:] == [("later", 1001)]


@on_a_loop
async def test_the_work_of_a_timer_ends_before_the_next_timer(clock: ManualClock) -> None:
    steps: list[str] = []

    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.to_thread(time.sleep, 0.02)
        steps.append("worked")

    running = []
    clock.call_after_ms(1, lambda: running.append(asyncio.ensure_future(work())))
    clock.call_after_ms(2, steps.append, "next")
    await clock.advance_ms(10)
    assert steps == ["worked", "next"]


@on_a_loop
async def test_an_advance_waits_for_work_in_the_background(clock: ManualClock) -> None:
    left = [5]

    def is_busy() -> bool:
        left[0] -= 1
        return left[0] > 0

    clock.is_busy = is_busy
    await clock.advance_ms(1)
    assert left[0] <= 0


@on_a_loop
async def test_a_timer_that_is_due_already_is_called_in_the_next_turn(clock: ManualClock) -> None:
    called: list[str] = []
    clock.call_after_ms(0, called.append, "now")
    clock.call_at_ms(clock.monotonic_ms() - 5, called.append, "late")
    assert called == []
    await asyncio.sleep(0)
    assert called == ["now", "late"]
    await clock.sleep_ms(0)


@on_a_loop
async def test_a_jump_back_calls_no_timer(clock: ManualClock) -> None:
    called: list[int] = []
    clock.on_jump(called.append)
    clock.call_after_ms(10, called.append, 10)
    before_ms = clock.monotonic_ms()
    await clock.advance_ms(-3_600_000)
    assert called == [-3_600_000]
    assert (clock.now_ms(), clock.monotonic_ms()) == (START_MS - 3_600_000, before_ms)
    await clock.advance_ms(10)
    assert called[1:] == [10]


@on_a_loop
async def test_live_waits_end_in_real_time_or_by_an_advance(clock: ManualClock) -> None:
    await clock.live.sleep_ms(5)
    called: list[int] = []
    clock.live.call_after_ms(60_000, lambda: called.append(clock.now_ms() - START_MS))
    clock.call_after_ms(30_000, called.append, 30_000)
    await clock.advance_ms(59_000)
    assert called == [30_000]
    await clock.advance_ms(2_000)
    assert 59_000 <= called[1] <= 60_000


@on_a_loop
async def test_waits_that_begin_in_an_advance_do_not_repeat_in_it(clock: ManualClock) -> None:
    polls: list[int] = []

    def poll() -> None:
        polls.append(len(polls))
        clock.live.call_after_ms(60_000, poll)

    clock.live.call_after_ms(60_000, poll)
    await clock.advance_ms(86_400_000)
    assert polls == [0]


@on_a_loop
async def test_advances_follow_each_other(clock: ManualClock) -> None:
    called: list[int] = []
    clock.call_after_ms(15, lambda: called.append(clock.now_ms() - START_MS))
    await asyncio.gather(clock.advance_ms(10), clock.advance_ms(10))
    assert called == [15]
    assert clock.now_ms() == START_MS + 20


@pytest.mark.parametrize("given", ["manuel", "manual:", "manual:x", "real"])
def test_a_wrong_clock_is_refused(given: str) -> None:
    from ottla.console.options import CannotRun
    from ottla.serving.serve import serve

    with pytest.raises(CannotRun, match="the clocks are system, manual and manual:MS"):
        serve(["--clock", given])


@on_a_loop
async def test_a_job_makes_few_rounds_in_a_long_advance_and_one_at_its_end(
    clock: ManualClock,
) -> None:
    rounds: list[int] = []

    async def job() -> None:
        while True:
            await clock.sleep_ms(15_000)
            rounds.append(clock.now_ms() - START_MS)

    running = asyncio.ensure_future(job())
    await clock.advance_ms(60_000)
    assert rounds == [15_000, 30_000, 45_000, 60_000]
    await clock.advance_ms(86_400_000)
    assert len(rounds) < 4 + MOST_ROUNDS + 2
    assert rounds[-1] == 86_460_000
    await clock.advance_ms(15_000)
    assert rounds[-1] == 86_475_000
    running.cancel()


@on_a_loop
async def test_a_limit_is_reached_when_exactly_its_time_has_passed(clock: ManualClock) -> None:
    """At whatever time of the machine, although its seconds are rounded."""
    for start_ms in range(1_500_000, 1_501_000):
        clock._start_ms = start_ms
        began_s = clock.monotonic_s()
        await clock.advance_ms(600_000)
        assert clock.monotonic_s() - began_s >= 600
        clock.passed_ms = 0.0

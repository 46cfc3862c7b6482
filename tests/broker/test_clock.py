"""The clock: timers, limits of time, and jumps of the wall clock."""

from __future__ import annotations

import asyncio

import pytest

from ottla.broker.clock import JUMP_CHECK_MS, JUMP_MS, Clock, SystemClock, within_ms
from ottla.lab.manual_clock import ManualClock
from tests.clocks import LoopClock, StillClock, VirtualClock, at_rest


def test_each_clock_is_one() -> None:
    clocks: list[Clock] = [SystemClock(), LoopClock(), StillClock(), VirtualClock()]
    for clock in clocks:
        assert clock.monotonic_ms() == pytest.approx(clock.monotonic_s() * 1000, abs=5) or (
            isinstance(clock, StillClock)
        )


def test_both_times_are_those_of_the_clock() -> None:
    still, virtual = StillClock(), VirtualClock()
    still.wall_ms, still.passed_ms = 7, 5
    virtual.jump_ms(3)
    clocks: list[Clock] = [still, virtual, LoopClock(), ManualClock(9), ManualClock(9).live]
    for clock in clocks:
        wall_ms, monotonic_ms = clock.both_ms()
        assert wall_ms == clock.now_ms()
        assert monotonic_ms == pytest.approx(clock.monotonic_ms(), abs=1000)
    before, (wall_ms, monotonic_ms) = SystemClock().now_ms(), SystemClock().both_ms()
    assert before <= wall_ms <= SystemClock().now_ms()
    assert monotonic_ms == pytest.approx(SystemClock().monotonic_ms(), abs=1000)


async def test_a_jump_of_the_wall_clock_is_reported_at_the_next_check() -> None:
    clock, told = LoopClock(), list[int]()
    watching = clock.on_jump(told.append)
    await asyncio.sleep(2 * JUMP_CHECK_MS / 1000)
    assert told == []
    clock.step_ms -= 5000
    await asyncio.sleep(JUMP_CHECK_MS / 1000)
    assert told == [-5000]
    clock.step_ms += JUMP_MS
    await asyncio.sleep(JUMP_CHECK_MS / 1000)
    assert told == [-5000], "clocks are corrected by little all the time"
    watching.cancel()
    clock.step_ms += 5000
    await asyncio.sleep(2 * JUMP_CHECK_MS / 1000)
    assert told == [-5000]


async def test_a_block_beyond_its_limit_is_cancelled() -> None:
    with pytest.raises(TimeoutError):
        async with within_ms(LoopClock(), 100):
            await asyncio.sleep(1)
    assert asyncio.get_running_loop().time() == 0.1


async def test_a_block_within_its_limit_is_not() -> None:
    async with within_ms(LoopClock(), 100):
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)


@pytest.mark.real_time
async def test_virtual_time_runs_due_timers_in_order() -> None:
    clock, called = VirtualClock(), list[tuple[str, int]]()

    def call(name: str) -> None:
        called.append((name, clock.monotonic_ms()))
        if name == "a":
            clock.call_after_ms(5, call, "c")

    clock.call_at_ms(20, call, "b")
    clock.call_at_ms(10, call, "a")
    clock.call_at_ms(16, call, "cancelled").cancel()
    await clock.advance_ms(18)
    assert called == [("a", 10), ("c", 15)]
    await clock.advance_ms(2)
    assert called[2:] == [("b", 20)]


@pytest.mark.real_time
async def test_tasks_come_to_rest_before_virtual_time_goes_on() -> None:
    clock, seen = VirtualClock(), list[int]()

    async def three_times() -> None:
        for _ in range(3):
            await clock.sleep_ms(1000)
            await asyncio.sleep(0)
            seen.append(clock.monotonic_ms())

    task = asyncio.create_task(three_times())
    await clock.advance_ms(10_000)
    assert seen == [1000, 2000, 3000]
    await at_rest()
    assert task.done()


@pytest.mark.real_time
async def test_a_block_within_its_limit_leaves_no_timer() -> None:
    clock = VirtualClock()
    async with within_ms(clock, 100):
        assert len(clock.pending()) == 1
    assert clock.pending() == []


@pytest.mark.real_time
async def test_the_wall_clock_is_compared_only_while_there_are_observers() -> None:
    clock, told = VirtualClock(), list[int]()
    for _ in range(2):
        watching = clock.on_jump(told.append)
        assert len(clock.pending()) == 1
        watching.cancel()
        watching.cancel()
        assert clock.pending() == []
        clock._wall_ms += 5000  # not observed
    clock.on_jump(told.append)
    await clock.advance_ms(2 * JUMP_CHECK_MS)
    assert told == []

"""Long work in slices: the pauses, and the order in which work continues."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

from ottla.broker.scheduling import turns as module
from ottla.broker.scheduling.turns import RequestTurns, Turns, measure_slices_by, set_slice_s
from tests.broker.fakes import settle


class Watch:
    """A monotonic clock that is moved by hand; it measures the slices of the running loop."""

    def __init__(self) -> None:
        self.now_s = 100.0
        measure_slices_by(lambda: self.now_s)


def is_done_at_once(coroutine: Coroutine[Any, Any, None]) -> bool:
    """Whether a coroutine ends in its first step; if not, it is closed."""
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    coroutine.close()
    return False


async def test_a_job_pauses_when_its_slice_is_used_up() -> None:
    watch = Watch()
    turns = Turns()
    watch.now_s += module.SLICE_S / 2
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())
    watch.now_s += module.SLICE_S / 2
    assert turns.is_over()
    assert not is_done_at_once(turns.pause())


async def test_a_job_has_a_whole_slice_after_a_pause() -> None:
    watch = Watch()
    turns = Turns()
    watch.now_s += module.SLICE_S
    await turns.pause()
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())


async def test_the_slices_of_an_event_loop_may_have_another_length() -> None:
    watch = Watch()
    set_slice_s(7.0)
    turns = Turns()
    watch.now_s += 6.9
    assert not turns.is_over()
    watch.now_s += 0.1
    assert turns.is_over()
    await turns.pause()
    watch.now_s += 6.9
    assert not turns.is_over()


async def test_jobs_that_begin_in_one_turn_share_one_slice() -> None:
    watch = Watch()
    first = Turns()
    watch.now_s += module.SLICE_S
    second = Turns()
    assert first.is_over()
    assert second.is_over()
    await asyncio.sleep(0)
    assert not Turns().is_over()


async def test_each_turn_resumes_one_paused_job_in_order() -> None:
    watch = Watch()
    steps: list[tuple[int, str]] = []
    turn = 0

    async def work(name: str) -> None:
        turns = Turns()
        for _ in range(3):
            watch.now_s += module.SLICE_S
            await turns.pause()
            steps.append((turn, name))

    async with asyncio.TaskGroup() as group:
        jobs = [group.create_task(work(name)) for name in "abc"]
        while not all(job.done() for job in jobs):
            await asyncio.sleep(0)
            turn += 1
    assert "".join(name for _, name in steps) == "abcabcabc"
    assert len({turn for turn, _ in steps}) == len(steps)


async def test_a_job_that_is_cancelled_in_its_pause_stops_no_other() -> None:
    watch = Watch()

    async def work() -> None:
        turns = Turns()
        watch.now_s += module.SLICE_S
        await turns.pause()

    cancelled, other = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    cancelled.cancel()
    await other
    assert cancelled.cancelled()


def test_without_an_event_loop_a_job_never_pauses() -> None:
    turns = Turns()
    assert turns._ends_s == math.inf
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())


async def test_a_loop_over_each_item_pauses_between_them() -> None:
    watch = Watch()
    turns, turn, seen = Turns(), 0, []

    async def work() -> None:
        async for item in turns.each("abc"):
            seen.append((turn, item))
            watch.now_s += module.SLICE_S

    job = asyncio.create_task(work())
    while not job.done():
        await asyncio.sleep(0)
        turn += 1
    assert "".join(item for _, item in seen) == "abc"
    assert len({turn for turn, _ in seen}) == len(seen)


async def test_few_requests_go_on_at_a_time_and_the_others_in_their_order() -> None:
    watch = Watch()
    begun: list[int] = []
    running = most = 0

    async def request(number: int) -> None:
        nonlocal running, most
        turns = RequestTurns()
        watch.now_s += module.SLICE_S
        await turns.pause()
        begun.append(number)
        running += 1
        most = max(most, running)
        for _ in range(5):
            watch.now_s += module.SLICE_S
            await turns.pause()
        running -= 1
        turns.leave()

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(request(number))
    assert begun == [*range(20)]
    assert most == module._SLOTS


async def test_a_cancelled_request_frees_its_slot() -> None:
    watch = Watch()

    async def request() -> None:
        turns = RequestTurns()
        watch.now_s += module.SLICE_S
        try:
            await turns.pause()
            await asyncio.Event().wait()
        finally:
            turns.leave()

    def begin() -> list[asyncio.Task[None]]:
        return [asyncio.create_task(request()) for _ in range(module._SLOTS)]

    async def cancel(requests: list[asyncio.Task[None]]) -> None:
        for each in requests:
            each.cancel()
        await asyncio.wait(requests)

    inside, outside = begin(), begin()
    await settle()
    await cancel(inside)  # gives its places to those that wait for one, in this turn
    await cancel(outside)
    later = RequestTurns()
    watch.now_s += module.SLICE_S
    await later.pause()


async def test_a_slot_granted_to_a_cancelled_request_goes_to_the_next() -> None:
    watch = Watch()
    turns = [RequestTurns() for _ in range(module._SLOTS)]
    watch.now_s += module.SLICE_S
    for each in turns:
        await each.pause()
    late = RequestTurns()
    watch.now_s += module.SLICE_S
    waiting = asyncio.ensure_future(late.pause())
    await settle()
    turns[0].leave()
    waiting.cancel()
    await settle()
    last = RequestTurns()
    watch.now_s += module.SLICE_S
    await last.pause()

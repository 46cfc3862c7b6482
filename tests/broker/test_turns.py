"""Long work in slices: when it pauses, and who goes next."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ottla.broker import turns as module
from ottla.broker.turns import Turns
from tests.broker.fakes import in_virtual_time


class Watch:
    """A monotonic clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(module, "monotonic_s", lambda: self.now_s)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def is_done_at_once(coroutine: Coroutine[Any, Any, None]) -> bool:
    """Whether a coroutine ends in its first step; if not, it is closed."""
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    coroutine.close()
    return False


@in_virtual_time
async def _pauses_when_its_slice_is_used_up(watch: Watch) -> None:
    turns = Turns()
    watch.now_s += module.SLICE_S / 2
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())
    watch.now_s += module.SLICE_S / 2
    assert turns.is_over()
    assert not is_done_at_once(turns.pause())


def test_a_job_pauses_when_its_slice_is_used_up(watch: Watch) -> None:
    _pauses_when_its_slice_is_used_up(watch)


@in_virtual_time
async def _has_a_new_slice_after_a_pause(watch: Watch) -> None:
    turns = Turns()
    watch.now_s += module.SLICE_S
    await turns.pause()
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())


def test_a_job_has_a_whole_slice_after_a_pause(watch: Watch) -> None:
    _has_a_new_slice_after_a_pause(watch)


@in_virtual_time
async def _share_one_slice(watch: Watch) -> None:
    first = Turns()
    watch.now_s += module.SLICE_S
    second = Turns()
    assert first.is_over()
    assert second.is_over()
    await asyncio.sleep(0)
    assert not Turns().is_over()


def test_jobs_that_begin_in_one_turn_share_one_slice(watch: Watch) -> None:
    _share_one_slice(watch)


@in_virtual_time
async def _one_job_goes_in_a_turn(watch: Watch) -> None:
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


def test_of_many_paused_jobs_one_goes_in_each_turn_and_each_in_its_order(watch: Watch) -> None:
    _one_job_goes_in_a_turn(watch)


@in_virtual_time
async def _a_cancelled_job_stops_no_other(watch: Watch) -> None:
    async def work() -> None:
        turns = Turns()
        watch.now_s += module.SLICE_S
        await turns.pause()

    cancelled, other = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    cancelled.cancel()
    await other
    assert cancelled.cancelled()


def test_a_job_that_is_cancelled_in_its_pause_stops_no_other(watch: Watch) -> None:
    _a_cancelled_job_stops_no_other(watch)


def test_without_an_event_loop_a_job_never_pauses(watch: Watch) -> None:
    turns = Turns()
    watch.now_s += 1000
    assert not turns.is_over()
    assert is_done_at_once(turns.pause())

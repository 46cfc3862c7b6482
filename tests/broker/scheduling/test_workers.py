"""Work in threads: where it runs, and how it ends when the broker stops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ottla.broker.scheduling.workers import Workers

pytestmark = pytest.mark.real_time


def _where() -> str:
    return threading.current_thread().name


def test_work_runs_in_a_thread_that_is_made_for_the_first_of_it() -> None:
    workers = Workers()
    before = threading.active_count()
    assert asyncio.run(workers.run(_where)).startswith("worker")
    assert threading.active_count() == before + 1
    workers.close()
    assert threading.active_count() == before


def test_an_exception_of_the_work_reaches_the_waiting_task() -> None:
    workers = Workers()

    def work() -> None:
        raise KeyError("topic")

    with pytest.raises(KeyError, match="topic"):
        asyncio.run(workers.run(work))
    workers.close()


def test_without_an_event_loop_work_runs_at_once() -> None:
    asked = Workers().run(_where)
    with pytest.raises(StopIteration) as done:
        asked.send(None)
    assert done.value.value == _where()


def test_after_close_work_runs_at_once_and_makes_no_thread() -> None:
    workers = Workers()
    workers.close()
    assert asyncio.run(workers.run(_where)) == _where()


async def test_work_that_is_only_started_runs_in_a_thread() -> None:
    workers = Workers()
    ran: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(ran.put_nowait, _where())

    workers.start(work)
    assert (await ran.get()).startswith("worker")
    workers.close()
    threads = threading.active_count()
    workers.start(work)
    assert threading.active_count() == threads, "nothing starts after the end"
    assert ran.empty()


def test_without_an_event_loop_nothing_is_started() -> None:
    workers = Workers()
    threads = threading.active_count()
    workers.start(lambda: pytest.fail("started"))
    assert threading.active_count() == threads

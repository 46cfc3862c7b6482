"""Long work is done beside the requests, a few at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from ottla.broker.scheduling.long_work import AT_A_TIME, LongWork
from ottla.broker.scheduling.workers import Workers
from ottla.protocol.errors import Code, Refused
from ottla.storage.steps import Steps, elsewhere

pytestmark = pytest.mark.real_time


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


async def test_steps_run_to_their_end_and_blocking_ones_in_a_thread(workers: Workers) -> None:
    def steps() -> Steps[tuple[str, str]]:
        yield None
        there = yield from elsewhere(lambda: threading.current_thread().name)
        return threading.current_thread().name, there

    here, there = await LongWork(workers).run(steps())
    assert here == threading.current_thread().name
    assert there.startswith("worker")


@pytest.mark.parametrize("blocks", [False, True])
async def test_an_exception_of_a_step_is_raised_and_frees_its_slot(
    workers: Workers, blocks: bool
) -> None:
    def refuse() -> None:
        raise Refused(Code.INVALID_RECORD)

    def steps() -> Steps[None]:
        if blocks:
            yield refuse
        refuse()
        yield None

    work = LongWork(workers)
    for _ in range(AT_A_TIME + 1):
        with pytest.raises(Refused):
            await work.run(steps())


async def test_open_work_is_bounded_and_first_come_first_served(workers: Workers) -> None:
    open_now: list[int] = []
    order: list[int] = []
    go_on, all_open = threading.Event(), asyncio.Event()

    def steps(number: int) -> Steps[None]:
        yield None
        open_now.append(number)
        assert len(open_now) <= AT_A_TIME
        order.append(number)
        if len(open_now) == AT_A_TIME:
            all_open.set()
        yield from elsewhere(go_on.wait)
        open_now.remove(number)

    work = LongWork(workers)
    jobs = [asyncio.ensure_future(work.run(steps(number))) for number in range(3 * AT_A_TIME)]
    await all_open.wait()
    jobs[AT_A_TIME].cancel()  # its client has gone
    go_on.set()
    await asyncio.gather(*jobs, return_exceptions=True)
    assert order == [number for number in range(3 * AT_A_TIME) if number != AT_A_TIME]


async def test_cancelled_work_frees_its_slot(workers: Workers) -> None:
    def endless() -> Steps[None]:
        while True:
            yield None

    def one() -> Steps[int]:
        yield None
        return 1

    work = LongWork(workers)
    jobs = [asyncio.ensure_future(work.run(endless())) for _ in range(AT_A_TIME)]
    last = asyncio.ensure_future(work.run(one()))
    await asyncio.sleep(0)
    assert not last.done()
    jobs[0].cancel()
    assert await last == 1
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)

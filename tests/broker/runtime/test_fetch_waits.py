"""Long polls are woken by what they wait for, and leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from ottla.broker.runtime.fetching.fetch_waits import MOST_IN_A_TURN, FetchWaits

ORDERS, BILLS = ("orders", 0), ("bills", 3)


async def test_an_append_wakes_the_fetches_of_its_partition() -> None:
    waits = FetchWaits()
    orders, bills = waits.wait([ORDERS]), waits.wait([BILLS])
    waits.wake(*ORDERS)
    assert (orders.done(), bills.done()) == (True, False)


async def test_an_append_wakes_no_fetch_of_another_partition() -> None:
    waits = FetchWaits()
    waiting = waits.wait([ORDERS])
    waits.wake("orders", 1)
    waits.wake("order", 0)
    assert not waiting.done()


async def test_a_fetch_of_many_partitions_is_woken_once_by_any() -> None:
    waits = FetchWaits()
    waiting = waits.wait([ORDERS, BILLS])
    waits.wake(*BILLS)
    waits.wake(*ORDERS)
    waits.wake(*BILLS)
    assert waiting.done()


async def test_an_append_wakes_all_fetches_of_its_partition() -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]) for _ in range(10)]
    everybody[3].cancel()
    waits.wake(*ORDERS)
    assert all(waiting.done() for waiting in everybody)


async def test_a_removed_fetch_is_not_woken_and_leaves_nothing_behind() -> None:
    waits = FetchWaits()
    places = [ORDERS, BILLS, ORDERS]  # a request may name a partition twice
    first, second = waits.wait(places), waits.wait([ORDERS])
    waits.forget(first, places)
    waits.forget(first, places)
    waits.wake(*ORDERS)
    assert (first.done(), second.done()) == (False, True)
    waits.forget(second, [ORDERS])
    assert waits._by_partition == {}


async def test_a_stop_wakes_all_fetches() -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]), waits.wait([BILLS]), waits.wait([ORDERS, BILLS])]
    waits.wake_all()
    assert all(waiting.done() for waiting in everybody)


async def test_a_wait_for_nothing_is_woken_by_nothing() -> None:
    waits = FetchWaits()
    waiting = waits.wait([])
    waits.wake_all()
    assert not waiting.done()


@pytest.mark.parametrize("how", ["appended", "wake"])
async def test_very_many_are_woken_some_in_a_turn_so_that_others_are_served_between(
    how: str,
) -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]) for _ in range(3 * MOST_IN_A_TURN + 1)]
    getattr(waits, how)(*ORDERS)
    woken: list[int] = []
    while not woken or woken[-1] < len(everybody):
        assert len(woken) < 10
        woken.append(sum(waiting.done() for waiting in everybody))
        await asyncio.sleep(0)
    assert woken == [MOST_IN_A_TURN * turn for turn in (1, 2, 3)] + [len(everybody)]
    assert {waiting.result() for waiting in everybody} == {how == "appended"}


async def test_one_that_waits_for_its_turn_and_ends_before_is_let_be() -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]) for _ in range(MOST_IN_A_TURN + 2)]
    waits.appended(*ORDERS)
    everybody[-1].set_result(False)
    everybody[-2].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not everybody[-1].result()

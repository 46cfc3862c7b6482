"""Long polls are woken by what they wait for, and leave nothing behind."""

from __future__ import annotations

from ottla.broker.fetch_waits import FetchWaits
from tests.broker.fakes import in_virtual_time

ORDERS, BILLS = ("orders", 0), ("bills", 3)


@in_virtual_time
async def test_an_append_wakes_who_waits_for_that_partition() -> None:
    waits = FetchWaits()
    orders, bills = waits.wait([ORDERS]), waits.wait([BILLS])
    waits.wake(*ORDERS)
    assert (orders.done(), bills.done()) == (True, False)


@in_virtual_time
async def test_other_partitions_of_a_topic_wake_nobody() -> None:
    waits = FetchWaits()
    waiting = waits.wait([ORDERS])
    waits.wake("orders", 1)
    waits.wake("order", 0)
    assert not waiting.done()


@in_virtual_time
async def test_who_waits_for_many_is_woken_by_any_and_once() -> None:
    waits = FetchWaits()
    waiting = waits.wait([ORDERS, BILLS])
    waits.wake(*BILLS)
    waits.wake(*ORDERS)
    waits.wake(*BILLS)
    assert waiting.done()


@in_virtual_time
async def test_all_who_wait_for_a_partition_are_woken() -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]) for _ in range(10)]
    everybody[3].cancel()
    waits.wake(*ORDERS)
    assert all(waiting.done() for waiting in everybody)


@in_virtual_time
async def test_who_is_forgotten_is_not_woken_and_nothing_is_left() -> None:
    waits = FetchWaits()
    places = [ORDERS, BILLS, ORDERS]  # a request may name a partition twice
    first, second = waits.wait(places), waits.wait([ORDERS])
    waits.forget(first, places)
    waits.forget(first, places)
    waits.wake(*ORDERS)
    assert (first.done(), second.done()) == (False, True)
    waits.forget(second, [ORDERS])
    assert waits._by_place == {}


@in_virtual_time
async def test_everybody_looks_again_when_the_broker_stops() -> None:
    waits = FetchWaits()
    everybody = [waits.wait([ORDERS]), waits.wait([BILLS]), waits.wait([ORDERS, BILLS])]
    waits.wake_all()
    assert all(waiting.done() for waiting in everybody)


@in_virtual_time
async def test_a_wait_for_nothing_is_woken_by_nothing() -> None:
    waits = FetchWaits()
    waiting = waits.wait([])
    waits.wake_all()
    assert not waiting.done()

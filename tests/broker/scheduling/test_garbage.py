"""Collections of garbage look at little at a time, and find all in the end."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.broker.scheduling.garbage import ALL_EVERY_S, Garbage
from tests.clocks import LoopClock

MANY, IN_A_TURN = 200_000, 1000


class Node:
    """Something that may be in a cycle."""

    def __init__(self) -> None:
        self.other: Node | None = None


@pytest.fixture
def garbage() -> Iterator[Garbage]:
    made = Garbage(LoopClock())
    yield made
    made.stop()
    gc.unfreeze()


async def make_many(kept: list[Any]) -> None:
    for _ in range(MANY // IN_A_TURN):
        kept += ([] for _ in range(IN_A_TURN))
        await asyncio.sleep(0)


@pytest.mark.real_time
async def test_a_collection_visits_only_objects_created_since_the_last(garbage: Garbage) -> None:
    looked_at = []

    def look(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            looked_at.append(sum(len(gc.get_objects(generation)) for generation in range(3)))

    garbage.start()
    gc.callbacks.append(look)
    kept: list[Any] = []
    try:
        await make_many(kept)
    finally:
        gc.callbacks.remove(look)
    assert len(looked_at) > 3
    assert max(looked_at) < MANY / 2


async def test_a_full_collection_finds_a_cycle_of_frozen_objects() -> None:
    garbage = Garbage(LoopClock())
    garbage.start()
    try:
        first, second = Node(), Node()
        first.other, second.other = second, first
        found = weakref.ref(first)
        await make_many([])
        kept: list[Any] = []
        await make_many(kept)
        del first, second
        gc.collect()
        assert found() is not None, "it was not frozen"
        await asyncio.sleep(ALL_EVERY_S + 1)
        assert found() is None
    finally:
        garbage.stop()
        gc.unfreeze()


@pytest.mark.real_time
async def test_after_the_stop_python_collects_as_before(garbage: Garbage) -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    garbage.start()
    assert gc.get_threshold()[2] > 1_000_000
    garbage.stop()
    assert gc.get_threshold() == before
    assert gc.callbacks == callbacks

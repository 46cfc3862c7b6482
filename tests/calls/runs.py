"""Runs all scenes on one node and counts the calls of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ..log_lines import quiet_log
from .broker_in_process import in_process
from .counting import Calls, Measure
from .scenes import ROWS, Row
from .world import World

WARM_UP: Final = 4
RUNS: Final = 3  # now and then an append makes an entry of an index; the median has none


class Counted(NamedTuple):
    """What one request needs."""

    calls: int
    files: int


Run = Callable[[Row, Measure | None], None]


@contextmanager
def prepared() -> Iterator[Run]:
    """Yields a function that runs a scene, with its requests measured or not."""
    with (
        TemporaryDirectory() as directory,
        quiet_log(),
        in_process(Path(directory)) as (broker, runner),
    ):

        async def begin() -> World:
            return World(broker)

        world = runner.run(begin())

        def run(row: Row, measure: Measure | None) -> None:
            broker.measure = measure
            runner.run(row.scene(world))

        yield run


def counted() -> dict[str, Counted]:
    """The calls and files of each row, by its name; the same in each process."""
    return {name: _middle(runs) for name, runs in _all_runs().items()}


def functions(name: str) -> dict[tuple[str, str], int]:
    """How often a row enters each function, by file and qualified name."""
    return _all_runs()[name][-1].by_function()


def _all_runs() -> dict[str, list[Calls]]:
    found: dict[str, list[Calls]] = {}
    with prepared() as run:
        for row in ROWS:
            for _ in range(WARM_UP):
                run(row, None)
            found[row.name] = [Calls() for _ in range(RUNS)]
            for calls in found[row.name]:
                run(row, calls)
    return found


def _middle(runs: list[Calls]) -> Counted:
    calls = median_low([each.count() for each in runs])
    return Counted(calls, median_low([each.files() for each in runs]))

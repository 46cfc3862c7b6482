"""Runs all scenes on one node and counts the calls of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median_low
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ottla.broker.node_orders import NodeOrders
from ottla.lab.lab import Lab

from ..log_lines import quiet_log
from .broker_in_process import InProcess, in_process
from .counting import Calls, Measure
from .scenes import ROWS, Row
from .world import World

if TYPE_CHECKING:
    from ottla.broker.net.sockets import NodeSockets

WARM_UP: Final = 4
RUNS: Final = 3  # now and then an append makes an entry of an index; the median has none


class Counted(NamedTuple):
    """What one request needs."""

    calls: int
    files: int


Run = Callable[[Row, Measure | None], None]


@contextmanager
def prepared(*, with_lab: bool = False) -> Iterator[Run]:
    """Yields a function that runs a scene, with its requests measured or not.

    Args:
        with_lab: the node has a lab whose trace was on and is off.
    """
    with (
        TemporaryDirectory() as directory,
        quiet_log(),
        in_process(Path(directory)) as (broker, runner),
    ):

        async def begin() -> World:
            if with_lab:
                use_and_leave_lab(broker)
            return World(broker)

        world = runner.run(begin())

        def run(row: Row, measure: Measure | None) -> None:
            broker.measure = measure
            runner.run(row.scene(world))

        yield run


def use_and_leave_lab(broker: InProcess) -> None:
    """Open a lab on the node, trace it, add a rule, and end both."""
    served = {broker.node: cast("NodeSockets", broker)}
    lab = Lab(served, NodeOrders(served))
    lab.set_trace({"on": True})
    lab.add_fault({"match": {"api": "Produce"}, "action": {"kind": "delay", "ms": 1}})
    lab.set_trace({"on": False})
    lab.clear_faults()


def counted(*, with_lab: bool = False) -> dict[str, Counted]:
    """The calls and files of each row, by its name; the same in each process."""
    return {name: _middle(runs) for name, runs in _all_runs(with_lab=with_lab).items()}


def functions(name: str) -> dict[tuple[str, str], int]:
    """How often a row enters each function, by file and qualified name."""
    return _all_runs()[name][-1].by_function()


def _all_runs(*, with_lab: bool = False) -> dict[str, list[Calls]]:
    found: dict[str, list[Calls]] = {}
    with prepared(with_lab=with_lab) as run:
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

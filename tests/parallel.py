"""Shares out tests to several processes (pytest -n).

The tests of a file stay in one process, because they share fixtures. Spark's tests stay together,
because one session serves them all. The planted bugs of the simulations share nothing, nor do
their seeds after the first hundred, which all tests of a simulation look at and only one runs.
Files whose tests wait for clients and brokers take turns with those that only compute, and begin
first: the others have the processors meanwhile, and no process is left alone with one at the end.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = "tests/spark/"
SIMULATIONS = "tests/simulation/"
# Folders whose tests mostly wait, the longest first.
WAITING = (
    SPARK, "tests/cluster/", SIMULATIONS, "tests/crash/", "tests/lab/", "tests/clients/",
    "tests/wire/", "tests/testing/", "tests/trials/", "tests/cli/", "tests/serving/",
    "tests/verdict/",
)  # fmt: skip


class ByPath(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Shares out tests by their paths."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = (
            False  # the number of tests says little about their duration
        )
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(SPARK):
            return SPARK
        if nodeid.startswith(SIMULATIONS) and "[" in nodeid and not nodeid.endswith("[0]"):
            return nodeid
        scope: str = super()._split_scope(nodeid)
        return scope


def waiting_first(items: list[pytest.Item]) -> None:
    """Alternate the files of `WAITING` with other files; the order within a file stays."""
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    ranked = sorted((_rank(tests[0].nodeid), at) for at, tests in enumerate(by_file.values()))
    files = list(by_file.values())
    waiting = [files[at] for rank, at in ranked if rank < len(WAITING)]
    others = [files[at] for rank, at in ranked if rank == len(WAITING)]
    in_turns = chain.from_iterable(zip_longest(waiting, others, fillvalue=[]))
    items[:] = chain.from_iterable(in_turns)


def _rank(nodeid: str) -> int:
    ranks = (at for at, path in enumerate(WAITING) if nodeid.startswith(path))
    return next(ranks, len(WAITING))

"""Shares out tests to several processes (pytest -n).

The tests of a file stay in one process, because they share fixtures. Spark's tests stay together,
because one session serves them all. The seeds and planted bugs of the simulations share nothing.
Long tests begin first, so that no process is left alone with one at the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = "tests/spark/"
SIMULATIONS = "tests/simulation/"
LONG = (SPARK, "tests/cluster/", SIMULATIONS, "tests/crash/", "tests/wire/", "tests/clients/")


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
        if nodeid.startswith(SIMULATIONS):
            return nodeid
        scope: str = super()._split_scope(nodeid)
        return scope


def long_first(items: list[pytest.Item]) -> None:
    """Sort by folder; the order within a folder stays."""

    def rank(item: pytest.Item) -> int:
        ranks = (at for at, path in enumerate(LONG) if item.nodeid.startswith(path))
        return next(ranks, len(LONG))

    items.sort(key=rank)

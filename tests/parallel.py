"""How test files are shared out to several processes (pytest -n).

A file stays in one process, with what its tests share; Spark's tests too, for one session serves
them all; the seeds and the planted bugs of the simulations share nothing. What takes long begins
first, or one process would be left alone with it at the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

SPARK = "tests/spark/"
SIMULATIONS = "tests/simulation/"
LONG = (SPARK, "tests/cluster/", SIMULATIONS, "tests/crash/", "tests/wire/", "tests/clients/")


class ByPlace(LoadFileScheduling):  # type: ignore[misc]
    """Shares out by where a test is."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # it is not the number of tests that takes long
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(SPARK):
            return SPARK
        if nodeid.startswith(SIMULATIONS):
            return nodeid
        scope: str = super()._split_scope(nodeid)
        return scope


def long_first(items: list[pytest.Item]) -> None:
    """Sort, without changing the order within a place."""

    def rank(item: pytest.Item) -> int:
        ranks = (at for at, place in enumerate(LONG) if item.nodeid.startswith(place))
        return next(ranks, len(LONG))

    items.sort(key=rank)

"""Shares out tests to several processes (pytest -n).

The tests of a file stay in one process, because they share fixtures. Spark's tests stay together,
because one session serves them all. The planted bugs of the simulations share nothing, nor do
their seeds but for the first hundred, which two tests of each look at and only one runs.
Files whose tests wait for clients and brokers take turns with those that only compute, and begin
first: the others have the processors meanwhile, and no process is left alone with one at the end.
`--beside` gives them a process of their own, one more than there are processors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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


# What a process beside the others has: these wait and leave the processors to them.
BESIDE = tuple(folder for folder in WAITING if folder not in (SPARK, SIMULATIONS))


class ByPath(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Shares out tests by their paths.

    With `--beside`, the last process has the tests of `BESIDE` alone, and the others leave them to
    it until all else is given out.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = (
            False  # the number of tests says little about their duration
        )
        super().__init__(config, log)
        self._positions: dict[Any, dict[str, int]] = {}  # Any: a WorkerController of xdist

    def add_node_collection(self, node: Any, collection: list[str]) -> None:
        """Take the tests that a process has found, and their positions."""
        super().add_node_collection(node, collection)
        self._positions[node] = {nodeid: at for at, nodeid in enumerate(collection)}

    def schedule(self) -> None:
        """Give out the first tests; few files need no process beside the others."""
        if self.collection is None:
            files = {
                self._split_scope(each) for found in self._positions.values() for each in found
            }
            for node in [each for each in self.nodes if is_beside(each.workerinput, self.config)]:
                if len(files) <= len(self.nodes):
                    del self.assigned_work[node]
                    node.shutdown()
        super().schedule()

    def _check_nodes_have_same_collection(self) -> bool:
        """The process beside the others has a part; the first of the collections is whole."""
        found = self.registered_collections
        beside = [node for node in found if is_beside(node.workerinput, self.config)]
        parts = {node: found.pop(node) for node in beside}
        same: bool = super()._check_nodes_have_same_collection()
        found.update(parts)
        return same

    def remove_node(self, node: Any) -> str | None:
        """Take a process away; what it had left is run by others, without the test that ended it.

        Returns:
            that test.
        """
        work: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        left = [(scope, test) for scope, tests in work.items() for test in tests if not tests[test]]
        if not left:
            return None
        (scope, crashed), *others = left
        work[scope][crashed] = True
        self.workqueue.update({scope: work[scope] for scope, _ in others})
        for each in self.nodes:
            self._reschedule(each)
        return crashed

    def _reschedule(self, node: Any) -> None:
        """Give a process more if it has little left; one that is new finds its tests first."""
        if node in self._positions:
            super()._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        """Give a process the next file that it has, or end it."""
        scope = self._next_scope(node)
        if scope is None:
            node.shutdown()
            return
        tests = self.workqueue.pop(scope)
        self.assigned_work[node][scope] = tests
        positions = self._positions[node]
        node.send_runtest_some([positions[each] for each, is_done in tests.items() if not is_done])

    def _next_scope(self, node: Any) -> str | None:
        scopes: list[str] = list(self.workqueue)
        if is_beside(node.workerinput, self.config):
            return next((each for each in scopes if each.startswith(BESIDE)), None)
        if any(is_beside(each.workerinput, self.config) for each in self.nodes):
            scopes.sort(key=lambda scope: scope.startswith(BESIDE))
        return scopes[0]

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(SPARK):
            return SPARK
        if nodeid.startswith(SIMULATIONS):
            of_first_seeds = re.search(r"(?:\[0-|often_enough\[)([\w-]+)\]$", nodeid)
            return f"{SIMULATIONS}{of_first_seeds[1]}" if of_first_seeds else nodeid
        scope: str = super()._split_scope(nodeid)
        return scope


def is_beside(worker: Mapping[str, Any], config: pytest.Config) -> bool:
    """Whether a process, by what it was given, has the tests of `BESIDE` alone."""
    count = worker["workercount"]
    last: bool = worker["workerid"] == f"gw{count - 1}"
    return bool(config.getoption("--beside")) and count > 1 and last


def is_for_others(path: Path, config: pytest.Config) -> bool:
    """Whether this process leaves a file or a folder to the others."""
    worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or not is_beside(worker, config):
        return False
    if not path.is_relative_to(config.rootpath / "tests") or path == config.rootpath / "tests":
        return False
    name = path.relative_to(config.rootpath).as_posix() + ("/" if path.is_dir() else "")
    return not any(name.startswith(each) or each.startswith(name) for each in BESIDE)


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

"""Files go to the processes of `pytest -n` whole, and those that wait to a process beside them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import cast

import pytest

from .parallel import ByPath, is_for_others

WAITING = ["tests/lab/test_a.py::test_1", "tests/lab/test_a.py::test_2", "tests/wire/test_b.py::x"]
OTHERS = [f"tests/storage/test_{number}.py::test_{each}" for number in range(5) for each in "abc"]


class Config:
    """What a run with `-n 3 --beside` says, for its processes and for the one that shows it."""

    def __init__(self, worker: str = "", *, beside: bool = True, count: int = 3) -> None:
        self.rootpath = Path("/project")
        self.option = self
        self.loadscopereorder = True
        self._beside, self._count = beside, count
        if worker:
            self.workerinput = {"workerid": worker, "workercount": count}

    def getoption(self, name: str) -> bool:
        assert name == "--beside"
        return self._beside

    def getvalue(self, name: str) -> list[str]:
        assert name == "tx"
        return ["popen"] * self._count


class Process:
    """A process that runs all that it is given at once."""

    def __init__(self, number: int, tests: list[str], count: int = 3) -> None:
        self.id = f"gw{number}"
        self.gateway = self
        self.workerinput = {"workerid": self.id, "workercount": count}
        self.tests = tests
        self.shutting_down = False
        self.given: list[int] = []

    def send_runtest_some(self, positions: list[int]) -> None:
        self.given += positions

    def shutdown(self) -> None:
        self.shutting_down = True


def run(processes: list[Process]) -> dict[str, list[str]]:
    """Run all tests; the tests of each process, in their order."""
    config = Config(count=len(processes))
    scheduler = ByPath(cast(pytest.Config, config))
    for each in processes:
        scheduler.add_node(each)
    for each in reversed(processes):  # the one with few tests has found them first
        scheduler.add_node_collection(each, each.tests)
    scheduler.schedule()
    done: dict[str, list[str]] = defaultdict(list)
    while any(len(done[each.id]) < len(each.given) for each in processes):
        for each in processes:
            for position in each.given[len(done[each.id]) :][:1]:
                done[each.id].append(each.tests[position])
                scheduler.mark_test_complete(each, position)
    assert scheduler.tests_finished
    assert all(each.shutting_down for each in processes)
    return done


def test_the_last_process_has_the_tests_that_wait_and_each_test_runs_once() -> None:
    everything = [*WAITING, *OTHERS]
    done = run([Process(0, everything), Process(1, everything), Process(2, WAITING)])
    assert done["gw2"] == WAITING
    assert sorted(done["gw0"] + done["gw1"]) == OTHERS


def test_the_others_take_tests_for_which_the_last_process_has_no_time() -> None:
    many = [f"tests/wire/test_{number}.py::test_{each}" for number in range(9) for each in "abc"]
    everything = [*many, *OTHERS[:3]]
    done = run([Process(0, everything), Process(1, everything), Process(2, many)])
    assert sorted(done["gw0"] + done["gw1"] + done["gw2"]) == sorted(everything)
    assert len(done["gw0"]) > 5
    assert len(done["gw2"]) > 5


@pytest.mark.parametrize("waiting", [WAITING[:2], []])
def test_one_file_runs_although_there_are_more_processes(waiting: list[str]) -> None:
    everything = waiting or OTHERS[:3]
    done = run([Process(0, everything), Process(1, everything), Process(2, waiting)])
    assert [test for tests in done.values() for test in tests] == everything


def test_a_process_that_ends_leaves_its_tests_to_another_but_for_the_one_that_ended_it() -> None:
    tests = OTHERS[:6]
    first, second = Process(0, tests, 1), Process(1, tests, 1)
    scheduler = ByPath(cast(pytest.Config, Config(beside=False, count=1)))
    scheduler.add_node(first)
    scheduler.add_node_collection(first, tests)
    scheduler.schedule()
    scheduler.mark_test_complete(first, 0)
    scheduler.add_node(second)  # which has not found its tests yet
    assert scheduler.remove_node(first) == tests[1]
    assert not second.given
    scheduler.add_node_collection(second, tests)
    scheduler.schedule()
    scheduler.mark_test_complete(second, 2)
    assert second.given == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("path", "is_left_out"),
    [
        ("tests", False), ("tests/lab", False), ("tests/lab/test_a.py", False),
        ("tests/storage", True), ("tests/test_tidy.py", True), ("tests/spark/test_a.py", True),
        ("elsewhere/test_a.py", False),
    ],
)  # fmt: skip
def test_the_last_process_looks_at_few_folders(path: str, is_left_out: bool) -> None:
    last, first = (cast(pytest.Config, Config(worker)) for worker in ("gw2", "gw0"))
    alone = cast(pytest.Config, Config("gw0", count=1))
    without = cast(pytest.Config, Config("gw2", beside=False))
    assert is_for_others(Path("/project", path), last) is is_left_out
    assert not any(is_for_others(Path("/project", path), each) for each in (first, alone, without))


def test_the_two_tests_of_the_first_seeds_of_a_simulation_stay_together() -> None:
    scheduler = ByPath(cast(pytest.Config, Config()))
    file = "tests/simulation/test_simulations.py"
    promise, often = f"{file}::test_a_promise[0-logins]", f"{file}::test_often_enough[logins]"
    alone = [f"{file}::test_a_promise[100-logins]", f"{file}::test_a_promise[0-groups]", promise]
    assert scheduler._split_scope(promise) == scheduler._split_scope(often)
    assert len({scheduler._split_scope(each) for each in alone}) == 3

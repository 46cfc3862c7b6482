"""A run keeps little of its tests, and `make test` starts no JVM."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from .chosen import mark_spark
from .kept_memory import ForgottenReports, Heap, forget_output, freeze

pytest_plugins = ["pytester"]

TESTS = """
    def test_it_prints():
        print("much" * 10)

    def test_it_fails():
        print("why")
        assert False
"""


class Watcher:
    """Holds what the reporter has at the end: the categories of reports, and their sections."""

    def __init__(self, *, in_a_worker: bool = False) -> None:
        self._in_a_worker = in_a_worker
        self.kept: dict[str, int] = {}
        self.printed: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        if self._in_a_worker:
            config.workerinput = {}  # type: ignore[attr-defined]  # pytest-xdist adds it
        config.pluginmanager.register(ForgottenReports(config))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        forget_output(item)
        assert not item._report_sections
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        self.kept = {name: len(reports) for name, reports in reporter.stats.items()}
        for reports in reporter.stats.values():
            self.printed += [text for each in reports for _, text in each.sections]


def run(pytester: pytest.Pytester, watcher: Watcher, *arguments: str) -> None:
    pytester.makepyfile(TESTS)
    pytester.inline_run("-p", "no:asyncio", *arguments, plugins=[watcher])


def test_the_reports_of_passed_tests_are_forgotten_but_not_their_number(
    pytester: pytest.Pytester,
) -> None:
    watcher = Watcher()
    run(pytester, watcher)
    assert watcher.kept == {"passed": 1, "failed": 1}
    assert watcher.printed == ["why\n"]


@pytest.mark.parametrize(
    ("option", "kept", "printed"),
    [
        ("-rA", {"passed", "failed"}, ["much" * 10 + "\n", "why\n"]),
        ("-rP", {"passed", "failed"}, ["much" * 10 + "\n", "why\n"]),
        ("--durations=1", {"passed", "failed", ""}, ["why\n"]),
    ],
)
def test_an_option_that_shows_more_keeps_more(
    pytester: pytest.Pytester, option: str, kept: set[str], printed: list[str]
) -> None:
    watcher = Watcher()
    run(pytester, watcher, option)
    assert (set(watcher.kept), watcher.printed) == (kept, printed)


def test_a_process_that_shows_nothing_keeps_nothing(pytester: pytest.Pytester) -> None:
    watcher = Watcher(in_a_worker=True)
    run(pytester, watcher)
    assert watcher.kept == {}


def test_frozen_objects_are_not_looked_at() -> None:
    frozen, mine = gc.get_freeze_count(), [[each] for each in range(1000)]
    try:
        freeze()
        assert gc.get_freeze_count() >= len(mine)
        assert not any(each is mine for each in gc.get_objects())
    finally:
        if not frozen:
            gc.unfreeze()


class FakeItem:
    """A test with these fixtures."""

    def __init__(self, *fixturenames: str) -> None:
        self.fixturenames = fixturenames
        self.markers: list[str] = []

    def add_marker(self, marker: str) -> None:
        self.markers.append(marker)


def test_a_test_with_a_session_of_spark_has_the_marker() -> None:
    items = [FakeItem("ottla", "spark_kafka"), FakeItem("spark"), FakeItem("ottla")]
    mark_spark(items)  # type: ignore[arg-type]  # they have what is used
    assert [each.markers for each in items] == [["spark"], ["spark"], []]


def test_memory_that_a_large_test_freed_goes_back_to_the_system() -> None:
    heap = Heap()
    pieces = [bytes(2000) for _ in range(40_000)]
    grown_bytes, last = heap.resident_bytes(), pieces[-1]
    del pieces
    heap.give_back()
    assert last
    assert not grown_bytes or heap.resident_bytes() < grown_bytes - (40 << 20)

"""What pytest keeps of 20,000 tests, less what no summary shows: the processes of a run stay small.

Each test has three reports, and pytest keeps them all for its summary, in the process that shows
it and in each process of pytest-xdist, which shows nothing. It also keeps what a test has printed.
"""

from __future__ import annotations

import gc

import pytest


def freeze() -> None:
    """Take all objects out of the garbage collector's sight: the tests live until the end.

    Each full collection would look at a million of them.
    """
    gc.collect()
    gc.freeze()


def forget_output(item: pytest.Item) -> None:
    """Forget what a test has printed and logged; its reports have it."""
    item._report_sections.clear()


class ForgottenReports:
    """A plugin that keeps no more of passed tests than the summary shows."""

    def __init__(self, config: pytest.Config) -> None:
        self._shows_nothing = hasattr(config, "workerinput")
        self._shows_durations = config.getoption("durations", None) is not None
        self._shows_output = not {"A", "P"}.isdisjoint(config.getoption("reportchars", ""))
        self._manager = config.pluginmanager

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Forget most of a report that says nothing but that all is well."""
        reporter = self._manager.get_plugin("terminalreporter")
        if reporter is None:
            return
        if self._shows_nothing:
            reporter.stats.clear()
        elif report.passed:
            report.keywords = {}
            if not self._shows_output:
                report.sections = []
            if not self._shows_durations:
                reporter.stats.pop("", None)

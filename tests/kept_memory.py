"""What pytest keeps of 20,000 tests, less what no summary shows: the processes of a run stay small.

Each test has three reports, and pytest keeps them all for its summary, in the process that shows
it and in each process of pytest-xdist, which shows nothing. It also keeps what a test has printed.
"""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path
from typing import Final

import pytest

_STATM: Final = Path("/proc/self/statm")
_GROWTH_BYTES: Final = 32 << 20


def freeze() -> None:
    """Take all objects out of the garbage collector's sight: the tests live until the end.

    Each full collection would look at a million of them.
    """
    gc.collect()
    gc.freeze()


class Heap:
    """The memory of this process. What a large test has freed goes back to the system.

    The C library keeps freed memory while a later allocation is in use, however small it is.
    """

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if _STATM.exists() else None
        self._kept_bytes = self.resident_bytes()

    def resident_bytes(self) -> int:
        """The size in memory; 0 where the system does not tell it like Linux."""
        if self._trim is None:
            return 0
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def give_back(self) -> None:
        """Give freed memory back if the process has grown a lot since the last time."""
        if self._trim is None or self.resident_bytes() < self._kept_bytes + _GROWTH_BYTES:
            return
        gc.collect()
        self._trim(0)
        self._kept_bytes = self.resident_bytes()


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

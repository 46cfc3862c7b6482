"""What a process of `pytest -n` sends of its tests: no more than the summary shows.

pytest-xdist sends six messages for each test, which take longer than most of these tests do. Of a
test that passes, the reports of its setup and its teardown say nothing, and where it begins is
shown by no run without `-v`.
"""

from __future__ import annotations

from typing import Any

import pytest

_NOTHING = "nothing"


class FewReports:
    """A plugin that makes nothing of the reports that say nothing."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> dict[str, object] | None:
        """Make nothing of a passed setup or teardown; the others have no keywords."""
        if isinstance(report, pytest.TestReport) and report.passed:
            if report.when != "call":
                return {"$report_type": _NOTHING}
            report.keywords = {}  # which chose the test, and are shown nowhere
        return None


def send_less(config: pytest.Config) -> None:
    """Send fewer messages from this process, unless an option shows what they say."""
    option = config.option
    if option.durations is not None or option.xmlpath or option.verbose > 0:
        return
    plugins = config.pluginmanager.get_plugins()
    worker: Any = next(each for each in plugins if hasattr(each, "sendevent"))  # Any: untyped
    send = worker.sendevent

    def send_what_is_shown(name: str, **fields: Any) -> None:  # Any: of pytest-xdist
        says_nothing = name == "testreport" and fields["data"]["$report_type"] == _NOTHING
        if name != "logstart" and not says_nothing:
            send(name, **fields)

    worker.sendevent = send_what_is_shown
    config.pluginmanager.register(FewReports())

"""A process of `pytest -n` sends what the summary shows, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from .worker_messages import send_less

pytest_plugins = ["pytester"]

TESTS = """
    import pytest

    @pytest.fixture
    def broken():
        raise OSError

    def test_it_passes(): pass

    def test_it_fails(): assert False

    def test_it_breaks(broken): pass

    def test_it_is_skipped(): pytest.skip("why")
"""


class Worker:
    """Sends as pytest-xdist does: each report, and where each test begins."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config
        send_less(config)

    def sendevent(self, name: str, **fields: Any) -> None:  # Any: as in pytest-xdist
        data = fields.get("data", {})
        test = data.get("nodeid", "").rpartition("::")[2].removeprefix("test_it_")
        self.sent.append((name, test, f"{data.get('when')} {data.get('outcome')}"))

    def pytest_runtest_logstart(self) -> None:
        self.sendevent("logstart")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self.sendevent("testreport", data=data)


def sent_by(pytester: pytest.Pytester, *options: str) -> list[tuple[str, str, str]]:
    pytester.makepyfile(TESTS)
    worker = Worker()
    pytester.inline_run("-p", "no:asyncio", *options, plugins=[worker])
    return worker.sent


def test_passed_setups_and_teardowns_are_not_sent(pytester: pytest.Pytester) -> None:
    assert sent_by(pytester) == [
        ("testreport", "passes", "call passed"),
        ("testreport", "fails", "call failed"),
        ("testreport", "breaks", "setup failed"),
        ("testreport", "is_skipped", "call skipped"),
    ]


@pytest.mark.parametrize("option", ["-v", "--durations=3", "--junitxml=results.xml"])
def test_an_option_that_shows_more_has_all_sent(pytester: pytest.Pytester, option: str) -> None:
    sent = sent_by(pytester, option)
    assert sent.count(("logstart", "", "None None")) == 4
    assert ("testreport", "passes", "setup passed") in sent
    assert ("testreport", "passes", "teardown passed") in sent

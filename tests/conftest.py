"""Options of the tests that use a broker over sockets; by default each starts its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from .chosen import is_listed, leave_out, mark_spark, shuffle
from .kafka.node import running_kafka
from .kept_memory import ForgottenReports, Heap, forget_output, freeze
from .log_lines import log_lines as log_lines

if TYPE_CHECKING:
    from ottla.client.cluster_client import Client
    from ottla.testing import Ottla

# The first text of a fresh checkout costs Hypothesis seconds: it tabulates Unicode.
settings.register_profile("ottla", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ottla")
_heap = Heap()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --bootstrap (a running broker to test), and what a run has beside it."""
    group = parser.getgroup("brokers")
    group.addoption(
        "--bootstrap",
        metavar="HOST:PORT",
        help="run tests/wire and tests/clients on this broker, Ottla or Apache Kafka",
    )
    group.addoption(
        "--record",
        action="store_true",
        help="write the outcomes of tests/wire into its golden file; from an Apache Kafka only",
    )
    group.addoption(
        "--quirks",
        action="store_true",
        help="hold tests/wire to Kafka's accidents too (tests/wire/quirks.txt)",
    )
    group.addoption(
        "--shuffle",
        metavar="SEED",
        type=int,
        help="run the files, and the tests of each, in the random order of this seed",
    )
    group.addoption(
        "--beside",
        action="store_true",
        help="with -n: the last process has only tests that mostly wait (tests/parallel.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keep no more of the reports than the summary needs; with `-n`, send no more of them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts a job in the background so, and what the tests start would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(ForgottenReports(config))
    if hasattr(config, "workerinput"):
        from .worker_messages import send_less

        send_less(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`: share out the tests to the processes."""
    from .parallel import ByPath

    return ByPath(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--beside`: the last process looks at few folders."""
    if config.getoption("--beside"):
        from .parallel import is_for_others

        return is_for_others(collection_path, config) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the run does not have; order the tests."""
    mark_spark(items)
    leave_out(config, items)
    seed = config.getoption("--shuffle")
    if seed is not None:
        shuffle(items, seed)
    elif hasattr(config, "workerinput"):
        from .parallel import waiting_first

        waiting_first(items)


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's sight."""
    freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Forget what the test has printed and logged, once it is reported, and give memory back."""
    try:
        return (yield)
    finally:
        forget_output(item)
        _heap.give_back()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped for a reason that tests/chosen.py does not list."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        if not is_listed(reason):
            report.outcome = "failed"
            report.longrepr = f"{reason}\ntests/chosen.py does not list this reason for a skip"
    return report


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[Ottla]:
    """A broker for all tests of a file, with the SETTINGS of the file if it has some."""
    from ottla.testing import Ottla  # here, because most files need none

    with Ottla(settings=getattr(request.module, "SETTINGS", None)) as started:
        yield started


@pytest.fixture(scope="module")
def bootstrap(broker: Ottla) -> str:
    """HOST:PORT of the broker of the file."""
    return broker.bootstrap


@pytest.fixture(scope="module")
def client(bootstrap: str) -> Iterator[Client]:
    """A client of the broker of the file."""
    from ottla.client.cluster_client import Client

    with Client.to(bootstrap) as made:
        yield made


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> Iterator[pytest.Pytester]:
    """A project whose runs in this process report no brokers of the tests around them."""
    from ottla.testing.broker import brokers

    around = list(brokers)
    brokers.clear()
    yield pytester
    brokers.update(around)


@pytest.fixture(scope="session")
def maven_jars(pytestconfig: pytest.Config) -> None:
    """Skip what needs the jars of Kafka's Java client, unless the run is one of `-m kafka`."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("needs Maven's jars: -m kafka")


@pytest.fixture(scope="session")
def apache_kafka(pytestconfig: pytest.Config) -> Iterator[str]:
    """HOST:PORT of an Apache Kafka: OTTLA_KAFKA, or a new one with `-m kafka`."""
    given = os.environ.get("OTTLA_KAFKA")
    if given:
        yield given
        return
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("compares with an Apache Kafka: -m kafka, or OTTLA_KAFKA=HOST:PORT")
    from .wire.conftest import SETTINGS  # here, because it imports this package's plugins

    with running_kafka(SETTINGS) as bootstrap:
        yield bootstrap

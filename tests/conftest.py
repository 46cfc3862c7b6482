"""Options of the tests that use a broker over sockets; by default each starts its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from .kafka.node import running_kafka
from .log_lines import log_lines as log_lines

# The first text of a fresh checkout costs Hypothesis seconds: it tabulates Unicode.
settings.register_profile("ottla", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ottla")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --bootstrap (a running broker to test), --record and --quirks."""
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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`: share out the tests to the processes."""
    from .parallel import ByPath

    return ByPath(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `-n`: order the tests."""
    if hasattr(config, "workerinput"):
        from .parallel import long_first

        long_first(items)


@pytest.fixture(scope="session")
def apache_kafka(pytestconfig: pytest.Config) -> Iterator[str]:
    """HOST:PORT of an Apache Kafka: OTTLA_KAFKA, or a new one with `-m kafka`."""
    given = os.environ.get("OTTLA_KAFKA")
    if given:
        yield given
        return
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("compares with an Apache Kafka: -m kafka, or OTTLA_KAFKA=HOST:PORT")
    with running_kafka() as bootstrap:
        yield bootstrap

"""Options of the tests that talk to a broker over sockets; without them each starts its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from .kafka.node import running_kafka
from .log_lines import log_lines as log_lines


def pytest_addoption(parser: pytest.Parser) -> None:
    """HOST:PORT of a broker to test instead of one that is started; and recording."""
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
    """With `-n`: which process gets which tests."""
    from .parallel import ByPlace

    return ByPlace(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `-n`: in which order they get them."""
    if hasattr(config, "workerinput"):
        from .parallel import long_first

        long_first(items)


@pytest.fixture(scope="session")
def apache_kafka(pytestconfig: pytest.Config) -> Iterator[str]:
    """HOST:PORT of an Apache Kafka: OTTLA_KAFKA, or one of its own when asked for (`-m kafka`)."""
    given = os.environ.get("OTTLA_KAFKA")
    if given:
        yield given
        return
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("compares with an Apache Kafka: -m kafka, or OTTLA_KAFKA=HOST:PORT")
    with running_kafka() as bootstrap:
        yield bootstrap

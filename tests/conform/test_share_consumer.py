"""Share consumers of Java and of franz-go get every record, as often as they ask for it.

Both programs do the same, and print the same on Ottla and on Apache Kafka.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from ottla.testing import running_broker
from tests.kafka.node import running_kafka

from .clients import NotThere, go, java_share_consumer

TIMEOUT_S = 120
EXPLICIT = "done 200 deliveries {1=200, 2=20, 3=20} renewed 0 lag 0 at most more"
EXPECTED = {
    "implicit": "done 200 deliveries {1=200} renewed 0 lag 0 at most more",
    "explicit": EXPLICIT,
    "record_limit": EXPLICIT.replace("at most more", "at most 7"),
    "renew": EXPLICIT.replace("renewed 0", "renewed 20"),
}
FRANZ_GO: Final = partial(go, "franz-go-share", Path(__file__).parent)
Build = Callable[[], list[str]]


@pytest.fixture(scope="module")
def kafka() -> Iterator[str]:
    """HOST:PORT of an Apache Kafka."""
    with running_kafka() as bootstrap:
        yield bootstrap


def printed(build: Build, bootstrap: str, mode: str) -> str:
    """What a share consumer prints; the test is skipped if its language is not installed."""
    try:
        command = build()
    except NotThere as missing:
        pytest.skip(str(missing))
    ran = subprocess.run(
        [*command, bootstrap, mode], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    return ran.stdout.strip() or ran.stderr


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("mode", EXPECTED)
def test_the_share_consumer_of_franz_go_reads_all_records(mode: str) -> None:
    with running_broker() as broker:
        assert printed(FRANZ_GO, broker.bootstrap, mode) == EXPECTED[mode]


@pytest.mark.clients
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("maven_jars")
@pytest.mark.parametrize("mode", EXPECTED)
def test_javas_share_consumer_reads_all_records(mode: str) -> None:
    with running_broker() as broker:
        assert printed(java_share_consumer, broker.bootstrap, mode) == EXPECTED[mode]


@pytest.mark.clients
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("maven_jars")
@pytest.mark.parametrize("build", [java_share_consumer, FRANZ_GO], ids=["java", "franz-go"])
@pytest.mark.parametrize("mode", EXPECTED)
def test_a_share_consumer_does_the_same_on_a_kafka(
    request: pytest.FixtureRequest, build: Build, mode: str
) -> None:
    kafka: str = request.getfixturevalue("kafka")
    assert printed(build, kafka, mode) == EXPECTED[mode]

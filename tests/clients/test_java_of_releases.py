"""Java clients of Kafka 2.8 and 4.4 work with a broker that answers as each release of Kafka."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from ottla.broker.releases.release import RELEASES
from ottla.testing import Ottla
from tests.kafka.installation import POM, java

pytestmark = [pytest.mark.clients, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]

HERE: Final = Path(__file__).parent
WITHOUT_TRANSACTIONS: Final = "2.8"  # with KRaft: an early access
# Three records, a marker, three records, a marker.
COPIED: Final = "copied [a, b, c], end 8, committed 3"
NOT_COPIED: Final = "copied [], end 0, committed -1"


@pytest.fixture(scope="module")
def brokers(maven_jars: None) -> Iterator[dict[str, Ottla]]:
    """A broker of each release, by its name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Ottla(as_kafka=name)) for name in RELEASES}


@pytest.mark.parametrize("pom", [HERE / "java-client-2.8.2.xml", POM], ids=["2.8.2", "4.4.0"])
def test_a_client_copies_in_transactions_with_each_release(
    brokers: dict[str, Ottla], pom: Path
) -> None:
    named = [
        f"{name}{'' if name == WITHOUT_TRANSACTIONS else '+'}={broker.bootstrap_servers}"
        for name, broker in brokers.items()
    ]
    source = HERE / "Releases.java"
    command = java("-Xmx256m", "-XX:TieredStopAtLevel=1", str(source), *named, pom=pom)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    wanted = dict.fromkeys(RELEASES, COPIED) | {WITHOUT_TRANSACTIONS: NOT_COPIED}
    assert found == wanted, done.stderr[-2000:]

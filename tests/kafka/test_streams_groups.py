"""Two instances of Kafka Streams in a streams group (KIP-1071) count each word exactly once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ottla.testing import Ottla, running_broker

from ..crash.words import (
    COUNTED_TIMEOUT_S,
    GROUP,
    LINES,
    check_each_count_once,
    counting,
    log_of,
    make_topics,
    say,
    wait_for,
)
from .installation import STREAMS, libraries

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]

# Instances that are killed lose their tasks soon.
SETTINGS = {
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
PROTOCOL = "group.protocol=streams"
THREAD = "num.stream.threads=1"
TASKS = ["0_0", "0_1", "0_2", "1_0", "1_1", "1_2"]


def wait_for_owners(broker: Ottla, count: int, scratch: Path) -> None:
    """Wait until that many members share all tasks, and each has as many."""
    group = broker.streams_group(GROUP)
    deadline = time.monotonic() + COUNTED_TIMEOUT_S
    while True:
        owned = group.active_tasks
        tasks = sorted(task for each in owned.values() for task in each)
        shares = {len(each) for each in owned.values()}
        if len(owned) == count and tasks == TASKS and shares == {len(TASKS) // count}:
            return
        assert time.monotonic() < deadline, (owned, log_of(scratch))
        time.sleep(0.2)


@pytest.fixture(autouse=True)
def _asked_for(pytestconfig: pytest.Config) -> None:
    """Skip unless `-m kafka` allows the jars."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("runs Kafka Streams: -m kafka")
    libraries(STREAMS)


def test_two_instances_count_each_word_once_through_kills(tmp_path: Path) -> None:
    with running_broker(data_dir=tmp_path / "data", settings=SETTINGS) as broker:
        server = broker.bootstrap
        make_topics(server)
        say(server)
        with counting(server, tmp_path, PROTOCOL, THREAD, name="one"):
            with counting(server, tmp_path, PROTOCOL, THREAD, name="two"):
                wait_for_owners(broker, 2, tmp_path)
                wait_for(server, LINES, tmp_path)
                say(server)
            # The second one is killed now, in the middle of its work.
            wait_for_owners(broker, 1, tmp_path)
            wait_for(server, 2 * LINES, tmp_path)
            say(server)
            broker.kill()
            broker.restart()
            wait_for(server, 3 * LINES, tmp_path)
        check_each_count_once(server, 3 * LINES)
        assert broker.streams_group(GROUP).offsets["lines", 0] > 0

"""Kafka Streams counts exactly once, through kills of the application and the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.testing import running_broker

from .words import (
    COUNTED_TIMEOUT_S,
    LINES,
    check_each_count_once,
    counting,
    log_of,
    make_topics,
    say,
    wait_for,
)

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.kafka]

HALTED = 137
# Who comes back has its partitions at once.
STATIC = "main.consumer.group.instance.id=words"


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("apache_kafka")  # Java and Maven exist if this mark is selected
def test_kafka_streams_counts_each_word_once_through_kills(tmp_path: Path) -> None:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    with running_broker(data_dir=tmp_path / "data", settings=settings) as broker:
        server = broker.bootstrap
        make_topics(server)
        say(server)
        with counting(server, tmp_path, STATIC, halt_at=LINES - 10) as application:
            assert application.wait(COUNTED_TIMEOUT_S) == HALTED, log_of(tmp_path)
        with counting(server, tmp_path, STATIC):
            wait_for(server, LINES, tmp_path)
            say(server)
            broker.kill()
            broker.restart()
            say(server)
            wait_for(server, 3 * LINES, tmp_path)
        check_each_count_once(server, 3 * LINES)

"""SIGTERM: no new work, an answer to each waiting request, and a clean directory."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from ottla.testing import RunningBroker, running_broker
from tests.wire.broker import Broker
from tests.wire.client import Answer, Connection
from tests.wire.groups import join_raw


def connected(broker: RunningBroker) -> Broker:
    host, _, port = broker.bootstrap.rpartition(":")
    return Broker((host, int(port)), "stop")


def waiting_fetch(topic: str) -> Answer:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    return {
        "max_wait_ms": 60_000,
        "min_bytes": 1,
        "max_bytes": 1000,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }


def joined_code(broker: Broker, connection: Connection) -> str:
    return str(join_raw(broker, "g", version=3, connection=connection)["error"])


def describe(broker: Broker) -> Answer:
    group: Answer = broker.call("DescribeGroups", 5, {"groups": ["g"]})["groups"][0]
    return group


def test_a_stop_answers_waiting_requests(tmp_path: Path) -> None:
    settings = {"group.initial.rebalance.delay.ms": "60000"}
    with running_broker(data_dir=tmp_path / "data", settings=settings) as broker:
        asked = connected(broker)
        topic = asked.topic()
        asked.call("FindCoordinator", 3, {"key": "g", "key_type": 0})
        fetching, joining = asked.connect(), asked.connect()
        codes: list[str] = []
        fetching.send("Fetch", 12, waiting_fetch(topic))
        member = threading.Thread(target=lambda: codes.append(joined_code(asked, joining)))
        member.start()
        while describe(asked)["group_state"] != "PreparingRebalance":
            assert member.is_alive()
        os.kill(broker.pid, signal.SIGTERM)
        _, answer = fetching.receive("Fetch", 12)
        member.join(20)
        asked.close()
        broker.stop()
        assert "cut" not in broker.log_tail()
    assert answer["responses"][0]["partitions"][0]["error_code"] == 0
    assert codes == ["NOT_COORDINATOR"]
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_stopping_broker_takes_no_new_connections(tmp_path: Path) -> None:
    with running_broker(data_dir=tmp_path / "data") as broker:
        asked = connected(broker)
        asked.topic()
        broker.stop()
        with pytest.raises(OSError, match="refused"):
            connected(broker)
        asked.close()

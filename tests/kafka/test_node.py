"""The start of Apache Kafka, and the reading of processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ..project_files import ROOT
from . import installation, node, processes
from .place import complaints


def test_the_process_behind_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert processes.listener(port) == os.getpid()
        assert not processes.is_apache_kafka(f"127.0.0.1:{port}")
        assert not node.answers("127.0.0.1", 1)
    assert processes.listener(port) is None


def test_cpu_time_goes_up_with_work() -> None:
    before = processes.cpu_seconds(os.getpid())
    while processes.cpu_seconds(os.getpid()) < before + 0.03:
        pass
    assert processes.resident_mb(os.getpid()) > 1


RACE = "Compaction for partition round-0-0 cannot be resumed since it is not paused."


@pytest.mark.parametrize(
    ("thrown", "is_told"),
    [
        (f"java.lang.IllegalStateException: {RACE}", False),
        ("java.nio.file.NoSuchFileException: 00000000000000000000.log", True),
    ],
)
def test_only_the_retention_race_with_a_deletion_is_ignored(
    tmp_path: Path, thrown: str, is_told: bool
) -> None:
    first = "[2026-11-21 15:09:07,139] ERROR Uncaught exception in scheduled task"
    log = tmp_path / "server.log"
    lines = [f"{first} 'kafka-log-retention' (KafkaScheduler)", thrown, "\tat a.b.C", "[then] INFO"]
    log.write_text("\n".join(lines))
    assert complaints(log) == ([" ".join(lines[:3])] if is_told else [])


@pytest.mark.kafka
@pytest.mark.slow
def test_a_node_starts_on_its_directory_again_and_keeps_its_topics(
    apache_kafka: str, tmp_path: Path
) -> None:
    port = node.free_pair()
    for options in (["--create", "--topic", "kept"], ["--list"]):
        node.start(port, tmp_path)
        try:
            assert processes.is_apache_kafka(f"127.0.0.1:{port}")
            bootstrap = ["--bootstrap-server", f"127.0.0.1:{port}"]
            done = installation.tool("TopicCommand", *bootstrap, *options)
        finally:
            node.stop(tmp_path)
    assert done.stdout.split() == ["kept"]


_BENCHMARK = """
import time
from tests.kafka.node import running_kafka

with running_kafka() as bootstrap:
    print(bootstrap, flush=True)
    time.sleep(60)
"""


@pytest.mark.kafka
@pytest.mark.slow
def test_sigterm_to_a_program_that_has_started_a_node_stops_the_node(apache_kafka: str) -> None:
    del apache_kafka  # it says whether there is a Kafka
    with subprocess.Popen(
        [sys.executable, "-c", _BENCHMARK], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as program:  # fmt: skip
        assert program.stdout is not None
        host, _, port = program.stdout.readline().strip().partition(":")
        assert node.answers(host, int(port))
        program.terminate()
    assert processes.listener(int(port)) is None

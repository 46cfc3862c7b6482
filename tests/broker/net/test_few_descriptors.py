"""A process that may open few files: it says so, and what it must open it can."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from ottla.broker.runtime.logs.flushes import Flushes
from ottla.protocol.api_keys import ApiKey
from ottla.storage.disk.open_files import RESERVED, OpenFiles
from ottla.storage.log import PartitionLog
from tests.broker.fakes import framed
from tests.broker.net.listening_node import Client, listening_node
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time


class NoneToSpare(OpenFiles):
    """The limits of a process that has, at first, only the reserved descriptors.

    Attributes:
        taken: the number of descriptors that are in use, by the lowest free one.
    """

    has_spare = False

    def __init__(self) -> None:
        super().__init__()
        self.taken = os.dup(0)
        os.close(self.taken)

    @property
    def descriptors(self) -> int:
        return super().descriptors if self.has_spare else self.taken + RESERVED


class NothingToFlush:
    def run(self) -> None:
        pass


async def test_a_connection_that_would_take_one_of_the_last_is_refused_with_a_line(
    tmp_path: Path, log_lines: LogLines
) -> None:
    open_files = NoneToSpare()
    async with listening_node(tmp_path, open_files) as (_, sockets):
        refused = await Client.of(sockets)
        assert not await refused.answer()
        open_files.has_spare = True
        served = await Client.of(sockets)
        assert await served.answer()
        for client in (refused, served):
            await client.leave()
    ((level, event, fields),) = log_lines.of("server").lines
    assert (level, event) == ("warning", "connection refused")
    assert fields["reason"] == f"no descriptors left of {open_files.taken + RESERVED} (ulimit -n)"


class Dirty:
    """A log that a stop has to flush, and how many of its kind were under a flush at once."""

    at_once = most = 0
    failure = None
    is_flushed = False

    def write_state(self) -> None:
        pass

    def begin_flush(self) -> Any:
        Dirty.at_once += 1
        Dirty.most = max(Dirty.most, Dirty.at_once)
        return NothingToFlush()

    def end_flush(self, flush: Any, failure: OSError | None) -> None:
        Dirty.at_once -= 1


@pytest.mark.parametrize(("limit", "most"), [(16, 1), (128, 4), (256, 8), (65_536, 64)])
def test_a_stop_opens_the_files_of_no_more_logs_at_once_than_it_may(limit: int, most: int) -> None:
    """With 256 or 512 descriptors every stop was unclean."""
    Dirty.at_once = Dirty.most = 0
    Flushes.flush_all([cast(PartitionLog, Dirty()) for _ in range(100)], OpenFiles(limit))
    assert (Dirty.at_once, Dirty.most) == (0, most)


def test_a_broker_with_64_descriptors_answers_refuses_with_a_line_and_stops_cleanly(
    tmp_path: Path,
) -> None:
    """Each request closed its connection without a word: a late import needs a descriptor."""
    ready = tmp_path / "ready"
    serve = [sys.executable, "-m", "ottla", "serve", "--listen", "127.0.0.1:0"]
    command = [*serve, "--data-dir", str(tmp_path / "data"), "--ready-file", str(ready)]
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *command]
    broker = subprocess.Popen(limited, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert broker.stdout is not None
    assert "listening" in broker.stdout.readline()
    while not ready.exists():
        assert broker.poll() is None
    host, _, port = ready.read_text().strip().rpartition(":")
    clients = [socket.create_connection((host, int(port)), timeout=10) for _ in range(80)]
    try:
        api_versions = framed(ApiKey.API_VERSIONS, 0, correlation_id=7)
        answered = 0
        for client in clients:
            try:
                client.sendall(api_versions)
                answered += client.recv(4096) != b""
            except ConnectionError:
                continue
        assert 0 < answered < 64
        describe = framed(ApiKey.DESCRIBE_CONFIGS, 1, correlation_id=8)  # not imported before
        clients[0].sendall(describe)
        assert clients[0].recv(4096)
    finally:
        for client in clients:
            client.close()
        broker.send_signal(signal.SIGTERM)
        _, told = broker.communicate(timeout=30)
    assert broker.returncode == 0
    assert told.count("no descriptors left of 64") == 3
    assert f'"count": {80 - answered - 3}' in told
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()

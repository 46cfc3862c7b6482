"""Commands and brokers whose standard streams are closed, or whose readers stall or go."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ottla.testing import RunningBroker, running_broker

OTTLA = [sys.executable, "-P", "-m", "ottla"]
SERVE = [*OTTLA, "serve", "--listen", "127.0.0.1:0"]
WAIT_S = 20
CLOSINGS = [
    closed
    for count in (1, 2, 3)
    for closed in itertools.combinations(("0<&-", "1>&-", "2>&-"), count)
]


def without_streams(closed: tuple[str, ...], command: list[str]) -> list[str]:
    return ["sh", "-c", f'exec "$@" {" ".join(closed)}', "sh", *command]


@contextmanager
def started(
    command: list[str],
    ready_file: Path,
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A broker that answers, when its ready file is there."""
    words = [*command, "--ready-file", str(ready_file)]
    process = subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr)
    try:
        while not ready_file.exists():
            assert process.poll() is None, "the broker has ended"
            select.select([], [], [], 0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def answers(ready_file: Path) -> bool:
    host, _, port = ready_file.read_text().strip().rpartition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as client:
        client.sendall(bytes.fromhex("0000000b 0012 0000 00000007 0001 78".replace(" ", "")))
        return client.recv(4096)[4:8] == b"\0\0\0\7"


@pytest.mark.parametrize("closed", CLOSINGS, ids=" ".join)
def test_a_broker_serves_and_stops_without_standard_streams(
    closed: tuple[str, ...], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    command = without_streams(closed, [*SERVE, "--data-dir", str(data)])
    nothing = subprocess.DEVNULL
    with started(
        command, tmp_path / "ready", stdin=nothing, stdout=nothing, stderr=nothing
    ) as process:
        assert answers(tmp_path / "ready")
        for number, link in ((n, Path(f"/proc/{process.pid}/fd/{n}")) for n in range(3)):
            assert os.readlink(link) == os.devnull, f"{number} belongs to another file"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    assert (data / ".kafka_cleanshutdown").exists()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with running_broker(data_dir=tmp_path_factory.mktemp("streams")) as running:
        yield running


COMMANDS = [
    ["topics", "list"],
    ["groups", "list"],
    ["txn", "list"],
    ["kafka-topics", "--list"],
    ["produce", "streams"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_without_standard_streams_does_its_work(
    command: list[str], broker: RunningBroker
) -> None:
    flag = "--bootstrap-server" if command[0].startswith("kafka-") else "-b"
    words = [*OTTLA, *command, flag, broker.bootstrap]
    closed = without_streams(("0<&-", "1>&-", "2>&-"), words)
    assert subprocess.run(closed, timeout=60, check=False).returncode == 0


def full_pipe() -> tuple[int, int]:
    """A pipe without room, whose descriptor for writing blocks."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(1))
    os.set_blocking(writing, True)
    return reading, writing


@pytest.mark.parametrize("ready", [[], ["--ready-json"]], ids=["text", "json"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_broker_without_a_reader_stops_cleanly(
    ready: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    reading, writing = full_pipe()
    command = [*SERVE, *ready, "--data-dir", str(tmp_path / "data")]
    with started(command, tmp_path / "ready", stdout=writing, stderr=writing) as process:
        assert answers(tmp_path / "ready")
        process.send_signal(number)
        assert process.wait(WAIT_S) == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    os.close(reading)
    os.close(writing)


def test_a_broker_serves_on_though_the_reader_of_its_log_is_gone(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*SERVE, "--log-level", "trace"]
    with started(command, tmp_path / "ready", stdout=writing, stderr=writing) as process:
        for _ in range(3):
            assert answers(tmp_path / "ready")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    os.close(writing)


def test_a_broker_deletes_its_temporary_directory_at_sighup(tmp_path: Path) -> None:
    with started([*SERVE, "--ready-json"], tmp_path / "ready", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with process.stdout as output:
            directory = Path(json.loads(output.readline())["data_dir"])
        assert directory.exists()
        process.send_signal(signal.SIGHUP)
        assert process.wait(WAIT_S) == 0
    assert not directory.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_broker_whose_parent_blocks_signals_stops(tmp_path: Path, number: signal.Signals) -> None:
    """As Kafka does, whose Java unblocks them (HotSpot, `signal_sets_init`)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        with started(SERVE, tmp_path / "ready") as process:
            process.send_signal(number)
            assert process.wait(WAIT_S) == 0
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_a_broker_under_nohup_goes_on_at_sighup(tmp_path: Path) -> None:
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *SERVE]
    with started(ignoring, tmp_path / "ready", stdout=subprocess.DEVNULL) as process:
        process.send_signal(signal.SIGHUP)
        assert answers(tmp_path / "ready")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0


def test_the_log_makes_no_descriptor_of_others_nonblocking(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    command = [*SERVE, "--log-level", "trace"]
    with started(command, tmp_path / "ready", stdout=writing, stderr=writing):
        assert answers(tmp_path / "ready")
        assert not fcntl.fcntl(writing, fcntl.F_GETFL) & os.O_NONBLOCK
    os.close(reading)
    os.close(writing)

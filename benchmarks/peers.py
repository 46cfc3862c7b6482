"""The brokers that a benchmark compares: Ottla, Apache Kafka, and kfake if Go is installed.

kfake is franz-go's broker for tests, built from the Go module proxy (benchmarks/kfake) into the
cache directory once.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ottla.testing import running_broker
from tests.kafka.installation import NotInstalled, cache_directory
from tests.kafka.node import free_pair, running_kafka
from tests.kafka.processes import listener

KFAKE = Path(__file__).resolve().parent / "kfake"
BUILD_TIMEOUT_S = 300
START_TIMEOUT_S = 20.0
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@dataclass(frozen=True, slots=True)
class Peer:
    """A broker under load: its name, "HOST:PORT", and process id."""

    name: str
    bootstrap: str
    process_id: int


def _peer(name: str, bootstrap: str) -> Peer:
    process_id = listener(int(bootstrap.rsplit(":", 1)[1]))
    assert process_id is not None, f"no process listens at {bootstrap}"
    return Peer(name, bootstrap, process_id)


@contextmanager
def running_peers(names: list[str]) -> Iterator[list[Peer]]:
    """Run the named brokers: "ottla", "kafka", "kfake". One that is not installed is left out."""
    start = {"ottla": _ottla, "kafka": _kafka, "kfake": _kfake}
    with ExitStack() as stack:
        peers = []
        for name in names:
            try:
                peers.append(_peer(name, stack.enter_context(start[name]())))
            except NotInstalled as missing:
                print(f"without {name}: {missing}", file=sys.stderr)
        yield peers


@contextmanager
def _ottla() -> Iterator[str]:
    with running_broker(settings=SETTINGS) as broker:
        yield broker.bootstrap


@contextmanager
def _kafka() -> Iterator[str]:
    if "OTTLA_KAFKA" in os.environ:
        yield os.environ["OTTLA_KAFKA"]
        return
    with running_kafka() as bootstrap:
        yield bootstrap


@contextmanager
def _kfake() -> Iterator[str]:
    program = _built_kfake()
    with TemporaryDirectory(prefix="kfake-") as directory:
        port = free_pair()
        process = subprocess.Popen([str(program), f"127.0.0.1:{port}", directory])
        try:
            _wait_for(port, process)
            yield f"127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(START_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _built_kfake() -> Path:
    program = cache_directory() / "kfake" / "kfake"
    sources = [KFAKE / name for name in ("main.go", "go.mod", "go.sum")]
    if program.exists() and all(
        source.stat().st_mtime < program.stat().st_mtime for source in sources
    ):
        return program
    go = shutil.which("go")
    if go is None:
        raise NotInstalled("there is no go")
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-o", str(program), "."]
    try:
        done = subprocess.run(
            command, cwd=KFAKE, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as late:
        raise NotInstalled(f"go build: {late}") from None
    if done.returncode != 0:
        raise NotInstalled(f"go build: {done.stderr[-2000:]}")
    os.utime(program)
    return program


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise NotInstalled("kfake did not start")

"""The brokers that a benchmark compares: Ottla, Apache Kafka, and kfake if Go is installed.

kfake is franz-go's broker for tests, built from the Go module proxy (benchmarks/kfake) into the
cache directory once.
"""

from __future__ import annotations

import os
import random
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
from ottla.testing.certificates import AUTHORITY, Names, server_settings, write_certificates
from ottla.testing.ports import PORTS
from tests.kafka.installation import NotInstalled, cache_directory
from tests.kafka.node import free_pair, start, stop
from tests.kafka.processes import listener

KFAKE = Path(__file__).resolve().parent / "kfake"
BUILD_TIMEOUT_S = 300
START_TIMEOUT_S = 20.0
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@dataclass(frozen=True, slots=True)
class Peer:
    """A broker under load.

    Attributes:
        bootstrap: HOST:PORT of its listener without TLS.
        tls: HOST:PORT of its listener with TLS; None if it has none.
        authority: the file with the certificate that clients by TLS trust.
    """

    name: str
    bootstrap: str
    process_id: int
    tls: str | None = None
    authority: str = ""


Started = tuple[str, str | None]  # the listener without TLS, and the one with it


def _peer(name: str, started: Started, authority: Path) -> Peer:
    bootstrap, tls = started
    process_id = listener(int(bootstrap.rsplit(":", 1)[1]))
    assert process_id is not None, f"no process listens at {bootstrap}"
    return Peer(name, bootstrap, process_id, tls, str(authority))


@contextmanager
def running_peers(names: list[str]) -> Iterator[list[Peer]]:
    """Run the named brokers: "ottla", "kafka", "kfake". One that is not installed is left out."""
    starts = {"ottla": _ottla, "kafka": _kafka, "kfake": _kfake}
    with ExitStack() as stack:
        certificates = Path(stack.enter_context(TemporaryDirectory(prefix="certificates-")))
        write_certificates(certificates, Names())
        peers = []
        for name in names:
            try:
                started = stack.enter_context(starts[name](certificates))
                peers.append(_peer(name, started, certificates / f"{AUTHORITY}.pem"))
            except NotInstalled as missing:
                print(f"without {name}: {missing}", file=sys.stderr)
        yield peers


@contextmanager
def _ottla(certificates: Path) -> Iterator[Started]:
    plain, tls = f"127.0.0.1:{_free_port()}", f"127.0.0.1:{_free_port()}"
    listeners = {"listeners": f"PLAINTEXT://{plain},TLS://{tls}"}
    with running_broker(settings=SETTINGS | _with_tls(certificates) | listeners):
        yield plain, tls


@contextmanager
def _kafka(certificates: Path) -> Iterator[Started]:
    if "OTTLA_KAFKA" in os.environ:
        yield os.environ["OTTLA_KAFKA"], None
        return
    port, tls = free_pair(), f"127.0.0.1:{_free_port()}"
    plain = f"127.0.0.1:{port}"
    both = f"PLAINTEXT://{plain},TLS://{tls}"
    listeners = {
        "listeners": f"{both},CONTROLLER://127.0.0.1:{port + 1}",
        "advertised.listeners": both,
    }
    with TemporaryDirectory(prefix="kafka-") as scratch:
        try:
            start(port, Path(scratch), _with_tls(certificates) | listeners)
            yield plain, tls
        finally:
            stop(Path(scratch), kill=True)


def _with_tls(certificates: Path) -> dict[str, str]:
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL"
    return {"listener.security.protocol.map": protocols} | server_settings(certificates)


def _free_port() -> int:
    for port in random.sample(PORTS, len(PORTS)):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise NotInstalled("no port is free")


@contextmanager
def _kfake(certificates: Path) -> Iterator[Started]:
    with running_kfake() as address:
        yield address, None


@contextmanager
def running_kfake() -> Iterator[str]:
    """Run kfake, which is built at the first use; its HOST:PORT. Raises NotInstalled."""
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

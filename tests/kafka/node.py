"""One node of Apache Kafka (broker and controller) on this machine, started like by `bin/`.

`start` formats its directory the first time and returns when the node answers Metadata. Pid, log
and settings are in the directory, so that another process can stop it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .installation import NotInstalled, java
from .processes import is_kafka_process

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
CLUSTER_ID = "T3R0bGEtdGVzdC1jbHVzdA"

SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}

# Options of bin/kafka-server-start.sh, with another heap size.
JVM = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)


def start(
    port: int,
    directory: Path,
    settings: Mapping[str, str] | None = None,
    *,
    heap_mb: int = 1024,
    logging: str = "log4j2-server.xml",
) -> int:
    """Start a node on 127.0.0.1:PORT, its controller on PORT + 1; return its process id.

    Args:
        logging: the configuration of Log4j; a path, or a name in this directory.

    Raises NotInstalled without Java or jars, or if the node does not answer in time.
    """
    _take_sigterm_as_ctrl_c()
    config = write_settings(port, directory, settings or {})
    if not (directory / "data/meta.properties").exists():
        _format(config)
    heap = (f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m")
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(
            java(*heap, *JVM, "kafka.Kafka", str(config), logging=logging),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (directory / "pid").write_text(str(process.pid))
    deadline = time.monotonic() + START_TIMEOUT_S
    while not answers("127.0.0.1", port):
        if process.poll() is not None or time.monotonic() > deadline:
            stop(directory, kill=True)
            process.wait()
            tail = (directory / "server.log").read_text(errors="replace")[-2000:]
            raise NotInstalled(f"Kafka did not answer; the end of its log:\n{tail}")
        time.sleep(0.05)
    process.returncode = 0  # the process goes on until `stop`
    return process.pid


def _take_sigterm_as_ctrl_c() -> None:
    """Let SIGTERM raise KeyboardInterrupt: a node outlives a process that ends without `stop`."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def write_settings(port: int, directory: Path, settings: Mapping[str, str]) -> Path:
    """Write server.properties into the node's directory."""
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "server.properties"
    addresses = {
        "controller.quorum.voters": f"1@127.0.0.1:{port + 1}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(directory / "data"),
    }
    merged = {**SETTINGS, **addresses, **settings}
    config.write_text("".join(f"{name}={value}\n" for name, value in merged.items()))
    return config


def _format(config: Path) -> None:
    arguments = ("format", "-t", CLUSTER_ID, "-c", str(config))
    command = java("-Xmx128m", "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", *arguments)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotInstalled(f"formatting failed: {done.stdout}{done.stderr}")


def stop(directory: Path, *, kill: bool = False) -> None:
    """Stop the node of a directory by SIGTERM, then SIGKILL after a timeout or at once."""
    pid_file = directory / "pid"
    if not pid_file.exists():
        return
    process_id = int(pid_file.read_text())
    for last, sign in ((kill, signal.SIGKILL if kill else signal.SIGTERM), (True, signal.SIGKILL)):
        if not is_kafka_process(process_id):
            break
        os.kill(process_id, sign)
        if _has_ended(process_id, STOP_TIMEOUT_S) or last:
            break
    pid_file.unlink()


def _has_ended(process_id: int, timeout_s: float) -> bool:
    """Whether all threads of a process end in time, and with them its locks of files.

    Its command and its first thread are gone before.
    """
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)


def answers(host: str, port: int) -> bool:
    """Whether a broker answers ApiVersions, and Metadata with a broker in it."""
    try:
        with socket.create_connection((host, port), 2) as connection:
            connection.settimeout(5)
            if _ask(connection, 18, 0, b"")[:2] != b"\0\0":
                return False
            brokers: int = struct.unpack_from(">i", _ask(connection, 3, 1, bytes(4)))[0]
            return brokers > 0
    except OSError:
        return False


def _ask(connection: socket.socket, api_key: int, version: int, body: bytes) -> bytes:
    request = struct.pack(">hhih", api_key, version, 1, -1) + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    answer = b""
    while len(answer) < 8 or len(answer) < 4 + struct.unpack_from(">i", answer)[0]:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("closed")
        answer += part
    return answer[8:]


@contextmanager
def running_kafka(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a node for the body of a `with`; yields HOST:PORT. Raises NotInstalled."""
    with TemporaryDirectory(prefix="kafka-") as scratch:
        port = free_pair()
        try:
            start(port, Path(scratch), settings)
            yield f"127.0.0.1:{port}"
        finally:
            stop(Path(scratch), kill=True)


def free_pair() -> int:
    """A free port, followed by another free one, below those of outgoing connections."""
    for port in range(20_000 + os.getpid() % 5000 * 2, 32_000, 2):
        try:
            for one in (port, port + 1):
                with socket.create_server(("127.0.0.1", one)):
                    pass
        except OSError:
            continue
        return port
    raise NotInstalled("no two ports in a row are free")

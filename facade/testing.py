"""A real broker for a test: a process of its own, on a free port, in a temporary directory.

`running_broker()` returns when the broker answers (some 0.2 s) and leaves nothing behind. The
broker watches a pipe that its parent holds, so it also ends with a parent that was killed; the
temporary directory of such a parent stays, for nobody is left who knows whether it is wanted.
`running_broker(nodes=3)` is a cluster in one process, of which a test stops and starts nodes.
"""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["BrokerFailed", "RunningBroker", "RunningNode", "running_broker"]

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0
# Below the ports of outgoing connections: while a broker is down, the clients that knock at its
# port must neither be given that port themselves nor, on loopback, connect to themselves.
PORTS = range(10_000, 32_768)


class BrokerFailed(Exception):
    """The broker did not start, did not stop in time or ended by itself; the end of its log."""


class RunningNode:
    """One of the brokers of a process. `bootstrap` is its "HOST:PORT"."""

    def __init__(self, broker: RunningBroker, node_id: int, bootstrap: str) -> None:
        self.node_id = node_id
        self.bootstrap = bootstrap
        self._broker = broker

    def stop(self) -> None:
        """Answer what is in hand and go; other replicas in sync lead its partitions from now on."""
        self._broker.order(f"stop {self.node_id}")

    def cut(self) -> None:
        """As `stop`, but all its connections end at once, without their answers."""
        self._broker.order(f"cut {self.node_id}")

    def start(self) -> None:
        """Come back on the same port; what it led it does not lead again by itself."""
        self._broker.order(f"start {self.node_id}")


class RunningBroker:
    """A broker process. After `kill` or `stop`, `restart` runs it again on the same port and data.

    `bootstrap` is "HOST:PORT", of each node with commas between; `nodes` are these by their ids;
    `data_dir` the directory with the logs; `log_path` what the broker wrote to standard error, all
    starts after one another.
    """

    def __init__(
        self,
        *,
        port: int,
        data_dir: Path,
        log_path: Path,
        settings: Mapping[str, str],
        nodes: int = 1,
    ) -> None:
        first_id = int(settings.get("node.id", "1"))
        self.nodes: Mapping[int, RunningNode] = {
            first_id + number: RunningNode(self, first_id + number, f"127.0.0.1:{port + number}")
            for number in range(nodes)
        }
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes.values())
        self.data_dir = data_dir
        self.log_path = log_path
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; raises BrokerFailed when the broker is not running."""
        if self._process is None:
            raise BrokerFailed("the broker is not running")
        return self._process.pid

    def start(self) -> None:
        """Run the broker; return when it answers. Raises BrokerFailed when it does not."""
        assert self._process is None, "it is running"
        ready_file = self.log_path.with_suffix(".ready")
        ready_file.unlink(missing_ok=True)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(ready_file),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                # Ctrl-C at the terminal is for the tests, which then stop the broker themselves.
                process_group=0,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ready_file.exists():
            if self._process.poll() is not None:
                self._forget()
                raise self._failed("the broker did not start")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failed(f"the broker did not answer within {START_TIMEOUT_S:.0f} s")
            time.sleep(0.002)

    def kill(self) -> None:
        """SIGKILL: what was not on disk or with the operating system is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def stop(self) -> None:
        """SIGTERM, and wait. Raises BrokerFailed when it ended badly, too late or before."""
        if self._process is None:
            return
        gone_before = self._process.poll() is not None
        self._process.terminate()
        try:
            status = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failed(f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s") from None
        self._forget()
        if gone_before or status not in (0, -signal.SIGTERM):
            when = "by itself" if gone_before else "when it was stopped"
            raise self._failed(f"the broker ended {when}, with status {status}")

    def restart(self) -> None:
        """Stop it if it runs; start it again, same port, same data."""
        self.stop()
        self.start()

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Let another node lead a partition. Raises BrokerFailed when it is no replica in sync."""
        self.order(f"lead {topic} {partition} {node_id}")

    def order(self, line: str) -> str:
        """Give an order to a broker of several nodes; what it says (see ottla.broker.control).

        Raises BrokerFailed when it cannot be done.
        """
        try:
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(STOP_TIMEOUT_S)
                control.connect(str(self._control))
                control.sendall(f"{line}\n".encode())
                told = control.makefile().readline().strip()
        except OSError as failed:
            raise self._failed(f"{line}: {failed}") from None
        if not told.startswith("ok"):
            raise BrokerFailed(f"{line}: {told or 'no answer'}")
        return told.removeprefix("ok").strip()

    @property
    def _control(self) -> Path:
        return self.log_path.with_suffix(".control")

    def _command(self, ready_file: Path) -> list[str]:
        # -P: a folder `kafka` or `storage` where the tests happen to run must not be imported.
        command = [sys.executable, "-P", "-m", "ottla", "serve", "--until-stdin-ends"]
        first, *others = self.nodes.values()
        command += ["--listen", first.bootstrap, "--data-dir", str(self.data_dir)]
        command += ["--ready-file", str(ready_file)]
        if others:
            command += ["--nodes", str(len(self.nodes)), "--control", str(self._control)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def _forget(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None

    def _failed(self, what: str) -> BrokerFailed:
        return BrokerFailed(f"{what}; the end of {self.log_path}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 20) -> str:
        """The last lines that the broker logged."""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])


@contextmanager
def running_broker(
    *, data_dir: Path | None = None, settings: Mapping[str, str] | None = None, nodes: int = 1
) -> Iterator[RunningBroker]:
    """Run a broker for the body of a `with`.

    `data_dir` is kept afterwards when it is given; `settings` are Kafka's broker settings by name;
    `nodes` brokers share the process and the directory, with ids from 1 or the given `node.id` on.
    Raises BrokerFailed when the broker does not start, or when it died in the body by itself.
    """
    scratch = Path(tempfile.mkdtemp(prefix="ottla-"))
    try:
        broker = _started(scratch, data_dir or scratch / "data", settings or {}, nodes)
        try:
            yield broker
        except BaseException:
            broker.kill()  # the error of the body is what matters
            raise
        broker.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _started(
    scratch: Path, data_dir: Path, settings: Mapping[str, str], nodes: int
) -> RunningBroker:
    """A broker that answers; another port is tried when somebody took the first in between."""
    for _ in range(5):
        port = _free_ports(nodes)
        broker = RunningBroker(
            port=port,
            data_dir=data_dir,
            log_path=scratch / "broker.log",
            settings=settings,
            nodes=nodes,
        )
        try:
            broker.start()
        except BrokerFailed:
            if all(_is_free(port + number) for number in range(nodes)):
                raise
        else:
            return broker
    raise BrokerFailed("no port stayed free long enough for the broker to take it")


def _free_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    # The system's randomness: tests that seed the generator alike must not meet on one port.
    choice = random.SystemRandom().choice
    while True:
        port = choice(PORTS)
        if all(_is_free(port + number) for number in range(count)):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

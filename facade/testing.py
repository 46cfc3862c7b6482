"""A real broker for a test: in its own process, on a free port, in a temporary directory.

`running_broker()` returns when the broker answers (about 0.2 s for the first, less for others: see
`broker_process.py`) and leaves nothing behind. The broker watches a pipe or socket that the test's
process holds, so it also ends if that is killed; then the temporary directory stays, as the test
may need it. `running_broker(nodes=3)` runs a cluster in one process, whose nodes a test can stop
and start.
"""

from __future__ import annotations

import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ottla.broker_process import BrokerProcess, start_process

__all__ = ["BrokerFailed", "RunningBroker", "RunningNode", "running_broker"]

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0
# Below the ephemeral ports: while a broker is down, its clients retry its port. They must neither
# get that port for their own connection nor, on loopback, connect to themselves.
PORTS = range(10_000, 32_768)


class BrokerFailed(Exception):
    """The broker did not start, did not stop in time, or ended by itself; shows its log."""


class RunningNode:
    """One node of a broker process. `bootstrap` is its "HOST:PORT"."""

    def __init__(self, broker: RunningBroker, node_id: int, bootstrap: str) -> None:
        self.node_id = node_id
        self.bootstrap = bootstrap
        self._broker = broker

    def stop(self) -> None:
        """Answer pending requests and stop; other in-sync replicas take over its partitions."""
        self._broker.order(f"stop {self.node_id}")

    def cut(self) -> None:
        """Like `stop`, but close all connections at once, without answers."""
        self._broker.order(f"cut {self.node_id}")

    def start(self) -> None:
        """Start again on the same port; it does not get back the partitions that it led."""
        self._broker.order(f"start {self.node_id}")


class RunningBroker:
    """A broker process. After `kill` or `stop`, `restart` runs it again on the same port and data.

    Attributes:
        bootstrap: "HOST:PORT" of each node, separated by commas.
        nodes: the nodes by id.
        data_dir: the directory with the logs.
        log_path: the broker's standard error, of all starts in order.
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
        self._process: BrokerProcess | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises BrokerFailed if the broker is not running."""
        if self._process is None:
            raise BrokerFailed("the broker is not running")
        return self._process.pid

    def start(self) -> None:
        """Run the broker; return when it answers. Raises BrokerFailed if it does not."""
        assert self._process is None, "it is running"
        self._process = start_process(self._arguments(), self.log_path)
        try:
            answers = self._process.await_ready(START_TIMEOUT_S)
        except TimeoutError:
            self.kill()
            raise self._failed(
                f"the broker did not answer within {START_TIMEOUT_S:.0f} s"
            ) from None
        if not answers:
            self._process.wait()
            self._forget()
            raise self._failed("the broker did not start")

    def kill(self) -> None:
        """Send SIGKILL: data not yet passed to the operating system is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def stop(self) -> None:
        """Send SIGTERM and wait. Raises BrokerFailed if it failed, was slow or ended before."""
        if self._process is None:
            return
        gone_before = self._process.has_ended()
        self._process.terminate()
        try:
            status = self._process.wait(STOP_TIMEOUT_S)
        except TimeoutError:
            self.kill()
            raise self._failed(f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s") from None
        self._forget()
        # None: the template ended before the broker, and with it the status.
        if gone_before or status not in (0, -signal.SIGTERM, None):
            when = "by itself" if gone_before else "when it was stopped"
            raise self._failed(f"the broker ended {when}, with status {status}")

    def restart(self) -> None:
        """Stop the broker if it runs, then start it on the same port and data."""
        self.stop()
        self.start()

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Make a node the leader of a partition. Raises BrokerFailed if it is not in sync."""
        self.order(f"lead {topic} {partition} {node_id}")

    def order(self, line: str) -> str:
        """Send an order to a broker of several nodes; return its answer (see `control_socket`).

        Raises BrokerFailed if the broker refuses.
        """
        try:
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(STOP_TIMEOUT_S)
                control.connect(str(self._control))
                control.sendall(f"{line}\n".encode())
                answer = control.makefile().readline().strip()
        except OSError as failed:
            raise self._failed(f"{line}: {failed}") from None
        if not answer.startswith("ok"):
            raise BrokerFailed(f"{line}: {answer or 'no answer'}")
        return answer.removeprefix("ok").strip()

    @property
    def _control(self) -> Path:
        return self.log_path.with_suffix(".control")

    def _arguments(self) -> list[str]:
        first, *others = self.nodes.values()
        arguments = ["--listen", first.bootstrap, "--data-dir", str(self.data_dir)]
        if others:
            arguments += ["--nodes", str(len(self.nodes)), "--control", str(self._control)]
        for name, value in self._settings.items():
            arguments += ["--set", f"{name}={value}"]
        return arguments

    def _forget(self) -> None:
        assert self._process is not None
        self._process.close()
        self._process = None

    def _failed(self, what: str) -> BrokerFailed:
        return BrokerFailed(f"{what}; the end of {self.log_path}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the broker's log."""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])


@contextmanager
def running_broker(
    *, data_dir: Path | None = None, settings: Mapping[str, str] | None = None, nodes: int = 1
) -> Iterator[RunningBroker]:
    """Run a broker for the body of a `with`.

    Args:
        data_dir: the directory to use and keep; None for a temporary one.
        settings: Kafka's broker settings by name.
        nodes: the number of nodes, with ids from 1 or the given `node.id` on.

    Raises:
        BrokerFailed: the broker does not start, or ended by itself in the body.
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
    """A broker that answers; tries another port if another process took the first meanwhile."""
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
    """The first of `count` consecutive free ports."""
    # The system's randomness, so that tests with the same seed do not choose the same port.
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

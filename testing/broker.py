"""A real broker for a test: in its own process, on a free port, in a temporary directory.

    with Ottla() as broker:
        client = Producer({"bootstrap.servers": broker.bootstrap_servers})

The `with` begins when the broker answers (about 0.15 s for the first, less for others: see
`process.py`), and its end leaves nothing behind. The broker watches a pipe or socket that
the test's process holds, so it also ends if that is killed; then the temporary directory stays
until the first broker of a later process. `Ottla(nodes=3)` runs a cluster in one process, whose
nodes a test can stop and start.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ..serving.defaults_of_tests import DEFAULTS_OF_TESTS
from ..serving.scratch import Scratch, SocketPlace
from . import story_mode
from .arguments import absolute_path, check_broker, check_text
from .clock import Clock
from .data import PATIENCE_S, BrokerData
from .nodes import RunningNode
from .ports import HeldPorts
from .process import BrokerProcess, start_process

if TYPE_CHECKING:
    from types import TracebackType

    from ..client.cluster_client import Client
    from .lab import Faults, LabClient, Trace
    from .secured import BrokerSecurity
    from .share_groups import RecordsUnderWay
    from .stories import StoryFiles

START_TIMEOUT_S: Final = 20.0
STOP_TIMEOUT_S: Final = 20.0
_FIRST_PAUSE_S: Final = 0.002
_LONGEST_PAUSE_S: Final = 0.1
_LOG_BYTES: Final = 1 << 16
_RING: Final = 10_000
_NOT_STARTED: Final = "the broker was not started: call `start`, or use it in a `with`"

_T = TypeVar("_T")

brokers: Final[weakref.WeakSet[Ottla]] = weakref.WeakSet()
"""The brokers of this process that were started; closed ones until the end of their test."""


class BrokerFailed(Exception):
    """The broker did not start, did not stop in time, or ended by itself; shows its log."""


class _Nodes(dict[int, RunningNode]):
    """The nodes by id."""

    def __missing__(self, node_id: int) -> RunningNode:
        known = ", ".join(map(str, self))
        raise BrokerFailed(f"node {node_id} does not exist; nodes: {known}")


class Ottla(BrokerData):
    """A broker process, for a `with` or an `async with`, or between `start` and `close`.

    After `kill` or `stop`, `start` runs it again on the same port and data.

    Args:
        settings: Kafka's broker settings by name. Unless they are set, a member of a group does not
            wait for others (`group.initial.rebalance.delay.ms=0`) nor for the next assignment
            (`group.share.assignment.interval.ms=0` and those of other types of groups).
        nodes: the number of nodes, with ids from 1 or the given `node.id` on.
        data_dir: the directory to use and keep; None for a temporary one.
        security: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. With SASL, clients log in.
            With SSL the broker has throw-away certificates, made by `ottla[tls]`.
        users: passwords by name; with `SSL` each user has a certificate instead. The methods of
            this class log in as the first.
        mechanism: of the logins: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`. Each start makes the
            credentials of users that have none, which the first user must be allowed to do.
        log_level: what `ottla serve --log-level` takes: `debug`, `kafka.request.logger=trace`.
        clock: `manual`: the broker's time stands still except through `clock.advance`, and goes on
            after a restart; or `manual:MS`, to begin there; or `system`.
        emulate: bugs of Kafka to rehearse: `["KAFKA-19999"]` (docs/reference/lab/bugs.md).
        as_kafka: the release of Kafka to answer as, like `3.9` (docs/reference/releases.md); None:
            that of OTTLA_AS, or else Ottla's own.

    Raises:
        ValueError, TypeError: an argument is wrong; the text names it.

    Attributes:
        nodes: the nodes by id.
        clock: the broker's time.
        tells_stories: whether the next start traces into files; set by the tests of the process.
        stories: the trace in files, for reports of failing tests (docs/how-to/testing.md); None
            unless the tests of the process want them.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str] | None = None,
        nodes: int = 1,
        data_dir: Path | str | None = None,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        mechanism: str = "PLAIN",
        log_level: str = "",
        clock: str = "system",
        emulate: Iterable[str] = (),
        as_kafka: str | None = None,
    ) -> None:
        if not isinstance(nodes, int) or nodes < 1:
            raise ValueError(f"nodes={nodes!r}: a number from 1 on was expected")
        if isinstance(emulate, Iterator):  # the check would use it up
            emulate = tuple(emulate)
        check_broker(settings, users, emulate, log_level, clock)
        self._emulated = emulate if isinstance(emulate, str) else ",".join(emulate)
        if as_kafka is not None:
            check_text("as_kafka", as_kafka, "3.9")
            from ..serving.release import check_release

            check_release(as_kafka)
        self._as_kafka = as_kafka
        self._log_level = log_level
        self._clock = clock
        self.clock = Clock(self.order, self._note_clock)
        self._security: BrokerSecurity | None = None
        if users or security != "PLAINTEXT" or mechanism != "PLAIN":
            from .secured import BrokerSecurity

            self._security = BrokerSecurity(security, users or {}, mechanism)
        self._settings = {name: str(value) for name, value in (settings or {}).items()}
        given_id = self._settings.get("node.id", "1")
        first_id = int(given_id) if given_id.isdecimal() else 1  # the broker refuses others
        self.nodes: Mapping[int, RunningNode] = _Nodes(
            {
                node_id: RunningNode(self.order, node_id)
                for node_id in range(first_id, first_id + nodes)
            }
        )
        self._given_data_dir = absolute_path("data_dir", data_dir)
        self._scratch: Path | None = None
        self._removal: weakref.finalize[..., Ottla] | None = None
        self._sockets = SocketPlace()
        self._ports = HeldPorts()
        self._process: BrokerProcess | None = None
        self._started_by = 0  # a process id
        self._last_log = (0, b"")  # position and content
        self.tells_stories = story_mode.is_on
        self.stories: StoryFiles | None = None
        self._snapshots = 0

    @property
    def bootstrap_servers(self) -> str:
        """ "HOST:PORT" of each node, separated by commas; the same after each start."""
        return ",".join(node.bootstrap for node in self.nodes.values())

    @property
    def bootstrap(self) -> str:
        """The former name of `bootstrap_servers`."""
        return self.bootstrap_servers

    @property
    def data_dir(self) -> Path:
        """The directory with the logs."""
        return self._given_data_dir or self._directory() / "data"

    @property
    def log_path(self) -> Path:
        """The broker's standard error, of all starts in order."""
        return self._directory() / "broker.log"

    @property
    def pid(self) -> int:
        """The process id. Raises BrokerFailed if the broker is not running."""
        if self._process is None:
            raise BrokerFailed("the broker is not running")
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the process runs: false after `kill` and `stop`, and if it ended by itself."""
        return self._process is not None and not self._process.has_ended()

    def start(self) -> None:
        """Run the broker; return when it answers. Raises BrokerFailed if it does not."""
        __tracebackhide__ = True  # pytest shows the caller
        if self._process is not None:
            raise BrokerFailed("the broker was started before: call `restart`, `kill` or `stop`")
        if self._removal is not None and not self._removal.alive:  # it was closed
            self._scratch = None
        brokers.add(self)
        arguments = self._arguments()
        self._ports.before_start()
        self._process, self._started_by = start_process(arguments, self.log_path), os.getpid()
        try:
            answers = self._process.await_ready(START_TIMEOUT_S)
        except TimeoutError:
            self.kill()
            raise self._failed(
                f"the broker did not answer within {START_TIMEOUT_S:.0f} s"
            ) from None
        if answers is None:
            self._process.wait()
            self._forget()
            raise self._failed("the broker did not start")
        for node, bootstrap in zip(self.nodes.values(), answers.split(","), strict=True):
            node.bootstrap = bootstrap
        self._ports.release()
        self._begin_story()
        if self._security is not None:
            self._security.make_credentials(self.bootstrap_servers, self._directory())

    def _begin_story(self) -> None:
        """Trace into a file of its own, if the tests of this process want stories."""
        if not self.tells_stories:
            return
        from .stories import StoryFiles

        self.stories = self.stories or StoryFiles(self._directory())
        self.stories.begin(self._directory())  # a new one after `close`
        with suppress(Exception):  # a test without its story is better than none
            self.trace.start(ring=_RING)

    def kill(self) -> None:
        """Send SIGKILL: data not yet passed to the operating system is lost."""
        self._leave_to_parent()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def stop(self) -> None:
        """Send SIGTERM and wait. Raises BrokerFailed if it failed, was slow or ended before."""
        self._leave_to_parent()
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

    def _leave_to_parent(self) -> None:
        """Forget the broker in a fork of the process that has started it."""
        if self._started_by != os.getpid():
            self._process = None

    def restart(self) -> None:
        """Stop the broker if it runs, then start it on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Kill the broker if it runs, and remove its temporary directory."""
        self.kill()
        self._ports.release()
        with suppress(OSError):
            self._last_log = self._read_log(0)
        if self.stories is not None:
            self.stories.keep()
        if self._removal is not None:
            self._removal()
        self._sockets.remove()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.bootstrap_servers or 'not started'}>"

    def __enter__(self) -> Self:
        __tracebackhide__ = True  # pytest shows the caller
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:  # otherwise the error of the body is what matters
                self.stop()
        finally:
            self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        starting = asyncio.ensure_future(asyncio.to_thread(self.__enter__))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait([starting])
            self.close()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.__exit__, kind, error, traceback)

    def snapshot(self, directory: Path | str | None = None) -> Path:
        """Copy the data directory; a broker that runs is stopped for it and started again.

        Args:
            directory: the new directory of the copy; None for one that `close` removes.

        Returns:
            The directory of the copy, for `restore`.

        Raises:
            BrokerFailed: there is something already; nothing is changed.
        """
        self._snapshots += 1
        target = absolute_path("directory", directory)
        target = target or self._directory() / f"snapshot-{self._snapshots}"
        if target.exists():
            raise BrokerFailed(f"{target} exists already: a new directory was expected")
        runs = self._process is not None
        self.stop()
        try:
            shutil.copytree(self.data_dir, target)
        finally:
            if runs:
                self.start()
        return target

    def restore(self, snapshot: Path | str) -> None:
        """Replace the data by that of a snapshot; a broker that runs is killed and started again.

        Raises:
            BrokerFailed: there is no such snapshot; nothing is changed.
        """
        if not Path(snapshot, "meta.properties").is_file():
            raise BrokerFailed(f"{snapshot} is no snapshot of a data directory")
        runs = self._process is not None
        self.kill()
        self.empty()
        shutil.copytree(snapshot, self.data_dir, dirs_exist_ok=True)
        if runs:
            self.start()

    def empty(self) -> None:
        """Delete all data of a broker that does not run. Raises BrokerFailed if it does."""
        if self._process is not None:
            raise BrokerFailed("the broker runs on its data: call `kill` or `stop` before")
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def wait_for(self, condition: Callable[[], _T], *, timeout_s: float = 10.0) -> _T:
        """Call a function again and again until its result is true; return the result.

        Raises:
            TimeoutError: it was not true in time.
            BrokerFailed: the broker ended by itself meanwhile.
        """
        deadline_s = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while not (result := condition()):
            if self._process is not None and self._process.has_ended():
                raise self._failed("the broker ended by itself")
            if time.monotonic() > deadline_s:
                name = getattr(condition, "__name__", "the condition").replace("<lambda>", "it")
                failed = f"{name} was not true within {timeout_s:g} s, but {result!r}"
                raise TimeoutError(f"{failed}{self._why_waiting()}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return result

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Make a node the leader of a partition. Raises BrokerFailed if it is not in sync."""
        self.order(f"lead {topic} {partition} {node_id}")

    def order(self, line: str, *, timeout_s: float = STOP_TIMEOUT_S) -> str:
        """Send an order to the broker's nodes; return its answer (see `control_socket`).

        Raises BrokerFailed if the broker refuses.
        """
        if not self.bootstrap_servers:
            raise BrokerFailed(f"{line}: {_NOT_STARTED}")
        try:
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(timeout_s)
                control.connect(str(self._control))
                control.sendall(f"{line}\n".encode())
                answer = control.makefile().readline().strip()
        except OSError as failed:
            why = str(failed) if self.runs else "the broker does not run: call `start`"
            raise self._failed(f"{line}: {why}") from None
        if not answer.startswith("ok"):
            raise BrokerFailed(f"{line}: {answer.removeprefix('error ') or 'no answer'}")
        return answer.removeprefix("ok").strip()

    @property
    def faults(self) -> Faults:
        """Faults of the broker, and `expect` for a test (docs/reference/lab)."""
        from .lab import Faults

        return Faults(self.lab())

    @property
    def trace(self) -> Trace:
        """Requests, answers and what they change (docs/reference/lab)."""
        from .lab import Trace

        return Trace(self.lab(), None if self.stories is None else self.stories.file)

    def share_records(self, group: str) -> list[RecordsUnderWay]:
        """The records that a share group has under way, which no Kafka shows: who has them, how
        often they were delivered, and when their locks end. `*` stands for any text.
        """
        from .share_groups import records_under_way

        return records_under_way(self.lab(), group)

    def lab(self) -> LabClient:
        """Requests to the control of the broker, as docs/reference/lab has them."""
        from .lab import LabClient

        return LabClient(lambda: self.order("control"), self._killed_by_rules)

    def _killed_by_rules(self) -> int:
        """How often a rule has killed the process, by its log."""
        return self.log_since(0).count("a rule kills the broker")

    def given(self, state: str, /, **parameters: object) -> dict[str, Any]:
        """Bring the broker into a state, as if clients had done it (docs/reference/lab/states.md).

        Returns what a test needs to know of it, such as offsets. Raises BrokerFailed if the state
        or a parameter is wrong.
        """
        found: dict[str, Any] = json.loads(
            self.order("given " + json.dumps({**parameters, "state": state}))
        )
        return found

    def _directory(self) -> Path:
        """The temporary directory, made at its first use."""
        if self._scratch is None:
            made = Scratch.make()
            self._scratch = made.path
            self._removal = weakref.finalize(self, made.remove)
        return self._scratch

    @property
    def _control(self) -> Path:
        """The socket of orders."""
        return self._sockets.path_of(self.log_path.with_suffix(".control"))

    def _arguments(self) -> list[str]:
        first = next(iter(self.nodes.values()))
        if not first.bootstrap and len(self.nodes) > 1:
            port = self._ports.hold_consecutive(len(self.nodes))
        else:  # the broker chooses its port at its first start
            port = int(first.bootstrap.rpartition(":")[2] or 0)
        arguments = ["--listen", f"127.0.0.1:{port}", "--data-dir", str(self.data_dir)]
        arguments += ["--control", str(self._control)]
        if len(self.nodes) > 1:
            arguments += ["--nodes", str(len(self.nodes))]
        for name, value in (DEFAULTS_OF_TESTS | self._settings).items():
            arguments += ["--set", f"{name}={value}"]
        if self._security is not None:  # a file, because other processes see the arguments
            arguments += ["--config", str(self._security.written(self._directory()))]
        if self._as_kafka is not None:
            arguments += ["--as", self._as_kafka]
        if self._emulated:
            arguments += ["--emulate", self._emulated]
        if self._clock != "system":
            arguments += ["--clock", self._clock]
        if self._log_level:
            arguments += ["--log-level", self._log_level]
        return arguments

    def _note_clock(self, now_ms: int) -> None:
        self._clock = f"manual:{now_ms}"

    def _client(self, *, timeout_s: float = PATIENCE_S) -> Client:
        if not (servers := self.bootstrap_servers):
            raise BrokerFailed(_NOT_STARTED)
        release = self._as_kafka or os.environ.get("OTTLA_AS")
        if self._security is None and not release:
            return super()._client(timeout_s=timeout_s)
        from ..client.cluster_client import Client
        from ..client.security import UNSECURED

        security = UNSECURED
        if self._security is not None:
            security = self._security.of_client(self._directory())
        client = Client.to(servers, timeout_s=timeout_s, security=security, connects=False)
        if release:
            from ..client.core import VERSIONS
            from ..serving.release import highest_versions

            client.highest_versions = highest_versions(release, VERSIONS)
        client.connect()
        return client

    def client_settings(self, client: str, user: str | None = None) -> dict[str, Any]:
        """The settings with which a client connects and logs in.

        Args:
            client: `confluent`, `java`, `aiokafka`, `kafka-python`, `spark`, `franz-go`, `sarama`,
                `kafkajs`.
            user: one of `users`; None for the first.

        Raises:
            ValueError: the client is unknown, or cannot log in by that name.
            KeyError: there is no such user.
        """
        from .secured import BrokerSecurity

        security = self._security or BrokerSecurity("PLAINTEXT", {})
        return security.client_settings(client, self.bootstrap_servers, self._directory(), user)

    def _forget(self) -> None:
        assert self._process is not None
        self._process.close()
        self._process = None
        known = [node.bootstrap for node in self.nodes.values() if node.bootstrap]
        self._ports.hold(int(bootstrap.rpartition(":")[2]) for bootstrap in known)

    def _failed(self, reason: str) -> BrokerFailed:
        return BrokerFailed(f"{reason}; the end of {self.log_path}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the broker's log."""
        return "\n".join(self.log_since(0).splitlines()[-lines:])

    def log_size(self) -> int:
        """The present size of the broker's log, in bytes."""
        try:
            return 0 if self._scratch is None else self.log_path.stat().st_size
        except FileNotFoundError:
            begin, content = self._last_log
            return begin + len(content)

    def log_since(self, position: int) -> str:
        """The broker's log from a position on (see `log_size`), at most its last 64 KiB.

        It is there after `close`, too.
        """
        try:
            begin, content = self._read_log(position)
        except OSError:
            begin, content = self._last_log
        return content[max(position - begin, 0) :].decode(errors="replace")

    def _read_log(self, position: int) -> tuple[int, bytes]:
        begin = max(position, self.log_size() - _LOG_BYTES)
        with self.log_path.open("rb") as log:
            log.seek(begin)
            return begin, log.read()


RunningBroker = Ottla
"""The former name of `Ottla`."""


@contextmanager
def running_broker(
    *,
    data_dir: Path | None = None,
    settings: Mapping[str, str] | None = None,
    nodes: int = 1,
    as_kafka: str | None = None,
) -> Iterator[Ottla]:
    """Run a broker for the body of a `with`, as `Ottla` with the same arguments does.

    Raises:
        BrokerFailed: the broker does not start, or ended by itself in the body.
    """
    with Ottla(data_dir=data_dir, settings=settings, nodes=nodes, as_kafka=as_kafka) as broker:
        yield broker

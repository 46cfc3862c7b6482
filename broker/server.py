"""The broker's process: starts the nodes, prints the ready line, and stops cleanly.

On a signal that ends it (unix_process.py) it accepts no new connections and requests, answers
the current requests, long polls at once, then flushes the logs and writes the clean-shutdown mark.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ..metadata.catalog import ResourceType
from ..protocol.errors import Malformed, Refused
from ..protocol.named_tuple import NamedTuple
from .clock import Clock, SystemClock
from .cluster import Cluster
from .log_output import Log, drain_output, write_error, write_output
from .loop_faults import log_loop_faults
from .net.listening import listen_on
from .net.sockets import NodeSockets
from .node import Node
from .scheduling.garbage import Garbage
from .settings.config import BrokerConfig
from .settings.quorum import Part, Place, with_kafkas_replication
from .settings.support import is_tiered, lines_at_start
from .unix_process import TooFewDescriptors, call_at_ending_signals, raise_descriptor_limit
from .variants import USUAL, Variants

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from ..storage.disk.files import Files
    from .health_socket import HealthSocket
    from .metrics import Metrics
    from .quorum.leader import QuorumListener

_log = Log("nodes")
ALONE: Final = Place(Part.ALONE)
_DISK_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Control(Protocol):
    """Takes orders of tests.

    Attributes:
        files: the operations on files that the storage uses.
        address: HOST:PORT, or the path of a socket; once it is open.
    """

    @property
    def files(self) -> Files: ...

    @property
    def address(self) -> str: ...

    def listen(self) -> None:
        """Listen, before the data directory is changed. Raises OSError."""

    async def open(self, served: Mapping[Node, NodeSockets], /) -> None:
        """Begin to take orders; after `listen`."""

    def add(self, node: Node, door: NodeSockets, /) -> None:
        """Take orders for another node, which a process has joined the cluster with."""

    async def close(self) -> None:
        """Take no more orders: the broker stops."""


class Ready(NamedTuple):
    """A broker that answers.

    Attributes:
        addresses: host and port of the first listener of each node, by node id.
        is_temporary: whether the data directory is deleted at exit.
        control: HOST:PORT or the path of the control; None without one.
    """

    addresses: dict[int, tuple[str, int]]
    data_dir: str
    is_temporary: bool
    cluster_id: str
    control: str | None = None

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of each node, separated by commas."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())


def print_ready(ready: Ready) -> None:
    """Write the ready line to stdout."""
    kept = ", deleted at exit" if ready.is_temporary else ""
    control = f", control at {ready.control}" if ready.control else ""
    data = f"data in {ready.data_dir}{kept}"
    write_output(f"ottla is listening on {ready.bootstrap_servers}, {data}{control}\n")


class Stage(NamedTuple):
    """The surroundings of the process, and what tests replace.

    Attributes:
        clock: the time; None: the machine's.
        variants: parts of the broker.
        place: alone, or with processes that join (broker/quorum).
        health_name: the name of a socket for the health check of a container (health_socket.py).
        begun: called with the cluster when its nodes run, before the broker is announced.
    """

    clock: Clock | None = None
    variants: Variants = USUAL
    place: Place = ALONE
    health_name: str | None = None
    begun: Callable[[Cluster], None] | None = None


_USUAL_STAGE: Final = Stage()


def serve(
    config: BrokerConfig,
    *,
    data_dir: Path | str | None,
    ready_file: Path | str | None,
    nodes: int = 1,
    control: Control | None = None,
    metrics: tuple[str, int] | None = None,
    cluster_id: str | None = None,
    stage: Stage = _USUAL_STAGE,
    on_ready: Callable[[Ready], None] = print_ready,
) -> int:
    """Run a broker until a signal ends it; return the exit status.

    Args:
        config: the settings; the port of a listener may be 0 for a free one.
        data_dir: the directory of the logs; None for `log.dirs` if set, or else for a temporary
            directory that is deleted at exit.
        ready_file: gets one line, HOST:PORT of each node, separated by commas, when they answer.
        nodes: the number of brokers that share the directory; `config` is that of the first one,
            the others have the next ids and ports.
        control: takes orders of tests, and has the files that the storage uses.
        metrics: host and port of the page for Prometheus (metrics.py).
        cluster_id: the id for the cluster of a new directory; a directory with another id is
            refused.
        stage: the surroundings of the process, and what tests replace.
        on_ready: called when the nodes answer, before the file is written.
    """
    try:
        raise_descriptor_limit()
    except TooFewDescriptors as few:
        write_error(f"ottla: {few}\n")
        return 1
    import uvloop

    directory, is_temporary = _directory(config, data_dir)
    if (is_temporary or data_dir is not None) and "," not in directory:
        # DescribeConfigs shows this path; a comma would make it two.
        given_now = {**config.given, "log.dirs": directory}
        config = BrokerConfig(given_now, config.source, config.login_sections)
    if stage.place.awaits_others:
        config = with_kafkas_replication(config)
    try:
        if ready_file is not None:
            from .ready_file import check_place

            check_place(os.fspath(ready_file))
        server = _Server(
            config, directory, is_temporary, cluster_id, stage=stage, on_ready=on_ready
        )
        running = server.run(
            nodes=nodes,
            ready_file=None if ready_file is None else os.fspath(ready_file),
            control=control,
            metrics=metrics,
        )
        if metrics is None:
            return uvloop.run(running)
        from .scheduling.holds import Holds
        from .scheduling.measured_loop import MeasuredLoop

        return uvloop.run(running, loop_factory=partial(MeasuredLoop, Holds()))
    except (OSError, RuntimeError, Refused, Malformed) as trouble:  # its text names the damage
        write_error(f"ottla: {_with_path(trouble, directory)}\n")
        return 1
    finally:
        drain_output()
        if is_temporary:
            import shutil

            shutil.rmtree(directory, ignore_errors=True)


def _with_path(trouble: Exception, directory: str) -> str:
    """The text of an error with its path, and a remedy for a full or write-protected disk."""
    said = str(trouble)
    failed = trouble if isinstance(trouble, OSError) else trouble.__cause__
    if not isinstance(failed, OSError):
        return said
    if failed.errno not in _DISK_TROUBLE:
        if failed is trouble and failed.filename is not None:
            return f"cannot use {os.fsdecode(failed.filename)}: {failed.strerror}"
        return said
    from .runtime.logs.storage_trouble import remedy

    where = "" if directory in said else f"{directory}: "
    return f"{where}{said}: {remedy(failed).partition(':')[0]}"


def _halt(data_dir: str) -> None:
    """End the process at once, because the data directory is removed (as Kafka's halt)."""
    write_error(
        f"ottla: {data_dir} was removed or replaced while the broker ran on it: the broker halts\n"
    )
    drain_output()
    os._exit(1)


def _directory(config: BrokerConfig, data_dir: Path | str | None) -> tuple[str, bool]:
    if data_dir is not None:
        return _without_end(os.fspath(data_dir)), False
    if config.is_given("log.dirs") or config.is_given("log.dir"):
        return _without_end(config.log_dirs[0]), False
    import tempfile

    return tempfile.mkdtemp(prefix="ottla-"), True


def _without_end(path: str) -> str:
    """The path of a directory without slashes at its end."""
    return path.rstrip("/") or path or "."


class _Server:
    """The nodes and their sockets."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: str,
        is_temporary: bool,
        cluster_id: str | None,
        *,
        stage: Stage = _USUAL_STAGE,
        on_ready: Callable[[Ready], None] = print_ready,
    ) -> None:
        self._place = stage.place
        self._quorum: QuorumListener | None = None
        self._health: HealthSocket | None = None
        self._health_name = stage.health_name
        self._begun = stage.begun
        self._config = config
        self._cluster_id = cluster_id
        self._directory = directory
        self._is_temporary = is_temporary
        self._on_ready = on_ready
        self._clock = stage.clock or SystemClock()
        self._variants = stage.variants
        self._cluster: Cluster | None = None

    async def run(
        self,
        *,
        nodes: int,
        ready_file: str | None,
        control: Control | None,
        metrics: tuple[str, int] | None,
    ) -> int:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        call_at_ending_signals(loop, stopped.set)
        configs = [self._config]
        if nodes > 1:
            from .settings.node_configs import configs_of

            configs = configs_of(self._config, nodes)
        clock = self._clock
        log_loop_faults(loop, clock)
        # Whatever can fail outside of the data directory comes first: such a start changes nothing.
        doors = [NodeSockets(config, clock) for config in configs if self._place.is_broker]
        listening = page = joins = None
        garbage = Garbage(clock.live)  # modules and settings stay: no collection visits them
        try:
            listening = None if metrics is None else listen_on(*metrics, "metrics")
            if control is not None:
                control.listen()
            if self._place.part is Part.LEADS:
                host, port = self._place.address
                joins = listen_on(host or "0.0.0.0", port, "the controller")
            files = None if control is None else control.files
            path, cluster_id = self._directory, self._cluster_id
            self._cluster = cluster = Cluster(
                configs[0], path, clock, cluster_id=cluster_id, files=files,
                variants=self._variants, holds=getattr(loop, "holds", None),
                on_directory_gone=_halt,
            )  # fmt: skip
            first, *others = [Node(each, path, clock, cluster=cluster) for each in configs]
            served = dict(zip([first, *others], doors, strict=False))  # a controller has no door
            page = None if listening is None else _metrics_page(first, served, listening)
            await self._begin(served, control)
            if joins is not None:
                on_added = [each.add for each in (page, control) if each is not None]
                await self._let_others_join(first, served, joins, on_added)
            if self._begun is not None:
                self._begun(cluster)
            garbage.start()
            self._say_what_does_nothing(first)
            self._announce(served, ready_file, control)
        except BaseException:
            garbage.stop()
            if page is not None:
                page.close()
            elif listening is not None:
                listening.close()
            if self._quorum is not None:
                await self._quorum.close()
            elif joins is not None:
                joins.close()
            await self._give_up(doors, control)
            raise
        await stopped.wait()
        _log.info("the broker stops", nodes=[node.node_id for node in served])
        garbage.stop()
        if page is not None:
            await asyncio.to_thread(page.close)
        if control is not None:
            await control.close()
        if self._quorum is not None:
            await self._quorum.close()
        await self._stop(served)
        if self._health is not None:
            self._health.close()
        first.close(clean=not self._is_temporary)  # a temporary directory needs no flush
        _log.info("the broker has stopped")
        return 0

    async def _begin(self, served: dict[Node, NodeSockets], control: Control | None) -> None:
        for node, door in served.items():
            node.register(door.advertised)
        for node in served:
            node.begin()
        for node, door in served.items():
            await door.open(node)
        if control is not None:
            await control.open(served)
        if self._health_name is not None:
            from .health_socket import HealthSocket

            # Its own nodes: those of other processes answer for themselves.
            self._health = HealthSocket(self._health_name, partial(_health, {**served}))
            await self._health.open()

    async def _let_others_join(
        self,
        first: Node,
        served: dict[Node, NodeSockets],
        joins: socket.socket,
        on_added: Sequence[Callable[[Node, NodeSockets], None]],
    ) -> None:
        from .quorum.leader import QuorumListener
        from .quorum.members import Members

        cluster = first.cluster
        cluster.controller.awaits_replicas = self._place.awaits_others
        cluster.start()
        members = Members(
            cluster, served, self._directory, self._clock,
            on_added=on_added,
        )  # fmt: skip
        timeout_ms = self._config["broker.session.timeout.ms"]
        self._quorum = QuorumListener(joins, members, self._clock, timeout_ms)
        await self._quorum.open()

    async def _give_up(self, doors: list[NodeSockets], control: Control | None) -> None:
        """End a start that fails, so that the next one finds a directory that was closed."""
        for door in doors:
            door.refuse()
            door.cut()
        if control is not None:
            await control.close()
        if self._cluster is not None:
            with suppress(OSError):  # the first failure is reported
                self._cluster.close(clean=not self._is_temporary)

    @staticmethod
    def _say_what_does_nothing(node: Node) -> None:
        features = node.catalog.features.items()
        is_served = node.cluster.features.is_served
        not_served = [f"{name}={level}" for name, level in features if not is_served(name, level)]
        tiered = [
            name
            for name in node.catalog.resources(ResourceType.TOPIC)
            if is_tiered(node.catalog.overrides(ResourceType.TOPIC, name))
        ]
        harmless, passed_over = node.config.harmless_names(), node.config.passed_over
        for line in lines_at_start(harmless, passed_over, not_served, tiered):
            write_error(line + "\n")

    @staticmethod
    async def _stop(served: dict[Node, NodeSockets]) -> None:
        for node, door in served.items():
            door.refuse()
            door.begin_drain()
            node.stop_coordinating()
        await asyncio.gather(*(door.drained() for door in served.values()))

    def _announce(
        self, served: dict[Node, NodeSockets], ready_file: str | None, control: Control | None
    ) -> None:
        """Call `on_ready`, and write the ready file."""
        release = self._variants.release
        if release is not None:
            write_error(f"ottla: answers as Kafka {release.exact}\n")
            if release.note:
                write_error(f"ottla: {release.note}\n")
        for name in self._variants.names:
            write_error(f"ottla: rehearses a bug of Kafka: {name}\n")
        addresses = {node.node_id: door.address for node, door in served.items()}
        assert self._cluster is not None
        cluster_id = self._cluster.log_directory.cluster_id
        ready = Ready(
            addresses, self._directory, self._is_temporary, cluster_id,
            control=None if control is None else control.address,
        )  # fmt: skip
        self._on_ready(ready)
        if ready_file is not None:
            from .ready_file import write_ready_file

            write_ready_file(ready_file, ready.bootstrap_servers)


def _health(served: Mapping[Node, NodeSockets]) -> dict[str, object]:
    """What the health check of a container gets."""
    from .probes import why_not_ready

    reasons = why_not_ready(served, {node.node_id: door for node, door in served.items()})
    return {
        "status": "failing" if reasons else "ok",
        "reasons": reasons,
        "nodes": [
            {"node_id": node.node_id, "host": door.address[0], "port": door.address[1]}
            for node, door in served.items()
        ],
    }


def _metrics_page(
    first: Node, served: dict[Node, NodeSockets], listening: socket.socket
) -> Metrics:
    from .metrics import Metrics

    sockets = {node.node_id: door for node, door in served.items()}
    page = Metrics(served, sockets, first.clock)
    page.serve(listening)
    return page

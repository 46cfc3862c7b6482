"""A process that joins the one that runs its cluster, and serves its own listeners through it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from ..clock import Clock, SystemClock, within_ms
from ..log_output import Log, write_error
from ..net.listening import bind_to, listen_on
from ..settings.config import BrokerConfig
from ..settings.listeners import Listener
from ..settings.quorum import Place, controller_addresses
from ..unix_process import TooFewDescriptors, call_at_ending_signals, raise_descriptor_limit
from . import lines

_CONNECT_MS: Final = 5_000
_RETRY_MS: Final = 200
_LEAST_BEAT_MS: Final = 10
_LEAST_SILENCE_MS: Final = 1_000
_STOP_MS: Final = 30_000
_LAST_ANSWERS_MS: Final = 2_000
_CHUNK_BYTES: Final = 1 << 16
_BACKLOG: Final = 1024
_LOST: Final = "the process that runs the cluster does not answer"
_log = Log("nodes")

Connect = Callable[..., Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Refused(Exception):
    """The process that runs the cluster refuses for good; the text says why."""


class Joined(NamedTuple):
    """A process that has joined.

    Attributes:
        addresses: host and port of its listeners for clients.
        leader: HOST:PORT of the process that runs the cluster.
    """

    node_id: int
    addresses: list[tuple[str, int]]
    leader: str
    cluster_id: str


class Member:
    """The process, from `open` to `stop`.

    Args:
        config: its settings.
        place: where it finds the process that runs the cluster.
        cluster_id: of the cluster that it wants to join; None for any.
        clock: the time.
        on_joined: called when it has joined, also again after a loss of the connection.
        connect: opens a connection, as `asyncio.open_connection` does.

    Raises:
        OSError: a port is taken; the text has the address.
    """

    def __init__(
        self,
        config: BrokerConfig,
        place: Place,
        cluster_id: str | None,
        clock: Clock,
        on_joined: Callable[[Joined], None],
        *,
        connect: Connect = asyncio.open_connection,
    ) -> None:
        self._config, self._place, self._clock = config, place, clock.live
        self._open = connect
        self._cluster_id = cluster_id
        self._on_joined = on_joined
        wanted = config.listeners if place.is_broker else []
        self._bound = [bind_to(each.host, each.port) for each in wanted]
        self._listeners: list[Listener] = [
            each._replace(port=bound.getsockname()[1])
            for each, bound in zip(wanted, self._bound, strict=True)
        ]
        self._controllers = [
            listen_on(host or "0.0.0.0", port, "the controller")
            for host, port in controller_addresses(config)
        ]
        self._ends_of_controllers: list[asyncio.Server] = []
        self._key = ""
        self._writer: asyncio.StreamWriter | None = None
        self._address = place.address  # of the process that it has joined
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._has_stopped = asyncio.Event()
        self._said = ""

    @property
    def leader(self) -> str:
        """HOST:PORT of the process that runs the cluster."""
        host, port = self._place.address
        return f"{host}:{port}"

    @property
    def reasons(self) -> list[str]:
        """Why clients would have to wait; none while it has joined."""
        return [] if self._writer is not None else [f"{_LOST}: {self.leader}"]

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of its listeners."""
        return [(each.host or "0.0.0.0", each.port) for each in self._listeners]

    async def keep_joining(self) -> None:
        """Join, and join again whenever the connection is lost. Raises Refused."""
        loop = asyncio.get_running_loop()
        self._ends_of_controllers = [
            await loop.create_server(_Ends, sock=each) for each in self._controllers
        ]
        while not self._is_stopping:
            try:
                async with within_ms(self._clock, _CONNECT_MS):
                    reader, writer = await self._connect(self._place.address)
            except (OSError, TimeoutError):
                self._say(f"{_LOST} yet", address=self.leader)
            else:
                try:
                    await self._session(reader, writer)
                except (OSError, ValueError):
                    self._say(_LOST, address=self.leader)
                finally:
                    writer.close()
            await self._clock.sleep_ms(_RETRY_MS)

    async def _connect(
        self, address: tuple[str, int]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self._open(*address, limit=lines.LIMIT_BYTES)

    def _say(self, event: str, **fields: object) -> None:
        """Log something once, and not for each try."""
        if event != self._said:
            self._said = event
            _log.warning(event, node=self._config.node_id, **fields)

    def _limit_silence(self, writer: asyncio.StreamWriter) -> None:
        """Let the system end a connection whose other end is away without a word.

        `alive` has no answer; what counts is that the other machine acknowledges its bytes.
        """
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            limit_ms = max(self._config["broker.session.timeout.ms"], _LEAST_SILENCE_MS)
            connected = writer.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)

    async def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sections = {
            name: [[each.name, each.flag, dict(each.options)] for each in modules]
            for name, modules in self._config.login_sections.items()
        }
        self._limit_silence(writer)
        writer.write(
            lines.line(
                "join",
                node_id=self._config.node_id,
                is_broker=self._place.is_broker,
                settings=self._config.given,
                sections=sections,
                cluster_id=self._cluster_id,
                ports={each.name: each.port for each in self._listeners},
            )
        )
        async with within_ms(self._clock, _CONNECT_MS * 2):
            answer = lines.read_line(await reader.readline())
        if answer.text("kind") == "refused":
            if not answer.flag("may_try_again"):
                raise Refused(answer.text("reason"))
            self._say(answer.text("reason"))
            return
        self._key = answer.text("key")
        # Clients go to the address that answers, for the name may not be resolved for a moment: the
        # DNS of container engines pauses while other containers come and go.
        peer = writer.get_extra_info("peername")
        if peer is None:
            return  # the connection has ended already
        self._address = peer[:2]
        await self._serve()
        self._writer, self._said = writer, ""
        beat = asyncio.create_task(self._say_alive(writer))
        try:
            joined = Joined(
                self._config.node_id, self.addresses, self.leader, answer.text("cluster_id")
            )
            self._on_joined(joined)
            if await reader.readline() == lines.STOPPED:
                await self._pass_last_answers_on()
            else:
                self._say(_LOST, address=self.leader)
        finally:
            beat.cancel()
            self._writer = None
            self._refuse()
            if self._is_stopping:
                self._has_stopped.set()  # also if the other process ends at the same time

    async def _say_alive(self, writer: asyncio.StreamWriter) -> None:
        interval_ms = max(self._config["broker.heartbeat.interval.ms"], _LEAST_BEAT_MS)
        while True:
            writer.write(lines.ALIVE)
            await self._clock.sleep_ms(interval_ms)

    async def _serve(self) -> None:
        """Accept clients."""
        for listener in self._listeners[len(self._bound) :]:
            self._bound.append(bind_to(listener.host, listener.port))
        bound, self._bound = self._bound, []
        for listener, each in zip(self._listeners, bound, strict=True):
            serving = partial(self._serve_client, listener.name)
            self._servers.append(await asyncio.start_server(serving, sock=each, backlog=_BACKLOG))

    async def _pass_last_answers_on(self) -> None:
        """Wait until clients have what the node has answered, and its ends of connections."""
        self._accept_no_more()
        with suppress(TimeoutError):
            async with within_ms(self._clock, _LAST_ANSWERS_MS):
                await asyncio.gather(*self._clients, return_exceptions=True)

    def _accept_no_more(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _refuse(self) -> None:
        """Accept no more clients, and end the connections of those that are here."""
        self._accept_no_more()
        for client in [*self._clients]:
            client.cancel()

    async def _serve_client(
        self, listener: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            await self._pass_on(listener, reader, writer)
            writer.close()
            await writer.wait_closed()  # what is passed on has left this process
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the client sees the end of its connection
        finally:
            self._clients.discard(task)
            writer.close()

    async def _pass_on(
        self, listener: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass the bytes of a client on, and those for it back, until one side ends."""
        client, at = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        if client is None or at is None:
            return  # the client has reset its connection already, as scanners of ports do
        async with within_ms(self._clock, _CONNECT_MS):
            up_reader, up_writer = await self._connect(self._address)
        try:
            up_writer.write(
                lines.line(
                    "forward",
                    node_id=self._config.node_id,
                    key=self._key,
                    listener=listener,
                    client=[*client[:2]],
                    at=[*at[:2]],
                )
            )
            async with within_ms(self._clock, _CONNECT_MS):
                if await up_reader.readline() != lines.OK:
                    return
            both = {
                asyncio.create_task(_copy(reader, up_writer)),
                asyncio.create_task(_copy(up_reader, writer)),
            }
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in both:
                    each.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            up_writer.close()

    async def stop(self) -> None:
        """Tell the process that runs the cluster, and wait until the node has stopped there."""
        self._is_stopping = True
        writer = self._writer
        if writer is not None:
            with suppress(OSError, TimeoutError):
                writer.write(lines.STOP)
                async with within_ms(self._clock, _STOP_MS):
                    await self._has_stopped.wait()
        self.close()

    def close(self) -> None:
        """Accept nothing any more, and end the connections."""
        self._refuse()
        for server in self._ends_of_controllers:
            server.close()
        for bound in (*self._bound, *self._controllers):
            bound.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK_BYTES):
            target.write(data)
            await target.drain()


class _Ends(asyncio.Protocol):
    """A connection to a controller that does not run the cluster: it shows that it is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def run_member(
    config: BrokerConfig,
    place: Place,
    *,
    cluster_id: str | None,
    on_joined: Callable[[Joined], None],
    health_name: str | None = None,
) -> int:
    """Run the process until a signal ends it; return the exit status.

    Args:
        config: its settings.
        place: where it finds the process that runs the cluster.
        cluster_id: of the cluster that it wants to join; None for any.
        on_joined: called each time that it has joined.
        health_name: the name of a socket for the health check of a container (health_socket.py).
    """
    try:
        raise_descriptor_limit()
        import uvloop

        return uvloop.run(_run(config, place, cluster_id, on_joined, health_name))
    except (OSError, Refused, TooFewDescriptors) as trouble:
        write_error(f"ottla: {trouble}\n")
        return 1


async def _run(
    config: BrokerConfig,
    place: Place,
    cluster_id: str | None,
    on_joined: Callable[[Joined], None],
    health_name: str | None,
) -> int:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    call_at_ending_signals(loop, ended.set)
    member = Member(config, place, cluster_id, SystemClock(), on_joined)
    health = None
    if health_name is not None:
        from ..health_socket import HealthSocket

        health = HealthSocket(health_name, lambda: _health(config, member))
        await health.open()
    joining = asyncio.create_task(member.keep_joining())
    ending = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait({joining, ending}, return_when=asyncio.FIRST_COMPLETED)
        if joining.done():
            joining.result()
        _log.info("the broker stops", nodes=[config.node_id])
        await member.stop()
    finally:
        member.close()
        joining.cancel()
        ending.cancel()
        if health is not None:
            health.close()
    _log.info("the broker has stopped")
    return 0


def _health(config: BrokerConfig, member: Member) -> Mapping[str, object]:
    nodes = [
        {"node_id": config.node_id, "host": host, "port": port} for host, port in member.addresses
    ]
    reasons = member.reasons
    return {"status": "failing" if reasons else "ok", "reasons": reasons, "nodes": nodes[:1]}

"""A node whose clients are connections of this process: frames in, frames out, no sockets.

Everything from the received bytes to the written bytes is the broker's. Time stands still, so that
neither the load of the machine nor a timer of the broker changes the calls of a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

from ottla.broker.clock import SystemClock
from ottla.broker.complaints import Complaints
from ottla.broker.net.connection import Connection, Shared
from ottla.broker.net.fair_turns import FairTurns
from ottla.broker.net.held_memory import AnswerMemory, RequestMemory
from ottla.broker.node import Node
from ottla.broker.requests.dispatch import Dispatch, Layer
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import Listener
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.frames import ReceiveBuffers
from tests.broker.fakes import LISTENER, FakeTransport, deliver, framed
from tests.broker.one_node import read
from tests.clocks import MOST_TURNS

from .counting import Measure, measured
from .still_time import StillLoop, still_clock

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
_LIMIT_BYTES = 1 << 26


class InProcess:
    """A running node, and what its connections share.

    Attributes:
        loop: the running event loop.
        measure: measures the requests that are to be measured; None: none of them.
    """

    def __init__(self, directory: Path, loop: StillLoop, clock: SystemClock) -> None:
        self.loop = loop
        self.node = Node(BrokerConfig.from_settings(SETTINGS), directory, clock)
        self.node.start([Listener("PLAINTEXT", "broker", 9092)])
        self.measure: Measure | None = None
        self._dispatch = Dispatch(self.node)
        memory = RequestMemory(1 << 30, clock), AnswerMemory()
        self._shared = Shared(
            FairTurns(clock.monotonic_s), ReceiveBuffers(), *memory, Complaints(clock), clock
        )
        self._numbers = count()
        self._connections: list[Connection] = []

    def client(self) -> Client:
        """A new connection."""
        connection = Connection(
            self._dispatch,
            self._shared,
            size_limit_bytes=_LIMIT_BYTES,
            number=next(self._numbers),
            listener=LISTENER,
            on_closed=lambda _: None,
        )
        self._connections.append(connection)
        return Client(self, connection)

    def surround_requests(self, node: Node, layers: Sequence[Layer]) -> None:
        """Put these layers around all requests, as `NodeSockets` does."""
        self._dispatch = Dispatch(node, layers)
        for connection in self._connections:
            connection.serve_by(self._dispatch)


class Client:
    """One connection: a request at a time, and its answer."""

    def __init__(self, broker: InProcess, connection: Connection) -> None:
        self._broker = broker
        self._connection = connection
        self._transport = FakeTransport(connection)
        connection.connection_made(self._transport)
        self._begun: tuple[ApiKey, int] | None = None

    async def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        """The answer to a request that is not measured."""
        await self._send(None, framed(key, version, correlation_id=7, **fields))
        return await self._answer(key, version)

    async def measured(self, key: ApiKey, version: int, **fields: Any) -> Any:
        """The answer to a request that is measured; an error in it is a failure."""
        frame = framed(key, version, correlation_id=7, **fields)
        await self._send(self._broker.measure, frame)
        return _without_error(await self._answer(key, version))

    async def begin(self, key: ApiKey, version: int, **fields: Any) -> None:
        """Begin a request that is measured and waits."""
        frame = framed(key, version, correlation_id=7, **fields)
        await self._send(self._broker.measure, frame)
        assert not self._transport.writes, "it does not wait"
        self._begun = key, version

    async def begun(self) -> Any:
        """The answer to the request that has waited."""
        assert self._begun is not None
        return _without_error(await self._answer(*self._begun))

    async def _send(self, measure: Measure | None, frame: bytes) -> None:
        with nullcontext() if measure is None else measured(measure):
            deliver(self._connection, frame)
            await self._broker.loop.rest()

    async def _answer(self, key: ApiKey, version: int) -> Any:
        for _ in range(MOST_TURNS):  # a thread may work for it
            if self._transport.writes:
                break
            await asyncio.sleep(0)
        assert self._transport.writes, f"{key.name} is not answered"
        whole = bytearray(self._transport.written)
        self._transport.writes.clear()
        return read(key, version, whole)


def _without_error(answer: Any) -> Any:
    """The answer; it fails if there is an error code, at any depth."""
    if isinstance(answer, Mapping):
        for name, value in answer.items():
            assert not name.endswith("error_code") or value == 0, answer
            _without_error(value)
    elif isinstance(answer, list | tuple):
        for each in answer:
            _without_error(each)
    return answer


@contextmanager
def in_process(directory: Path) -> Iterator[tuple[InProcess, asyncio.Runner]]:
    """A node on a directory, and the runner of its event loop."""
    with asyncio.Runner(loop_factory=StillLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, StillLoop)
        with still_clock(loop) as clock:

            async def start() -> InProcess:
                return InProcess(directory, loop, clock)

            async def stop() -> None:
                broker.node.close(clean=False)

            broker = runner.run(start())
            yield broker, runner
            runner.run(stop())

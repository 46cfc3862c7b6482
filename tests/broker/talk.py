"""A node, spoken to in bytes and from any address, while time stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ottla.broker.node import Node
from ottla.broker.requests.context import ConnectionInfo, Disconnect
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import PLAINTEXT, Listener, ServedListener
from ottla.protocol.errors import Malformed
from tests.broker.handlers.topic_requests import Step

from ..clocks import StillClock
from ..protocol.pieces import joined
from ..wire.client import decode, encode

NOW_MS = 1_700_000_000_000
HERE = ("localhost", 9092)
LISTENER = ServedListener("PLAINTEXT", PLAINTEXT, *HERE)
CONNECTION = ConnectionInfo("here-there-1", "there:1", "there", LISTENER)


class Talk:
    """The event loop turns only while the node answers."""

    def __init__(self, runner: asyncio.Runner, node: Node) -> None:
        self.node = node
        self._runner = runner
        self._dispatch = Dispatch(node)

    def ask(self, step: Step, *, address: str = "") -> dict[str, Any] | None:
        """The answer, to an address or to CONNECTION; None when it would be closed."""
        if not address:
            return self._runner.run(self._ask(step, CONNECTION))
        info = ConnectionInfo(f"here-{address}:1-1", f"{address}:1", address, LISTENER)
        return self._runner.run(self._ask(step, info))

    async def _ask(self, step: Step, connection: ConnectionInfo) -> dict[str, Any] | None:
        frame = encode(step.api, step.version, step.body, correlation_id=7)
        try:
            _, reply = self._dispatch.serve(memoryview(bytearray(frame[4:])), connection)
            if isinstance(reply, asyncio.Future):
                reply = await reply
        except (Malformed, Disconnect):
            return None
        assert reply is not None
        whole = bytes(reply) if isinstance(reply, bytearray) else joined(reply)
        return decode(step.api, step.version, whole[4:])


@contextmanager
def talk_with(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[Talk]:
    """A node on a data directory, which is left as a clean stop leaves it."""
    config = BrokerConfig.from_settings({"node.id": "1", **(settings or {})})

    async def start() -> Node:
        node = Node(config, data_dir, StillClock())
        node.start([Listener("PLAINTEXT", *HERE)])
        return node

    async def stop(node: Node) -> None:
        node.close()

    with asyncio.Runner() as runner:
        node = runner.run(start())
        yield Talk(runner, node)
        runner.run(stop(node))

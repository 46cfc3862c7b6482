"""Nodes that share a folder, in one event loop and behind sockets of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ottla.broker.clock import Clock, SystemClock
from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.runtime.work_limits import WORK_LIMITS, WorkLimits
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.node_configs import configs_of
from ottla.protocol.api_keys import ApiKey
from tests.broker.fakes import connection_info, frame
from tests.broker.one_node import read

PATIENCE_S = 10.0


class SeveralNodes:
    """Nodes by id, and a client's view of them."""

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str],
        count: int,
        limits: WorkLimits,
        clock: Clock,
    ) -> None:
        listeners = {"listeners": "PLAINTEXT://127.0.0.1:0", **settings}
        configs = configs_of(BrokerConfig.from_settings(listeners), count)
        first = Node(configs[0], directory, clock, limits=limits)
        others = [Node(config, directory, clock, cluster=first.cluster) for config in configs[1:]]
        self.nodes = {node.node_id: node for node in (first, *others)}
        self.doors = {config.node_id: NodeSockets(config, clock) for config in configs}
        self.cluster = first.cluster
        self.controller = first.controller

    async def begin(self) -> None:
        for node_id, node in self.nodes.items():
            node.register(self.doors[node_id].advertised)
        for node_id, node in self.nodes.items():
            node.begin()
            await self.doors[node_id].open(node)

    async def stop(self, node_id: int) -> None:
        self.doors[node_id].refuse()
        self.doors[node_id].cut()
        self.nodes[node_id].leave()

    async def start(self, node_id: int) -> None:
        self.doors[node_id].bind()
        self.nodes[node_id].come_back(self.doors[node_id].advertised)
        await self.doors[node_id].open(self.nodes[node_id])

    def topic(self, name: str, *leaders: int, replicas: int = 1, **configs: str) -> Any:
        """A topic with a partition for each of these, which lead them; settings have _ for dots."""
        ids = sorted(self.nodes)
        assignments = {}
        for index, leader in enumerate(leaders):
            others = [node_id for node_id in ids if node_id != leader]
            assignments[index] = [leader, *others][:replicas]
        given = {key.replace("_", "."): value for key, value in configs.items()}
        return self.controller.create_topic(name, assignments=assignments, configs=given)

    def partition(self, topic: str, index: int = 0) -> Any:
        return self.cluster.catalog.topics[topic].partitions[index]

    async def ask(self, node_id: int, key: ApiKey, version: int, **fields: Any) -> Any:
        """Send a request to a node and read its answer."""
        data = frame(key, version, correlation_id=7, **fields)
        dispatch = Dispatch(self.nodes[node_id])
        _, answered = dispatch.serve(memoryview(data), connection_info())
        if isinstance(answered, asyncio.Future):
            answered = await answered
        return read(key, version, answered)


@asynccontextmanager
async def several_nodes(
    directory: Path,
    count: int = 3,
    limits: WorkLimits = WORK_LIMITS,
    clock: Clock | None = None,
    /,
    **settings: str,
) -> AsyncIterator[SeveralNodes]:
    """Settings have _ for their dots."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    several = SeveralNodes(directory, given, count, limits, clock or SystemClock())
    await several.begin()
    try:
        yield several
    finally:
        for door in several.doors.values():
            door.refuse()
            door.cut()
        several.cluster.close()


async def until(happens: Callable[[], object]) -> None:
    """Let the loop run until something is so; it is a failure when that takes too long."""
    async with asyncio.timeout(PATIENCE_S):
        while not happens():  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.001)

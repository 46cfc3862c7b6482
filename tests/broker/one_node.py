"""A node in a folder of its own, asked by frames as a client would ask it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ottla.broker.clock import SystemClock
from ottla.broker.cluster import Cluster
from ottla.broker.node import Node
from ottla.broker.requests.context import ConnectionInfo, Context
from ottla.broker.requests.dispatch import Answer, Dispatch
from ottla.broker.runtime.work_limits import WORK_LIMITS, WorkLimits
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import Listener
from ottla.broker.upkeep.cleaner import Cleaner
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.storage.disk.files import Files
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS, connection_info, frame
from tests.clocks import LoopClock
from tests.library_classes import library_class
from tests.protocol.message_values import plain
from tests.protocol.pieces import joined


class OneNode:
    """A node, and a client's view of it.

    Args:
        clock: the node's; None: one that goes by the event loop.
        files: the node's; None: the operating system's.
        limits: of the work that the node does at once.

    Attributes:
        connection: what the node knows of the client.
        clock: the node's, unless it was given another one.
    """

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str],
        clock: SystemClock | None = None,
        *,
        files: Files | None = None,
        limits: WorkLimits = WORK_LIMITS,
        on_directory_gone: Callable[[str], None] | None = None,
    ) -> None:
        self.clock = LoopClock()
        config, clock = BrokerConfig.from_settings(settings), clock or self.clock
        cluster = Cluster(
            config, directory, clock,
            files=files, limits=limits, on_directory_gone=on_directory_gone,
        )  # fmt: skip
        self.node = Node(config, directory, clock, cluster=cluster)
        self.node.start([Listener("PLAINTEXT", "broker", 9092)])
        self.connection: ConnectionInfo = connection_info()
        self._dispatch = Dispatch(self.node)

    def topic(self, name: str, partitions: int = 1, **configs: str) -> Any:
        """A new topic; settings have _ for their dots."""
        given = {key.replace("_", "."): value for key, value in configs.items()}
        return self.node.controller.create_topic(name, partitions=partitions, configs=given)

    def log(self, topic: str, partition: int = 0) -> PartitionLog:
        log = self.node.open_log_of(topic, partition)
        assert log is not None
        return log

    def cleaner(self) -> Cleaner:
        """A cleaner of the node's logs that has not begun."""
        return Cleaner(self.node.log_directory, self.node.config, self.clock, self.node.loading)

    def append(self, topic: str, *values: bytes, partition: int = 0, **header: Any) -> None:
        """Append a batch to the log, and wake waiting fetches."""
        header.setdefault("timestamp_ms", START_MS)
        log = self.log(topic, partition)
        log.append(build([(None, value) for value in values], **header), now_ms=START_MS)
        self.node.wake_fetches(log.topic, log.partition)

    def begin(
        self, key: ApiKey, version: int, **fields: Any
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        """Send a request; what the connection gets of dispatch."""
        data = self.frame(key, version, **fields)
        return self._dispatch.serve(memoryview(data), self.connection)

    @staticmethod
    def frame(key: ApiKey, version: int, **fields: Any) -> bytes:
        """A request without its size."""
        return frame(key, version, correlation_id=7, **fields)

    async def answer_to(self, data: bytes) -> Answer:
        """Send the bytes of a request; the frame of its answer."""
        _, answered = self._dispatch.serve(memoryview(data), self.connection)
        return await answered if isinstance(answered, asyncio.Future) else answered

    async def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        """Send a request and read its answer; None when there is none."""
        _, answered = self.begin(key, version, **fields)
        if isinstance(answered, asyncio.Future):
            answered = await answered
        return read(key, version, answered)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so; it is a failure when that takes too long."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.0001)


def read(key: ApiKey, version: int, answered: Answer) -> Any:
    if answered is None:
        return None
    whole = bytes(answered) if isinstance(answered, bytearray) else joined(answered)
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    cls = library_class(key, "Response")
    return plain(cls._struct, cls.decode(whole[4:], version=version, header=True), version)


@asynccontextmanager
async def one_node(
    directory: Path,
    limits: WorkLimits = WORK_LIMITS,
    files: Files | None = None,
    /,
    **settings: str,
) -> AsyncIterator[OneNode]:
    """Settings have _ for their dots."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    one = OneNode(directory, given, files=files, limits=limits)
    try:
        yield one
    finally:
        one.node.close()

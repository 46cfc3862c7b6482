"""A broker that the campaign kills and starts again: of Ottla, or Apache Kafka."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.testing import Ottla

from ..kafka import node
from ..kafka.place import KAFKA


class Broker(Protocol):
    """A broker; a `with` ends it and removes its data.

    Attributes:
        bootstrap_servers: the same after each start.
        pid: of the process that runs now.
    """

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start_again(self) -> None:
        """Start the process that was killed."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class OttlaBroker(Ottla):
    """Ottla in its own process."""

    def start_again(self) -> None:
        """Start the process that was killed."""
        self.kill()  # it only notes the death
        self.start()


class KafkaBroker:
    """One node of Apache Kafka 4.1."""

    def __init__(self) -> None:
        self._port = node.free_pair()
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-"))
        self.pid = 0

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._port}"

    def start_again(self) -> None:
        """Start the process that was killed."""
        self.pid = node.start(self._port, self._directory, KAFKA, heap_mb=512)

    def __enter__(self) -> Self:
        self.start_again()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        node.stop(self._directory, kill=True)
        shutil.rmtree(self._directory, ignore_errors=True)


def create_topics(bootstrap_servers: str, *names: str) -> None:
    """Create topics with two partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    for each in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        each.result(timeout=60)

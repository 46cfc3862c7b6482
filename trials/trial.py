"""What the trials of programs share: a broker of their own, its trace, a deadline."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ..testing.broker import Ottla
from ..trace.events import Event
from ..trace.reader import read_file


class Trial:
    """A broker on which a program is tried; a `with` starts it and ends it.

    Args:
        broker: not started yet.
        directory: gets the trace and the output of the program.
        timeout_s: of the program, from `begin` on.

    Attributes:
        trace: the file of the trace.
    """

    def __init__(self, broker: Ottla, directory: Path, timeout_s: float) -> None:
        self.broker = broker
        self.directory = directory
        self.trace = directory / "trace.jsonl"
        self._timeout_s = timeout_s
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        self.broker.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.broker.__exit__(kind, error, traceback)

    def create_topics(self, topics: Sequence[tuple[str, int]]) -> None:
        """Create topics, each a name and its number of partitions, with a replica on each node."""
        replicas = len(self.broker.nodes)
        for name, partitions in topics:
            self.broker.create_topic(name, partitions=partitions, replication_factor=replicas)

    def begin(self) -> None:
        """Start the trace and the time of the program."""
        self.broker.trace.start(ring=1, file=self.trace)
        self._began_s = time.monotonic()

    @property
    def passed_s(self) -> float:
        """The seconds since `begin`."""
        return time.monotonic() - self._began_s

    @property
    def is_late(self) -> bool:
        """Whether the time of the program is over."""
        return self.passed_s >= self._timeout_s

    def keep_trace(self, directory: Path | None, name: str) -> None:
        """Copy the trace to a directory, made if necessary; None: do nothing."""
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.trace, directory / f"{name}.jsonl")

    def events(self) -> Iterator[Event]:
        """The events of the trace so far."""
        return read_file(self.trace)

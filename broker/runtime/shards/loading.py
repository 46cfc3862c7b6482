"""Loads coordinators: replays small logs at once, and large ones in slices between requests.

Logs are replayed one after another; the event loop runs between two slices. Until its log is
replayed, a coordinator answers COORDINATOR_LOAD_IN_PROGRESS, and the log is not compacted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ....protocol.errors import Malformed, Refused
from ....storage.log import PartitionLog
from ...clock import is_in_event_loop
from ...log_output import Log
from ..work_limits import WORK_LIMITS, WorkLimits

if TYPE_CHECKING:
    from .machines import Machine
    from .shard import Shard

Done: TypeAlias = Callable[[Exception | None], None]
_log = Log("loading")


class Loading:
    """The shards that are being loaded.

    Args:
        limits: of the bytes that are loaded at once, in the same turn of the loop, and of a slice.

    Attributes:
        left: the number of shards that are not loaded yet.
    """

    def __init__(self, limits: WorkLimits = WORK_LIMITS) -> None:
        self._limits = limits
        self._queue: deque[tuple[Shard[Machine], Done]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._current: Shard[Machine] | None = None
        self._at_once_bytes = limits.load_at_once_bytes

    @property
    def left(self) -> int:
        return len(self._queue) + (self._current is not None)

    def is_loading(self, log: PartitionLog) -> bool:
        """Whether a log is being replayed; records must not be removed from it meanwhile."""
        return self._current is not None and self._current.log is log

    def add(self, shard: Shard[Machine], done: Done) -> None:
        """Load a shard, then call `done` with what went wrong, or None.

        Without a running event loop it is loaded at once, whatever its size.
        """
        size_bytes = shard.log.size_bytes if shard.log.log_end_offset else 0
        if size_bytes == 0 or not is_in_event_loop() or size_bytes <= self._at_once_bytes:
            self._at_once_bytes -= size_bytes
            done(_tried(shard.load))
            return
        shard.begin_loading()
        self._queue.append((shard, done))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="loading")

    def stop(self) -> None:
        """Load no further shards."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._queue.clear()
        self._current = None

    async def _run(self) -> None:
        while self._queue:
            await asyncio.sleep(0)
            shard, done = self._queue.popleft()
            self._current = shard
            failed = None if shard.is_closed else await _replay(shard, self._limits.load_slice_s)
            self._current = None
            try:
                done(failed)
            except Exception as fault:  # the other shards must be loaded all the same
                _log.error(
                    "a callback of a loaded coordinator raises an exception",
                    topic=shard.log.topic,
                    exc_info=fault,
                )
        self._task = None
        self._at_once_bytes = self._limits.load_at_once_bytes


async def _replay(shard: Shard[Machine], slice_s: float) -> Exception | None:
    slices = shard.load_in_slices(slice_s)
    while True:
        try:
            next(slices)
        except StopIteration:
            return None
        except (Refused, Malformed) as damage:
            return damage
        except Exception as fault:  # no memory, or a bug: the other shards are loaded all the same
            _log.error(
                "a coordinator cannot be loaded", topic=shard.log.topic,
                partition=shard.log.partition, exc_info=fault,
            )  # fmt: skip
            return fault
        await asyncio.sleep(0)


def _tried(load: Callable[[], None]) -> Exception | None:
    try:
        load()
    except (Refused, Malformed, MemoryError) as failed:
        return failed
    return None

"""The timed jobs of a broker: retention, checkpoints, flushes, expiry of producers, saved states.

Each job visits all logs and lets the event loop run between them. A failure is logged, and the job
runs again at its next time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from ...storage.log import PartitionLog
from ..log_output import Log
from ..runtime.logs.blocking_steps import NO_RESOURCES, in_threads, reason_of
from .cleaner import Cleaner

if TYPE_CHECKING:
    from ...storage.log_directory import LogDirectory
    from ..clock import Clock
    from ..runtime.logs.flushes import Flushes
    from ..runtime.shards.loading import Loading
    from ..settings.config import BrokerConfig
    from .removals import Removals

_LOGS_IN_A_STEP: Final = 64
_REMOVE_INTERVAL_MS: Final = 30_000
_SAVE_INTERVAL_MS: Final = 2_000
_MOST_SAVES: Final = 32  # logs at a time; each takes 0.5 ms, in a turn of its own
_NEVER_MS: Final = 1 << 62  # Kafka's value for never is the largest long

_log = Log("background")
Job = Callable[[PartitionLog], Iterator[None] | None]
TimedJob = Callable[[], Awaitable[None]]


class Background:
    """The timed jobs of a process; they run from `start` to `stop`.

    Args:
        directory: the logs that the jobs visit.
        config: of the first node; it has the intervals.
        flushes: of the logs.
        removals: removes the files of deleted segments.
        loading: the cleaner skips the logs that it replays.
    """

    def __init__(
        self,
        directory: LogDirectory,
        config: BrokerConfig,
        clock: Clock,
        *,
        flushes: Flushes,
        removals: Removals,
        loading: Loading,
    ) -> None:
        self._directory = directory
        self._config = config
        self._clock = clock
        self._flushes = flushes
        self._removals = removals
        self._tasks: list[asyncio.Task[None]] = []
        self._flushed_ms: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()
        self._cleaner = Cleaner(directory, config, clock, loading)

    def start(self) -> None:
        """Start; needs a running event loop."""
        config = self._config
        # Unlike in Kafka, a job with a shorter interval does not wait for the whole delay.
        first_ms = config["log.initial.task.delay.ms"]
        expiry_ms = config["producer.id.expiration.check.interval.ms"]
        visit = partial(partial, self._over_all_logs)
        for name, delay_ms, interval_ms, job in (
            ("retention", first_ms, config["log.retention.check.interval.ms"], self._retain_all),
            ("flush", first_ms, config["log.flush.scheduler.interval.ms"], visit(self._flush)),
            ("expiry of producers", _NEVER_MS, expiry_ms, visit(self._forget_producers)),
            ("removal of segments", first_ms, _REMOVE_INTERVAL_MS, visit(self._remove_deleted)),
        ):
            if interval_ms < _NEVER_MS:
                self._start(name, self._clock, min(delay_ms, interval_ms), interval_ms, job)
        live, interval_ms = self._clock.live, config["log.flush.offset.checkpoint.interval.ms"]
        first_ms = min(first_ms, interval_ms)
        self._start("checkpoints", live, first_ms, interval_ms, self._checkpoint)
        every_ms = _SAVE_INTERVAL_MS
        self._start("saving of states", live, every_ms, every_ms, self._save_states)
        self._cleaner.start()

    @property
    def is_compacting(self) -> bool:
        """Whether logs are being compacted."""
        return self._cleaner.is_busy

    def stop(self) -> None:
        """Stop all jobs; none is within a step."""
        self._cleaner.stop()
        for task in self._tasks:
            task.cancel()

    def _start(
        self, name: str, clock: Clock, delay_ms: int, interval_ms: int, job: TimedJob
    ) -> None:
        going = _repeat(name, clock, delay_ms, interval_ms, job)
        self._tasks.append(asyncio.create_task(going, name=name))

    async def _over_all_logs(self, job: Job) -> None:
        for count, log in enumerate(list(self._directory.logs())):
            if count % _LOGS_IN_A_STEP == _LOGS_IN_A_STEP - 1:
                await asyncio.sleep(0)
            if self._directory.log_of(log.topic, log.partition) is not log:
                continue  # deleted meanwhile
            try:
                for _ in job(log) or ():
                    await asyncio.sleep(0)
                    if self._directory.log_of(log.topic, log.partition) is not log:
                        break
            except Exception as trouble:  # the disk, no memory: the other logs have their turn
                _log.error(
                    "the timed jobs of a log fail",
                    topic=log.topic,
                    partition=log.partition,
                    reason=reason_of(trouble),
                )

    async def _retain_all(self) -> None:
        await self._over_all_logs(self._retain)
        # The files of dropped segments wait for the start of their logs to be on disk.
        if any(log.layout.has_dropped for log in self._directory.logs()):
            await self._write_checkpoints()

    async def _checkpoint(self) -> None:
        self._flushes.ask_for_metadata()
        await self._write_checkpoints()

    async def _write_checkpoints(self) -> None:
        try:
            await in_threads(self._directory.checkpoint_in_steps())
        except NO_RESOURCES as trouble:
            _log.error("the checkpoints cannot be written", reason=reason_of(trouble))

    async def _save_states(self) -> None:
        """Save the states of busy logs, so that a start after a SIGKILL reads few batches."""
        # Without steps: 10,000 logs take a millisecond.
        due = [log for log in self._directory.logs() if log.log_end_offset >= log.saved.due_offset]
        due.sort(key=lambda log: log.saved.due_offset - log.log_end_offset)
        with suppress(OSError):  # the last saved state stays, and the next time tries again
            if self._directory.permit_saves():
                for log in due[:_MOST_SAVES]:
                    await self._save(log)

    @staticmethod
    async def _save(log: PartitionLog) -> None:
        if not log.is_closed and log.failure is None:
            with suppress(OSError):
                for _ in log.save_in_steps():
                    await asyncio.sleep(0)
            await asyncio.sleep(0)

    def _retain(self, log: PartitionLog) -> Iterator[None]:
        """Apply retention; the cleaner does that for compacted logs, as in Kafka."""
        from ...storage.cleaning.retention import delete_old_in_steps

        if not log.config.compacts:
            yield from delete_old_in_steps(log, self._clock.now_ms())

    def _remove_deleted(self, log: PartitionLog) -> None:
        log.remove_deleted(self._clock.monotonic_ms(), self._removals.paths)

    def _flush(self, log: PartitionLog) -> None:
        """Flush a log whose records have waited for `flush.ms`."""
        if log.recovery_point >= log.log_end_offset or log.failure is not None:
            self._flushed_ms.pop(log, None)
            return
        now_ms = self._clock.monotonic_ms()
        since_ms = self._flushed_ms.setdefault(log, now_ms)
        if now_ms - since_ms >= log.config.flush_ms:
            self._flushes.ask(log, log.log_end_offset)

    def _forget_producers(self, log: PartitionLog) -> None:
        log.producers.expire(self._clock.now_ms(), log.config.producer_id_expiration_ms)


async def _repeat(name: str, clock: Clock, delay_ms: int, interval_ms: int, job: TimedJob) -> None:
    """Do a job again and again, whatever it raises."""
    while True:
        await clock.sleep_ms(delay_ms)
        delay_ms = interval_ms
        try:
            await job()
        except Exception as trouble:  # no memory, or a bug: the next time is a new attempt
            _log.error("a timed job fails", job=name, reason=reason_of(trouble))

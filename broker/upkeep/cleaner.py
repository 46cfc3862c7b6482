"""The log cleaner: compacts the dirtiest log, then the next, then sleeps (Kafka's LogCleaner).

Before it sleeps, it applies retention to logs with the policy compact,delete.

The cleaner works on the event loop in steps of a tenth of a millisecond, with pauses between them;
only blocking calls go to a thread. So a request waits for at most one step, and logs need no lock.
`log.cleaner.threads` logs are compacted at the same time; together they read and write at most
`log.cleaner.io.max.bytes.per.second`. A damaged log is skipped until the next start; after an error
of the disk a log is tried again after `log.cleaner.backoff.ms`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from ...protocol.errors import Refused
from ...storage.log import PartitionLog
from ..log_output import Log
from ..runtime.logs.blocking_steps import NO_RESOURCES, in_thread, in_threads, reason_of

if TYPE_CHECKING:
    from ...storage.cleaning.cleanable import Cleanable
    from ...storage.cleaning.compaction import Compacted
    from ...storage.cleaning.throttle import Throttle
    from ...storage.log_directory import LogDirectory
    from ...storage.steps import Steps
    from ..clock import Clock
    from ..runtime.shards.loading import Loading
    from ..settings.config import BrokerConfig

# A tenth of a processor: a process that uses all of it is suspended by the system for milliseconds,
# even if a request arrives.
_STEP_S: Final = 0.0001
_PAUSE_S: Final = 0.001
_LOGS_IN_A_STEP: Final = 256

_log = Log("cleaner")


class Cleaner:
    """Compacts the logs of a process; it runs from `start` to `stop`.

    Args:
        directory: all logs; those with `cleanup.policy=compact` are compacted.
        config: the settings `log.cleaner.*`, which may change meanwhile.
        loading: logs that it replays are skipped.
    """

    def __init__(
        self, directory: LogDirectory, config: BrokerConfig, clock: Clock, loading: Loading
    ) -> None:
        self._directory = directory
        self._config = config
        self._clock = clock
        self._loading = loading
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._rounds: dict[PartitionLog, Steps[Compacted] | None] = {}  # in progress
        self._throttle: Throttle | None = None
        # Weak references: a deleted log must not stay in memory because it is damaged.
        self._uncleanable: WeakSet[PartitionLog] = WeakSet()
        self._failed: WeakSet[PartitionLog] = WeakSet()

    def start(self) -> None:
        """Start, unless `log.cleaner.enable` is false; needs a running event loop."""
        if self._config["log.cleaner.enable"]:
            self._start_missing()

    def _start_missing(self) -> None:
        for number in range(self._config["log.cleaner.threads"]):
            if number not in self._tasks:
                run = self._run(number)
                self._tasks[number] = asyncio.get_running_loop().create_task(run, name="compaction")

    def stop(self) -> None:
        """Stop; a round in progress leaves the log as it was before or as it is afterwards."""
        for task in self._tasks.values():
            task.cancel()
        for steps in list(self._rounds.values()):
            if steps is not None:
                with suppress(OSError):  # the next start does it
                    steps.close()  # removes its files, before the logs are closed

    @property
    def is_busy(self) -> bool:
        """Whether logs are being compacted."""
        return bool(self._rounds)

    async def _run(self, number: int) -> None:
        """One of `log.cleaner.threads` tasks; their number may change meanwhile."""
        config = self._config
        while number < max(config["log.cleaner.threads"], 1):
            await self._clock.sleep_ms(config["log.cleaner.backoff.ms"])
            self._start_missing()
            self._failed.clear()
            try:
                while await self.clean_dirtiest():
                    pass
                if number == 0:
                    await self.delete_old()
            except Exception as trouble:  # no memory: the next round is a new attempt
                _log.error("the cleaner fails", reason=reason_of(trouble))
        del self._tasks[number]

    async def clean_dirtiest(self) -> bool:
        """Compact the dirtiest log; return whether there was one."""
        todo = await self._dirtiest()
        if todo is None:
            return False
        log = todo.log
        self._rounds[log] = None  # no other task takes it
        try:
            did = await self._clean(todo)
            if did is not None:
                self._report(log, did)
                await in_threads(self._directory.set_cleaned_up_to(log, did.end_offset))
        except Exception as trouble:  # after any error the other logs must still be compacted
            self._log_trouble(log, trouble)
        finally:
            del self._rounds[log]
        return True

    async def delete_old(self) -> None:
        """Remove segments of compacted logs: those below the log start offset, or too old or large.

        Age and size count only with `cleanup.policy=compact,delete`. A log is skipped if it is
        damaged, in progress, or failed since the last round.
        """
        from ...storage.cleaning.retention import delete_old_in_steps

        now_ms = self._clock.now_ms()
        for count, log in enumerate(list(self._directory.logs()), 1):
            if count % _LOGS_IN_A_STEP == 0:
                await asyncio.sleep(0)
            if not log.config.compacts or not self._is_there(log) or self._is_left_alone(log):
                continue
            if not log.config.deletes and log.segments[0].base_offset == log.log_start_offset:
                continue  # only DeleteRecords removes segments there
            self._rounds[log] = None  # no other task takes it
            try:
                for _ in delete_old_in_steps(log, now_ms):
                    await asyncio.sleep(0)
                    if not self._is_there(log):
                        break
            except Exception as trouble:  # as after a failed compaction
                self._log_trouble(log, trouble)
            finally:
                del self._rounds[log]

    def _is_left_alone(self, log: PartitionLog) -> bool:
        """Whether a log is damaged, waits after an error of the disk, or is in progress."""
        return log in self._uncleanable or log in self._failed or log in self._rounds

    def _log_trouble(self, log: PartitionLog, trouble: Exception) -> None:
        if isinstance(trouble, NO_RESOURCES) or isinstance(trouble.__cause__, OSError):
            self._failed.add(log)
            _log.error("the cleaner cannot compact a log now", **_name(log), reason=str(trouble))
            return
        self._uncleanable.add(log)
        _log.error(
            "the cleaner cannot compact a log and skips it until the next start",
            **_name(log),
            reason=str(trouble) if isinstance(trouble, Refused) else repr(trouble),
        )

    @staticmethod
    def _report(log: PartitionLog, did: Compacted) -> None:
        _log.debug(
            "the cleaner has compacted a log",
            **_name(log),
            up_to_offset=did.end_offset,
            bytes_before=did.bytes_before,
            bytes_after=did.bytes_after,
            records_before=did.records_before,
            records_after=did.records_after,
        )

    async def _dirtiest(self) -> Cleanable | None:
        from ...storage.cleaning.cleanable import cleanable
        from ...storage.segments.time_search import load_times_in_steps

        now_ms, directory = self._clock.now_ms(), self._directory
        dirtiest: Cleanable | None = None
        for count, log in enumerate(list(directory.logs()), 1):
            if count % _LOGS_IN_A_STEP == 0:
                await asyncio.sleep(0)
            if not log.config.compacts or not self._is_there(log):
                continue
            if self._is_left_alone(log):
                continue
            try:
                if log.config.min_compaction_lag_ms > 0:
                    for _ in load_times_in_steps(
                        log.segments, now_ms - log.config.min_compaction_lag_ms
                    ):
                        await asyncio.sleep(0)
                found = cleanable(log, directory.cleaned_up_to(log), now_ms)
            except (OSError, Refused):
                continue  # its readers report the error
            if (
                found is not None
                and found.is_due
                and (dirtiest is None or found.ratio > dirtiest.ratio)
            ):
                dirtiest = found
        if dirtiest is None or dirtiest.log in self._rounds:  # another task took it meanwhile
            return None
        return dirtiest if self._is_there(dirtiest.log) else None

    async def _clean(self, todo: Cleanable) -> Compacted | None:
        """Take all steps of a round; None if the log was deleted or truncated meanwhile."""
        from ...storage.cleaning.compaction import Superseded, compact
        from ...storage.cleaning.throttle import Throttle

        config = self._config
        if self._throttle is None:
            self._throttle = Throttle(self._clock.live.monotonic_s())
        map_size = config["log.cleaner.dedupe.buffer.size"] / max(config["log.cleaner.threads"], 1)
        steps = self._rounds[todo.log] = compact(
            todo,
            self._directory.files,
            map_size_bytes=int(map_size * config["log.cleaner.io.buffer.load.factor"]),
            now_ms=self._clock.now_ms(),
            count_io=self._throttle.count,
        )
        try:
            return await self._run_steps(steps, todo.log, self._throttle)
        except Superseded:
            return None
        finally:
            steps.close()

    async def _run_steps(
        self, steps: Steps[Compacted], log: PartitionLog, throttle: Throttle
    ) -> Compacted | None:
        config = self._config
        now_s = self._clock.live.monotonic_s
        until_s = now_s() + _STEP_S
        while True:
            try:
                blocking = next(steps)
            except StopIteration as done:
                did: Compacted = done.value
                return did
            if blocking is not None:
                await in_thread(blocking)
            elif now_s() < until_s:
                continue
            else:
                limit = config["log.cleaner.io.max.bytes.per.second"]
                pause_s = max(throttle.pause_s(limit, now_s()), _PAUSE_S)
                await self._clock.live.sleep_ms(pause_s * 1000)
            if not self._is_there(log):
                return None
            until_s = now_s() + _STEP_S

    def _is_there(self, log: PartitionLog) -> bool:
        """Whether it is still a partition's log, and no coordinator is being loaded from it."""
        loading = self._loading.is_loading(log)
        return self._directory.log_of(log.topic, log.partition) is log and not loading


def _name(log: PartitionLog) -> dict[str, object]:
    return {"topic": log.topic, "partition": log.partition}

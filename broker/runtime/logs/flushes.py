"""Flushes logs in threads, and notifies those that wait for their records to be on disk.

One flush of a log runs at a time; the next one covers all records appended meanwhile, however many
wait (group commit). Each flush includes the metadata log: records on disk need their topic there.
A flush has files open from its beginning, so the flushes of only so many logs are begun at a time.
The threads start at the first flush.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ....protocol.errors import Code, Refused
from ....storage.disk.open_files import OPEN_FILES, OpenFiles
from ....storage.log import PartitionLog
from ....storage.segments.flush import Flush
from ...log_output import Log
from .blocking_steps import reason_of
from .storage_trouble import remedy_for

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_THREADS: Final = 4
_THREADS_AT_THE_END: Final = 16
_LOGS_AT_ONCE: Final = 64
_log = Log("flushes")
Done = Callable[[Refused | None], None]
_Failures = list[Exception | None]


class FlushQueue(Protocol):
    """The part of `Flushes` for code that waits for flushes."""

    def when_flushed(self, log: PartitionLog, done: Done, /) -> None:
        """See `Flushes.when_flushed`."""

    def flushed(self, log: PartitionLog, /) -> Awaitable[Refused | None]:
        """See `Flushes.flushed`."""


class _Line:
    """The waiters for the flushes of one log."""

    __slots__ = ("due_offset", "job", "parts", "waiting")

    def __init__(self) -> None:
        self.due_offset = 0
        self.waiting: list[tuple[int, Done]] = []
        self.parts: list[tuple[PartitionLog, Flush]] = []  # of the running flush
        self.job: Future[_Failures] | None = None


class Flushes:
    """The flushes of a node's logs.

    Args:
        metadata_log: included in every flush.
        open_files: says for how many logs files may be open at a time.
    """

    def __init__(self, metadata_log: PartitionLog, open_files: OpenFiles = OPEN_FILES) -> None:
        self.metadata_log = metadata_log
        self._open_files = open_files
        self._lines: dict[PartitionLog, _Line] = {}
        self._due: deque[tuple[PartitionLog, _Line]] = deque()  # flushes to begin
        self._begun = 0
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a flush is under way."""
        return bool(self._lines)

    def ask(self, log: PartitionLog, up_to: int) -> None:
        """Request a flush of all records before `up_to`; `when_flushed` reports the result."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is None or self._closed:
            self._flush_here(log)
            return
        line = self._lines.get(log)
        if line is None:
            line = self._lines[log] = _Line()
            loop.call_soon(self._begin_next, log, line)  # covers further appends of this turn
        line.due_offset = max(line.due_offset, up_to)

    def ask_for_metadata(self) -> None:
        """Request a flush of the metadata log."""
        log = self.metadata_log
        if log.recovery_point < log.log_end_offset and log.failure is None:
            self.ask(log, log.log_end_offset)

    def when_flushed(self, log: PartitionLog, done: Done) -> None:
        """Call `done` once all appended records that require a flush are on disk.

        It is called at once if there are none, and with a refusal (KAFKA_STORAGE_ERROR) if the
        flush fails.
        """
        if not log.awaits_flush:
            done(None)
            return
        if log not in self._lines and log.failure is None:
            self.ask(log, log.flush_due_offset)  # the last attempt failed before the disk
        line = self._lines.get(log)
        if line is None:
            done(_refusal(log) if log.awaits_flush else None)
        else:
            line.waiting.append((log.flush_due_offset, done))

    def flushed(self, log: PartitionLog) -> asyncio.Future[Refused | None]:
        """A future with the result of `when_flushed`."""
        future: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()
        self.when_flushed(log, partial(_resolve, future))
        return future

    def close(self) -> None:
        """Wait for the running flushes and notify the waiters; later flushes are done at once.

        This blocks the event loop.
        """
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        for log, line in list(self._lines.items()):
            if line.job is None:
                self._flush_here(log)
                self._notify(log, line)
            else:
                self._end_job(log, line)

    @staticmethod
    def flush_all(logs: Iterable[PartitionLog], open_files: OpenFiles = OPEN_FILES) -> None:
        """Flush logs for a clean stop, many at a time; this blocks the event loop.

        Each flush waits for the disk's journal, which writes many of them at once.
        """
        dirty = [log for log in logs if log.failure is None and _write_state(log)]
        if not dirty:
            return
        from concurrent.futures import ThreadPoolExecutor

        at_once = _logs_at_once(open_files)
        with ThreadPoolExecutor(min(_THREADS_AT_THE_END, at_once)) as pool:
            for first in range(0, len(dirty), at_once):
                begun = []
                for log in dirty[first : first + at_once]:
                    try:
                        begun.append((log, log.begin_flush()))
                    except (OSError, MemoryError) as failure:
                        _report(log, failure)
                jobs = [[flush] for _, flush in begun]
                try:
                    ended = list(pool.map(_run, jobs))
                except RuntimeError:  # no thread can be started
                    ended = list(map(_run, jobs))
                for (log, flush), (failed,) in zip(begun, ended, strict=True):
                    _end(log, flush, failed)

    def _begin_next(self, log: PartitionLog, line: _Line) -> None:
        """Begin the flush of a log after those that are due before it."""
        self._due.append((log, line))
        self._begin_due()

    def _begin_due(self) -> None:
        """Begin flushes until so many are begun as may have their files open."""
        while self._due and self._begun < _logs_at_once(self._open_files):
            log, line = self._due.popleft()
            if self._closed or self._lines.get(log) is not line:
                continue
            if log.is_closed:  # while others were flushed
                self._notify(log, line)
            else:
                self._begin(log, line)

    def _begin(self, log: PartitionLog, line: _Line) -> None:
        metadata = self.metadata_log
        try:
            line.parts.append((log, log.begin_flush(line.due_offset)))
            if log is not metadata and metadata.recovery_point < metadata.log_end_offset:
                line.parts.insert(0, (metadata, metadata.begin_flush()))
        except (OSError, MemoryError) as failure:  # no file can be opened now
            self._give_up(log, line, failure)
            return
        loop = asyncio.get_running_loop()
        job = _Job([flush for _, flush in line.parts])
        try:
            self._threads().submit(job.run)
        except (RuntimeError, MemoryError) as failure:  # no thread can be started now
            if job.done.cancel():  # else another thread has it
                self._give_up(log, line, failure)
                return
        self._begun += 1
        line.job = job.done
        line.job.add_done_callback(lambda _: _in_loop(loop, self._end_job, log, line))

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="flush")
        return self._pool

    def _end_job(self, log: PartitionLog, line: _Line) -> None:
        if line.job is None:
            return  # `close` has handled it
        failures = line.job.result()
        line.job = None
        self._begun -= 1
        lack = next((each for each in failures if each and not isinstance(each, OSError)), None)
        if lack is not None:  # of memory
            self._give_up(log, line, lack)
        else:
            for (each, flush), failure in zip(line.parts, failures, strict=True):
                _end(each, flush, failure)
            line.parts.clear()
            self._notify(log, line)
        self._begin_due()

    def _give_up(self, log: PartitionLog, line: _Line, failure: Exception) -> None:
        """Refuse all that wait for a flush that could not be run; the next request tries again."""
        for each, flush in line.parts:
            each.cancel_flush(flush)
        line.parts.clear()
        _report(log, failure)
        line.due_offset = 0
        self._notify(log, line)

    def _notify(self, log: PartitionLog, line: _Line) -> None:
        """Notify the waiters of a flush, or all if there is no other flush; begin the next one."""
        notified = line.waiting
        continues = (
            log.failure is None and not log.is_closed and line.due_offset > log.recovery_point
        )
        if continues:
            notified = [one for one in line.waiting if one[0] <= log.recovery_point]
            line.waiting = [one for one in line.waiting if one[0] > log.recovery_point]
            if self._closed:
                self._flush_here(log)
                notified += line.waiting
        if not continues or self._closed:
            del self._lines[log]
        for offset, done in notified:
            done(None if offset <= log.recovery_point else _refusal(log))
        if self._lines.get(log) is line:
            self._begin_next(log, line)

    def _flush_here(self, log: PartitionLog) -> None:
        """Flush in this thread, before the start or after the end of the event loop."""
        for each in (self.metadata_log, log):
            if each.recovery_point < each.log_end_offset and each.failure is None:
                try:
                    each.flush()
                except OSError as failure:
                    _report(each, failure)


def _logs_at_once(open_files: OpenFiles) -> int:
    return min(_LOGS_AT_ONCE, open_files.logs_at_once)


def _write_state(log: PartitionLog) -> bool:
    """Write the log's state for the next start; return whether there is anything to flush."""
    try:
        log.write_state()
    except OSError as failure:
        _report(log, failure)
    return not log.is_flushed


def _end(log: PartitionLog, flush: Flush, failure: Exception | None) -> None:
    """Record the result of a flush, and log a failure, unless the log has failed before."""
    is_news = failure is not None and log.failure is None and not log.is_closed
    if failure is None or isinstance(failure, OSError):
        log.end_flush(flush, failure)
    else:
        log.cancel_flush(flush)
    if failure is not None and is_news:
        _report(log, failure)


class _Job:
    """Flushes for a thread; `done.cancel` takes them back, unless a thread runs them.

    A pool that cannot start a thread has taken the work all the same, and may run it later.
    """

    def __init__(self, flushes: list[Flush]) -> None:
        from concurrent.futures import Future

        self._flushes = flushes
        self.done: Future[_Failures] = Future()

    def run(self) -> None:
        if self.done.set_running_or_notify_cancel():
            self.done.set_result(_run(self._flushes))


def _run(flushes: list[Flush]) -> _Failures:
    """Run flushes in a thread; those after a failure depend on it, and fail with it."""
    failure: Exception | None = None
    failures: _Failures = []
    for flush in flushes:
        if failure is None:
            try:
                flush.run()
            except Exception as failed:  # of the disk, or no memory
                failure = failed
        failures.append(failure)
    return failures


def _in_loop(
    loop: asyncio.AbstractEventLoop, call: Callable[[PartitionLog, _Line], None],
    log: PartitionLog, line: _Line,
) -> None:  # fmt: skip
    with suppress(RuntimeError):  # the loop is closed: `close` has notified all waiters
        loop.call_soon_threadsafe(call, log, line)


def _report(log: PartitionLog, failure: Exception) -> None:
    _log.error(
        "a log cannot be flushed",
        topic=log.topic, partition=log.partition, reason=reason_of(failure),
        remedy=remedy_for(log, failure),
    )  # fmt: skip


def _refusal(log: PartitionLog) -> Refused:
    return Refused(
        Code.KAFKA_STORAGE_ERROR, log.failure or "the log was closed, or could not be flushed"
    )


def _resolve(future: asyncio.Future[Refused | None], refused: Refused | None) -> None:
    if not future.done():  # cancelled: its connection is gone
        future.set_result(refused)

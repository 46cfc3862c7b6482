"""Logs storage errors of partitions, each at most once a minute, with a remedy for the operator.

A full or broken disk refuses each append; without the limit each request would write a line.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from ....protocol.errors import Code, Refused
from ...log_output import Log

if TYPE_CHECKING:
    from ....storage.log import PartitionLog
    from ...clock import Clock

_INTERVAL_MS: Final = 60_000
_OF_A_FULL_DISK: Final = "make room on the disk: appends work again then, without a restart"
_OF_A_WRITE_PROTECTED_ONE: Final = "make the data directory writable, then restart the broker"
_OF_A_BROKEN_ONE: Final = "check the disk; restart the broker when this does not end by itself"
_OF_NO_RESOURCES: Final = (
    "the process lacks threads, memory or open files: the next attempt comes by itself"
)
_OF_A_FAILED_LOG: Final = (
    "nothing more is appended to it, it can still be read: check the disk, then restart the broker"
)

_log = Log("storage")


def remedy(trouble: BaseException | None) -> str:
    """The remedy for an error of the operating system."""
    if isinstance(trouble, RuntimeError | MemoryError):
        return _OF_NO_RESOURCES
    number = trouble.errno if isinstance(trouble, OSError) else None
    if number in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return _OF_NO_RESOURCES
    if number in (errno.ENOSPC, errno.EDQUOT):
        return _OF_A_FULL_DISK
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return _OF_A_WRITE_PROTECTED_ONE
    return _OF_A_BROKEN_ONE


def remedy_for(log: PartitionLog, trouble: BaseException | None) -> str:
    """The remedy for a failed log."""
    return _OF_A_FAILED_LOG if log.failure is not None else remedy(trouble)


class StorageTrouble:
    """Remembers the times of the log lines."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_ms: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()

    def report(self, log: PartitionLog, refused: Refused) -> None:
        """Log a refusal that comes from the disk, unless there was a recent line."""
        if refused.code != Code.KAFKA_STORAGE_ERROR:
            return
        cause = refused.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.ESHUTDOWN:
            return  # not the disk: a fault has killed the node
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._logged_ms.get(log, -_INTERVAL_MS) < _INTERVAL_MS:
            return
        self._logged_ms[log] = now_ms
        _log.error(
            "the storage of a partition fails",
            topic=log.topic,
            partition=log.partition,
            reason=refused.why,
            remedy=remedy_for(log, refused.__cause__),
        )

"""The removal of expired offsets, of offsets of deleted topics, and of groups left empty.

It checks a few offsets at a time, so that any number of them can expire while requests are served
(GroupCoordinatorShard.cleanupGroupMetadata and onPartitionsDeleted in Kafka).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple, Protocol

from ..protocol.errors import Refused
from .classic.requests import GroupSettings
from .group_kind import GroupKind, never_expires
from .group_records import GroupRecord
from .moment import Moment
from .offsets import Offsets, Partition
from .outcome import Outcome
from .volatile import Volatile

OFFSETS_PER_DECISION: Final = 100
"""The number of offsets that one decision checks."""


class _Portion(NamedTuple):
    """Some offsets of a group, which one decision checks.

    Attributes:
        partitions: empty after the last portion of a group: the group itself is checked.
        expires: whether offsets may expire; else only offsets of deleted topics are removed.
    """

    group_id: str
    partitions: list[Partition]
    expires: bool


class KindsInUse(Protocol):
    """The part of `LoadedKinds` that finds the groups to clean."""

    @property
    def all(self) -> tuple[GroupKind, ...]: ...
    def of(self, group_id: str) -> GroupKind: ...


class OffsetCleaning(Volatile):
    """Removes offsets by time, and after topics were deleted.

    Attributes:
        due_ms: when `tick` is next due, by the monotonic time; 0 for now: while a round is under
            way, and before the first `tick`.
    """

    def __init__(self, offsets: Offsets, settings: GroupSettings, kinds: KindsInUse) -> None:
        self._offsets = offsets
        self._settings = settings
        self._kinds = kinds
        self.due_ms = 0
        self._expiry_due_ms: int | None = None
        self._round: Iterator[_Portion] | None = None
        self._portion: _Portion | None = None
        self._is_another_wanted = False

    def begin(self) -> None:
        """Start a round that removes offsets of deleted topics, at the next `tick`."""
        if self._round is None:
            self._round, self.due_ms = self._portions(expires=False), 0
        else:
            self._is_another_wanted = True

    def hasten(self) -> None:
        """Look for expired offsets at the next `tick`, before the interval has passed.

        Empty groups without offsets have no time of their own and stay until then.
        """
        if self._round is None:
            self._round = self._portions(expires=True, are_groups_looked_for=False)
            self.due_ms = 0

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Remove what is due, see `Machine.tick`."""
        interval_ms = self._settings.offsets_retention_check_interval_ms
        if self._expiry_due_ms is None:  # just loaded: topics may have been deleted meanwhile
            self._expiry_due_ms = now.monotonic_ms + interval_ms
            self.begin()
        elif now.monotonic_ms >= self._expiry_due_ms:
            self._expiry_due_ms = now.monotonic_ms + interval_ms
            self._round, self._portion = self._portions(expires=True), None
            self.due_ms = 0
        removed: tuple[GroupRecord, ...] = ()
        while self._round is not None:
            if self._portion is None:
                self._portion = next(self._round, None)
                if self._portion is None:
                    self._end_round(self._expiry_due_ms)
                    continue
            records = self._removal(self._portion, now.wall_ms)
            if not records or records == removed:
                # All that could be removed is removed. A tombstone without effect must not keep the
                # round from ending.
                records, self._portion = (), None
            # The same portion is checked again: the log may have refused the tombstones.
            removed = records
            yield Outcome(None, records, is_atomic=False)

    def _end_round(self, next_due_ms: int) -> None:
        self._round, self.due_ms = None, next_due_ms
        if self._is_another_wanted:
            self._is_another_wanted = False
            self.begin()
        else:
            self._offsets.end_cleaning_round()

    def _portions(self, *, expires: bool, are_groups_looked_for: bool = True) -> Iterator[_Portion]:
        """All offsets of all groups that exist now; some may be removed meanwhile."""
        listed = [group_id for kind in self._kinds.all for group_id in kind.groups]
        for group_id in listed:
            partitions = self._offsets.partitions_with_offsets(group_id)
            for first in range(0, len(partitions), OFFSETS_PER_DECISION):
                yield _Portion(group_id, partitions[first : first + OFFSETS_PER_DECISION], expires)
            if partitions or are_groups_looked_for:
                yield _Portion(group_id, [], expires)

    def _removal(self, portion: _Portion, now_ms: int) -> tuple[GroupRecord, ...]:
        group_id, partitions, expires = portion
        kind = self._kinds.of(group_id)
        if partitions:
            retention_ms = self._settings.offsets_retention_ms
            is_expired = (
                kind.expiry(group_id, now_ms=now_ms, retention_ms=retention_ms)
                if expires
                else never_expires
            )
            return self._offsets.removal_of_expired(group_id, partitions, is_expired)
        if not expires or not kind.is_removed_when_empty or self._offsets.has_any(group_id):
            return ()
        try:
            return tuple(kind.removal(group_id))
        except Refused:  # it has members, or was removed
            return ()

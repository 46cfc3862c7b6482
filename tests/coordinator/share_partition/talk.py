"""A share partition with a log, for tests that name offsets."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.coordinator.share_partition.acquire import acquire
from ottla.coordinator.share_partition.changes import Change
from ottla.coordinator.share_partition.partition import SharePartition
from ottla.coordinator.share_partition.states import (
    Acknowledgement,
    AcquireMode,
    AcquireRequest,
    Fetched,
    LogBatch,
    ShareLimits,
)
from ottla.coordinator.share_state.states import StateBatch
from ottla.protocol.errors import Refused

ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0
Range = tuple[int, int, int]
"""First offset, last offset and delivery count."""


class Talk:
    """One share partition, its log and the clock of its locks.

    Args:
        batches: the sizes of the batches of the log.
        stored: the states to begin with.
    """

    def __init__(
        self,
        *batches: int,
        start: int = 0,
        stored: Sequence[StateBatch] = (),
        limits: ShareLimits | None = None,
    ) -> None:
        self.log: list[LogBatch] = []
        self.append(*batches)
        self.machine = SharePartition(start, stored)
        self.limits = limits or ShareLimits()
        self.now_ms = 1_000
        self.stored: list[StateBatch] = []

    def append(self, *batches: int) -> None:
        for size in batches:
            base = self.log[-1].last_offset + 1 if self.log else 0
            self.log.append(LogBatch(base, base + size - 1))

    def fetch(
        self,
        member: str = "a",
        *,
        most: int = 500,
        size: int = 500,
        by_count: bool = False,
        aborted: Sequence[LogBatch] = (),
    ) -> list[Range]:
        """What a member acquires now."""
        if not self.machine.may_acquire(self.limits):
            return []
        offset = self.machine.next_fetch_offset()
        read = [batch for batch in self.log if batch.last_offset >= offset]
        mode = AcquireMode.RECORD_LIMIT if by_count else AcquireMode.BATCH_OPTIMIZED
        acquired = acquire(
            self.machine,
            AcquireRequest(member, most, size, mode),
            Fetched(offset, read, aborted),
            self.limits,
            now_ms=self.now_ms,
        )
        return [(each.first_offset, each.last_offset, each.delivery_count) for each in acquired]

    def begin(self, *asked: tuple[int, int, int | list[int]], member: str = "a") -> Change:
        """Acknowledgements that wait for the share coordinator; raises Refused."""
        change = Change()
        try:
            for first, last, types in asked:
                each = Acknowledgement(first, last, types if isinstance(types, list) else [types])
                self.machine.acknowledge(change, member, each, self.limits, now_ms=self.now_ms)
        except Refused:
            self.machine.roll_back(change, self.limits, now_ms=self.now_ms)
            raise
        return change

    def acknowledge(self, *asked: tuple[int, int, int | list[int]], member: str = "a") -> None:
        """Acknowledgements that are stored at once; raises Refused."""
        self.store(self.begin(*asked, member=member))

    def store(self, change: Change) -> None:
        self.stored += change.state_batches()
        self.machine.commit(change)

    def release(self, member: str) -> None:
        """The session of a member ends."""
        change = Change()
        self.machine.release_member(change, member, self.limits)
        self.store(change)

    def pass_ms(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        while (change := self.machine.tick(self.limits, now_ms=self.now_ms)) is not None:
            self.store(change)

    @property
    def bounds(self) -> tuple[int, int]:
        """The start, and how many records behind it are done."""
        return self.machine.start_offset, self.machine.delivery_complete_count

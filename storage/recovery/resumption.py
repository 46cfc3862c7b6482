"""Opens the newest segment of a log whose process was killed, from the state that it saved.

The files of a process that is killed keep all that it wrote, unlike after a loss of power. So the
part before the newest `.snapshot` is opened as after a clean stop, and verified at its first read;
only the batches behind it are read. Whatever does not fit makes the caller read the whole segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...protocol.batch import BatchHeader
from ..disk.damage import Report, ignore_damage
from ..log_config import LogConfig
from ..segments.leader_epochs import LeaderEpochs
from ..segments.segment import Segment
from ..segments.unverified import Unverified


class Resumed(NamedTuple):
    """A segment that is loaded up to an offset.

    Attributes:
        offset: of the saved state; the batches behind it must be loaded by `rest_of`.
        rest: verifies them.
    """

    segment: Segment
    offset: int
    rest: Unverified

    def load_rest(self, config: LogConfig) -> Iterator[tuple[int, BatchHeader]]:
        """Load the batches behind the saved state, yielding each; cut off a torn end."""
        yield from self.segment.load_rest(self.rest, config.index_interval_bytes)
        if self.rest.cut_at is not None:
            self.rest.report_cut(self.segment.next_offset, ())
            self.segment.cut(self.rest.cut_at)


def resume(
    segment: Segment, snapshots: list[int], config: LogConfig, *,
    recovery_point: int, epochs: LeaderEpochs, report: Report,
) -> Resumed | None:  # fmt: skip
    """Load the segment up to its newest snapshot.

    Args:
        segment: the newest one, just found.
        snapshots: the offsets of all snapshots of the log, rising.
        recovery_point: damaged data before it is not torn.

    Returns:
        None: the segment has no saved state, or its files do not fit; it is of no more use.

    Raises:
        OSError: a file cannot be read.
    """
    offset, size_bytes = snapshots[-1] if snapshots else -1, segment.size_bytes
    if offset <= segment.base_offset:
        return None
    saved = segment.unverified = Unverified(
        segment, is_last=True, may_have_gaps=config.compacts, end_offset=offset,
        report=ignore_damage, epochs=epochs,
    )  # fmt: skip
    if not segment.load_saved(offset, config.index_interval_bytes):
        return None
    position, segment.size_bytes = segment.size_bytes, size_bytes
    torn_from = max(offset, recovery_point)
    rest = Unverified(
        segment, is_last=True, may_have_gaps=config.compacts, end_offset=torn_from,
        report=ignore_damage, torn_from=torn_from, epochs=epochs, begins=(position, offset),
        has_all_writes=True,
    )  # fmt: skip
    segment.size_bytes = position
    end_offset = max((header.next_offset for _, header in rest.headers(position)), default=offset)
    if rest.damages or end_offset < recovery_point:
        return None
    saved.report = rest.report = report
    return Resumed(segment, offset, rest)

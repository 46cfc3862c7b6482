"""Whether the indexes of aborted transactions, which carry no checksum, say what the data say.

A reader of committed records hides what the index names, so the index is compared with the markers
behind each stretch that is read, once, for what an earlier life of the broker wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..protocol.batch import BatchHeader
from ..protocol.control import read_marker
from ..protocol.errors import Refused
from .aborted import AbortedTransactions
from .segment import Segment


class TransactionCheck:
    """Compares, and remembers what was compared.

    Args:
        until: the end of what an earlier life wrote.
    """

    def __init__(self, until: int) -> None:
        self.until = until
        self._from = self._to = 0

    def agrees(
        self,
        segments: Sequence[Segment],
        aborted: AbortedTransactions,
        first_offset: int,
        last_offset: int,
    ) -> bool:
        """Whether each batch in a range is hidden just when its marker says so.

        Args:
            segments: from the one that holds `first_offset` on.
        """
        if self._from <= first_offset and last_offset < self._to:
            return True
        entries = aborted.between(first_offset, last_offset + 1)
        for producer_id, since, offset, is_aborted in _decided(segments, first_offset, last_offset):
            is_hidden = any(
                entry.producer_id == producer_id
                and since < entry.first_offset <= offset <= entry.last_offset
                for entry in entries
            )
            if is_hidden != is_aborted:
                return False
        if not self._from <= first_offset <= self._to:
            self._from = first_offset
        self._to = last_offset + 1
        return True


def _decided(
    segments: Sequence[Segment], first_offset: int, last_offset: int
) -> Iterator[tuple[int, int, int, bool]]:
    """Producer, its last marker before, offset and fate of each batch of a transaction in a range.

    A consumer that meets a marker hides no more of that producer, whatever the index said before.
    It ends where damage may have taken a marker: what comes behind is not known.
    """
    waiting: dict[int, list[int]] = {}
    markers: dict[int, int] = {}
    for segment, position, header in _batches(segments, first_offset):
        if header.base_offset > last_offset and not waiting:
            return
        if segment.doubt is not None and segment.doubt.damages:
            return
        if header.is_control:
            commits = _commits(segment, position, header)
            since = markers.get(header.producer_id, -1)
            for offset in waiting.pop(header.producer_id, ()):
                yield header.producer_id, since, offset, not commits
            markers[header.producer_id] = header.base_offset
        elif header.is_transactional and header.base_offset <= last_offset:
            waiting.setdefault(header.producer_id, []).append(header.base_offset)


def _batches(
    segments: Sequence[Segment], first_offset: int
) -> Iterator[tuple[Segment, int, BatchHeader]]:
    for segment in segments:
        start = segment.position_of(first_offset) if segment is segments[0] else 0
        if start is not None:
            for position, header in segment.headers(start):
                yield segment, position, header


def _commits(segment: Segment, position: int, header: BatchHeader) -> bool:
    try:
        marker = read_marker(segment.batch_at(position, header), 0, header)
    except Refused:  # compaction took its record: nothing of its transaction is left
        return True
    return marker is None or marker.commit

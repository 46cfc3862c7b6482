"""Reads parts of a partition's log with the fate of each batch, and never more than a budget.

As `client/record_reader.py` it takes aborted transactions from a read_committed request, and
markers from behind the last stable offset. A reader of records scans as far as it must; a view says
instead that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from ..client.admin.offsets import Isolation, Place
from ..client.admin.transactions import describe_producers
from ..client.cluster_client import Client, ErrorAnswer, check
from ..client.fates import Fate, Markers
from ..client.log_batches import collect_markers, fates_in, fetch
from ..protocol.batch import HEADER_SIZE, BatchHeader, headers_in
from ..protocol.errors import Code, Refused
from ..protocol.opening import pieces
from ..protocol.records import Record, records_in


class Limits(NamedTuple):
    """What a view may read and open.

    Attributes:
        fetch_bytes: of one answer.
        scan_bytes: behind the last stable offset, to find markers.
        opened_bytes: a compressed batch that grows beyond it is not opened.
        opened_records: nor is one with more records.
    """

    fetch_bytes: int = 1 << 20
    scan_bytes: int = 4 << 20
    opened_bytes: int = 64 << 20
    opened_records: int = 1_000_000


LIMITS: Final = Limits()


class Budget:
    """The bytes that a question may still read.

    Args:
        left_bytes: what is left; negative after the last read, which may be larger.
    """

    def __init__(self, left_bytes: int) -> None:
        self.left_bytes = left_bytes

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left_bytes <= 0

    def spend(self, size_bytes: int) -> None:
        """Take note of a read."""
        self.left_bytes -= size_bytes


class Batch(NamedTuple):
    """A batch with the bytes of its answer.

    Attributes:
        commits: of a marker: whether it commits; None for others.
        fate: of its records; None if the markers behind it were too far to look.
        limits: beyond which it is not opened.
    """

    data: bytes
    position: int
    header: BatchHeader
    commits: bool | None
    fate: Fate | None
    limits: Limits = LIMITS

    def records(self, budget: Budget | None = None) -> Iterator[Record]:
        """Its records. Raises Refused if it is broken or too large to be opened.

        Args:
            budget: what a compressed batch opens to is spent of it.
        """
        if self.header.compression:
            self._check_size(budget)
        yield from records_in(self.data, self.position, self.header)

    def _check_size(self, budget: Budget | None) -> None:
        start, end = self.position + HEADER_SIZE, self.position + self.header.size_bytes
        size_bytes = 0
        too_large = Refused(Code.CORRUPT_MESSAGE, "the batch is too large to be opened here")
        if self.header.record_count > self.limits.opened_records:
            raise too_large
        for piece in pieces(self.header.compression, memoryview(self.data)[start:end]):
            size_bytes += len(piece)
            if budget is not None:
                budget.spend(len(piece))
            if size_bytes > self.limits.opened_bytes:
                raise too_large


@dataclass(slots=True)
class LogReader:
    """Reads a partition from its leader.

    Attributes:
        place: the partition.
        leader: the node.
        limits: of each of its reads.
        log_start, last_stable_offset, high_watermark: by its newest answer; -1 before the first.
    """

    client: Client
    place: Place
    leader: int
    limits: Limits = LIMITS
    log_start: int = -1
    last_stable_offset: int = -1
    high_watermark: int = -1
    _markers: Markers = field(default_factory=Markers)
    _scanned_from: int = -1
    _scanned_to: int = -1
    _open_since: dict[int, int] | None = None

    def read(self, offset: int, budget: Budget) -> list[Batch]:
        """The batches from an offset on, as one or two requests answer; empty at the end.

        Raises:
            ErrorAnswer: the leader refuses, such as with OFFSET_OUT_OF_RANGE. NoAnswer.
        """
        answer = self._fetch(offset, Isolation.READ_UNCOMMITTED)
        data = bytes(answer.records or b"")
        budget.spend(len(data))
        headers = [each for each in headers_in(data) if each[1].next_offset > offset]
        if not any(header.is_transactional for _, header in headers):
            return [
                Batch(data, at, header, None, Fate.PLAIN, self.limits) for at, header in headers
            ]
        decided = self._fetch(offset, Isolation.READ_COMMITTED)
        budget.spend(len(decided.records or b""))
        behind = partial(self._fate_behind, decided.last_stable_offset)
        found = zip(headers, fates_in(data, headers, decided, behind), strict=True)
        return [
            Batch(data, at, header, commits, fate, self.limits)
            for (at, header), (commits, fate) in found
        ]

    def _fetch(self, offset: int, isolation: Isolation) -> Any:  # Any: part of an answer
        topic, index = self.place
        (answer,) = fetch(
            self.client,
            topic,
            {index: offset},
            node_id=self.leader,
            isolation=isolation,
            partition_bytes=self.limits.fetch_bytes,
            with_epoch=False,
        )
        check(answer.error_code, f"{topic}-{index}")
        self.log_start = answer.log_start_offset
        self.last_stable_offset = answer.last_stable_offset
        self.high_watermark = answer.high_watermark
        return answer

    def _fate_behind(self, stable: int, header: BatchHeader) -> Fate | None:
        """The fate of a transactional batch behind the last stable offset."""
        if self._scanned_from != stable:
            self._scan(stable)
        fate = self._markers.fate(header)
        if fate is not Fate.OPEN or self._scanned_to >= self.high_watermark:
            return fate
        return Fate.OPEN if self._look_whether_open(header) else None

    def _scan(self, stable: int) -> None:
        """Collect markers from the last stable offset on, as far as the limit reaches."""
        self._markers, self._scanned_from, offset = Markers(), stable, stable
        budget = Budget(self.limits.scan_bytes)
        while not budget.is_spent:
            answer = self._fetch(offset, Isolation.READ_UNCOMMITTED)
            data = bytes(answer.records or b"")
            budget.spend(len(data))
            behind = collect_markers(data, offset, self._markers)
            if behind is None:
                break
            offset = behind
        self._scanned_to = offset

    def _look_whether_open(self, header: BatchHeader) -> bool:
        """Whether the leader has the batch in an open transaction (DescribeProducers)."""
        if self._open_since is None:
            try:
                producers = describe_producers(self.client, *self.place, self.leader)
            except ErrorAnswer:  # it may not be asked
                producers = []
            self._open_since = {
                each.producer_id: each.current_txn_start_offset
                for each in producers
                if each.current_txn_start_offset >= 0
            }
        return self._open_since.get(header.producer_id, 1 << 63) <= header.base_offset

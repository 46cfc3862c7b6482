"""Reads records of topics with the fate of each: committed, aborted, open, or not transactional.

A leader names the aborted transactions in answers to read_committed requests only, and no records
behind the last stable offset (KIP-98). Batches are therefore read with read_uncommitted. If some
are transactional, a read_committed request of the same range gets the aborted ones, and the markers
behind the last stable offset give the fates of the remaining ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ..protocol.batch import BatchHeader, headers_in
from ..protocol.errors import Code, Refused
from ..protocol.records import Header, records_in
from .admin.offsets import EARLIEST, Isolation, partition_offsets
from .cluster_client import Client, ErrorAnswer, check
from .fates import Fate, Markers
from .log_batches import collect_markers, fates_in, fetch

_RETRY_S: Final = 0.05
_PATIENCE_S: Final = 30.0
_MOVED: Final = frozenset(
    {
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.LEADER_NOT_AVAILABLE,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.OFFSET_NOT_AVAILABLE,
        Code.REPLICA_NOT_AVAILABLE,
    }
)


class ReadRecord(NamedTuple):
    """One record as it was read.

    Attributes:
        value: None for a tombstone.
        producer_id, producer_epoch: -1 without idempotence.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    fate: Fate
    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class _Position:
    """Where the reader is in a partition, and the markers found behind the last stable offset.

    Attributes:
        scanned: the offset up to which `markers` is complete.
    """

    offset: int
    scanned: int = -1
    markers: Markers = field(default_factory=Markers)


class RecordReader:
    """Reads partitions of one topic from given offsets.

    Args:
        starts: the first offset to read, by partition.
        isolation: with read_committed, records of aborted and open transactions are left out.
        reset: where to read on from an offset that a partition does not have, EARLIEST or LATEST,
            as `auto.offset.reset`. None: deleted records are left out, and an offset behind the end
            is an error.
    """

    def __init__(
        self,
        client: Client,
        topic: str,
        starts: Mapping[int, int],
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        reset: int | None = None,
    ) -> None:
        self._client = client
        self._topic = topic
        self._isolation = isolation
        self._reset = reset
        self._positions = {partition: _Position(offset) for partition, offset in starts.items()}
        self._troubled_since = 0.0

    @property
    def positions(self) -> dict[int, int]:
        """The next offset to read, by partition."""
        return {partition: at.offset for partition, at in self._positions.items()}

    def read_to(self, ends: Mapping[int, int]) -> Iterator[ReadRecord]:
        """Records below an end offset of each partition, as they come from the leaders."""
        while left := [p for p, end in ends.items() if self._positions[p].offset < end]:
            for record in self.read(left):
                if record.offset < ends[record.partition]:
                    yield record

    def read(
        self, partitions: Iterable[int] | None = None, *, max_wait_ms: int = 500
    ) -> list[ReadRecord]:
        """The next records, of one request to each leader; empty if none come in time.

        Args:
            partitions: None: all.

        Raises:
            ErrorAnswer: a leader refuses; one that moves is waited for, up to 30 s.
                OFFSET_OUT_OF_RANGE without a `reset`.
            NoAnswer: a broker cannot be reached.
        """
        wanted = self._positions if partitions is None else list(partitions)
        by_leader: dict[int, list[int]] = {}
        for partition in wanted:
            leader = self._client.known_leader(self._topic, partition)
            by_leader.setdefault(leader, []).append(partition)
        records: list[ReadRecord] = []
        for leader, led in by_leader.items():
            wait_ms = 0 if records else max_wait_ms // len(by_leader)
            for answer in self._fetch(leader, led, self._isolation, wait_ms):
                records += self._take_records(leader, answer)
        return records

    def _fetch(
        self, leader: int, partitions: Iterable[int], isolation: Isolation, wait_ms: int
    ) -> list[Any]:
        return fetch(
            self._client,
            self._topic,
            {partition: self._positions[partition].offset for partition in partitions},
            node_id=leader,
            isolation=isolation,
            max_wait_ms=wait_ms,
        )

    def _take_records(self, leader: int, answer: Any) -> list[ReadRecord]:
        """The records of one partition's answer; the position moves behind them."""
        position = self._positions[answer.partition_index]
        if not self._accept_or_note_trouble(answer, position):
            return []
        data = bytes(answer.records or b"")
        batches = [
            (at, header) for at, header in headers_in(data) if header.last_offset >= position.offset
        ]
        fates = self._fates(leader, answer, batches, data)
        records = []
        for (at, header), fate in zip(batches, fates, strict=True):
            if header.is_control:
                continue
            if self._isolation == Isolation.READ_COMMITTED and fate == Fate.ABORTED:
                continue
            producer = header.producer_id, header.producer_epoch
            try:
                records += [
                    ReadRecord(self._topic, answer.partition_index, *record, fate, *producer)
                    for record in records_in(data, at, header)
                    if record.offset >= position.offset
                ]
            except Refused as broken:
                if records:  # the broken batch comes first in the next answer
                    position.offset = header.base_offset
                    return records
                place = f"{self._topic}-{answer.partition_index}"
                raise ErrorAnswer(broken.code, place, broken.why) from None
        if batches:
            position.offset = batches[-1][1].next_offset
        return records

    def _accept_or_note_trouble(self, answer: Any, position: _Position) -> bool:
        partition = answer.partition_index
        if answer.error_code == Code.NONE:
            self._troubled_since = 0.0
            return True
        if answer.error_code == Code.OFFSET_OUT_OF_RANGE:
            when = {partition: EARLIEST if self._reset is None else self._reset}
            found = partition_offsets(self._client, self._topic, when, isolation=self._isolation)
            if self._reset is not None or position.offset < found[partition]:
                self._positions[partition] = _Position(found[partition])
                return False
        now = time.monotonic()
        self._troubled_since = self._troubled_since or now
        if answer.error_code not in _MOVED or now - self._troubled_since > _PATIENCE_S:
            raise ErrorAnswer(answer.error_code, f"{self._topic}-{partition}")
        time.sleep(_RETRY_S)
        self._client.leader(self._topic, partition)  # asks again
        return False

    def _fates(
        self, leader: int, answer: Any, batches: list[tuple[int, BatchHeader]], data: bytes
    ) -> list[Fate]:
        """The fate of each batch, in order; markers get PLAIN."""
        if not any(header.is_transactional for _, header in batches):
            return [Fate.PLAIN] * len(batches)
        position = self._positions[answer.partition_index]
        decided = answer
        if self._isolation == Isolation.READ_UNCOMMITTED:
            (decided,) = self._fetch(leader, [answer.partition_index], Isolation.READ_COMMITTED, 0)
            check(decided.error_code, f"{self._topic}-{answer.partition_index}")
        stable = decided.last_stable_offset
        if batches[-1][1].last_offset >= stable:
            self._scan(leader, answer.partition_index, max(stable, position.scanned))
        found = fates_in(data, batches, decided, position.markers.fate)
        return [fate for _, fate in found]

    def _scan(self, leader: int, partition: int, start: int) -> None:
        """Collect the markers from an offset to the end of the log."""
        position, offset = self._positions[partition], start
        while True:
            (answer,) = fetch(self._client, self._topic, {partition: offset}, node_id=leader)
            check(answer.error_code, f"{self._topic}-{partition}")
            behind = collect_markers(bytes(answer.records or b""), offset, position.markers)
            if behind is None:
                position.scanned = offset
                return
            offset = behind

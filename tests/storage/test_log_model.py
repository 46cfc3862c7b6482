"""A log against a list of what was appended to it, whatever is done to it in whatever order.

Producers with and without transactions, markers, rolls, deletes, retention, compaction, restarts
after a clean stop, a kill and a loss of power; after each step everything that can be asked of the
log is answered from the list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.protocol.batch import build, headers_in
from ottla.protocol.records import records_in
from ottla.storage.cleaning.retention import delete_old_segments
from ottla.storage.disk.damage import Damage
from ottla.storage.log import PartitionLog
from tests.campaign.crash_disk import CrashDisk
from tests.storage.compacting import committed, compacted, values
from tests.storage.logs import NOW_MS, end_of, everything, offset_for_timestamp, open_log

IDEMPOTENT, TRANSACTIONAL = (1, 2), (3, 4)
KEYS = [b"a", b"b", b"c"]
Row = tuple[int, bytes | None, bytes | None]  # offset, key, value


@dataclass(frozen=True)
class Event:
    """One batch, as it was appended."""

    first: int
    rows: tuple[Row, ...]
    time_ms: int
    data: bytes
    producer_id: int = -1
    sequence: int = -1
    marker: bool | None = None  # whether it commits

    @property
    def next_offset(self) -> int:
        return self.first + max(len(self.rows), 1)


class LogModel(RuleBasedStateMachine):
    @initialize(
        segment_bytes=st.integers(300, 1500),
        interval=st.sampled_from([0, 150, 4096]),
        compacts=st.booleans(),
        seed=st.integers(0, 1000),
    )
    def begin(self, segment_bytes: int, interval: int, compacts: bool, seed: int) -> None:
        self.settings: dict[str, Any] = {
            "segment_bytes": segment_bytes,
            "index_interval_bytes": interval,
            "min_cleanable_dirty_ratio": 0.0,
        }
        if compacts:
            self.settings["cleanup_policy"] = frozenset({"compact"})
        self.compacts = compacts
        self.disk = CrashDisk(seed=seed)
        self.told: list[Damage] = []
        self.log: PartitionLog = open_log(self.disk, **self.settings)
        self.events: list[Event] = []
        self.gone: set[int] = set()  # offsets that compaction took
        self.start = 0
        self.start_on_disk = 0
        self.flushed = 0

        self.first_end = 0

    # The model

    @property
    def end(self) -> int:
        return self.events[-1].next_offset if self.events else self.first_end

    def is_transactional(self, event: Event) -> bool:
        return event.producer_id in TRANSACTIONAL

    def open_transactions(self) -> dict[int, int]:
        began: dict[int, int] = {}
        for event in self.events:
            if event.marker is not None:
                began.pop(event.producer_id, None)
            elif self.is_transactional(event):
                began.setdefault(event.producer_id, event.first)
        return began

    def stable(self) -> int:
        stable = min(self.open_transactions().values(), default=self.end)
        if stable >= self.start:
            return stable
        first = (e.first for e in self.events if e.first <= self.start < e.next_offset)
        return next(first, self.start)

    def rows(self) -> list[Row]:
        return [
            row
            for event in self.events
            if event.marker is None
            for row in event.rows
            if row[0] not in self.gone
        ]

    def committed(self) -> list[Row]:
        """The records for a read_committed consumer, from the first readable batch."""
        fate: dict[int, bool] = {}
        waiting: dict[int, list[Event]] = {}
        for event in self.events:
            if event.marker is not None:
                for decided in waiting.pop(event.producer_id, []):
                    fate[decided.first] = event.marker
            elif self.is_transactional(event):
                waiting.setdefault(event.producer_id, []).append(event)
        stable = self.stable()
        return [
            row
            for event in self.events
            if event.marker is None and event.first < stable
            if event.next_offset > self.start and fate.get(event.first, True)
            for row in event.rows
            if row[0] not in self.gone
        ]

    def sequence_of(self, producer_id: int) -> int:
        sent = [e for e in self.events if e.producer_id == producer_id and e.marker is None]
        if sent:
            return sent[-1].sequence + len(sent[-1].rows)
        known = self.log.producers.entry(producer_id)  # by a snapshot, when its records are gone
        return 0 if known is None else known.last_sequence + 1

    # Changes of both

    def add(self, pairs: list[tuple[bytes, bytes | None]], time_ms: int, producer_id: int) -> None:
        first = self.end
        header: dict[str, Any] = {}
        sequence = -1
        if producer_id >= 0:
            sequence = self.sequence_of(producer_id)
            header = {
                "producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence,
                "transactional": producer_id in TRANSACTIONAL,
            }  # fmt: skip
        data = bytes(build(pairs, timestamp_ms=NOW_MS + time_ms, **header))
        appended = self.log.append(data, now_ms=NOW_MS)
        assert appended[:2] == (first, first + len(pairs) - 1)
        rows = tuple((first + at, *pair) for at, pair in enumerate(pairs))
        self.events.append(Event(first, rows, NOW_MS + time_ms, data, producer_id, sequence))

    @rule(
        pairs=st.lists(
            st.tuples(st.sampled_from(KEYS), st.none() | st.binary(max_size=30)),
            min_size=1,
            max_size=4,
        ),
        time_ms=st.integers(0, 40),
        producer_id=st.sampled_from([-1, *IDEMPOTENT, *TRANSACTIONAL]),
    )
    def append(
        self, pairs: list[tuple[bytes, bytes | None]], time_ms: int, producer_id: int
    ) -> None:
        self.add(pairs, time_ms, producer_id)

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), commits=st.booleans())
    def end_transaction(self, producer_id: int, commits: bool) -> None:
        first = self.end
        data = end_of(producer_id, commit=commits)
        assert self.log.append_marker(data, now_ms=NOW_MS).base_offset == first
        self.events.append(Event(first, (), NOW_MS, bytes(data), producer_id, marker=commits))

    @rule(producer_id=st.sampled_from([*IDEMPOTENT, *TRANSACTIONAL]))
    def send_the_last_one_again(self, producer_id: int) -> None:
        sent = [e for e in self.events if e.producer_id == producer_id and e.marker is None]
        if not sent or self.log.producers.entry(producer_id) is None:
            return
        appended = self.log.append(sent[-1].data, now_ms=NOW_MS)
        assert appended.is_duplicate
        assert appended.base_offset == sent[-1].first

    @rule()
    def roll(self) -> None:
        if self.log.segments[-1].size_bytes:
            self.log.roll(NOW_MS)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.flushed = self.end

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = self.start + int((self.end - self.start) * part)
        assert self.log.delete_records(offset) == max(offset, self.start)
        self.start = max(offset, self.start)
        self.start_on_disk = self.start

    @precondition(lambda self: not self.compacts)
    @rule(keep=st.integers(0, 1500))
    def retain(self, keep: int) -> None:
        self.log.config = replace(self.log.config, retention_bytes=keep, retention_ms=-1)
        size_before, first = self.log.size_bytes, self.log.segments[0].base_offset
        dropped = delete_old_segments(self.log, NOW_MS)
        if self.start == first:
            assert self.log.size_bytes >= min(keep, size_before)
        if dropped:
            assert self.log.log_start_offset >= self.log.segments[0].base_offset
        self.start = self.log.log_start_offset

    @precondition(lambda self: self.compacts)
    @rule()
    def compact(self) -> None:
        rows = {row[0]: row[1:] for row in self.rows() if row[0] >= self.start}
        newest = {row[1]: row for row in self.committed()}
        compacted(self.log, self.disk, now_ms=NOW_MS)
        left = values(self.log)
        assert left.items() <= {row[0]: row[1:] for row in self.rows()}.items()
        for offset, key, value in newest.values():
            if value is not None and offset >= self.start:
                assert left.get(offset) == (key, value), "the newest record of a key is gone"
        self.gone |= rows.keys() - left.keys()

    @rule(how=st.sampled_from(["clean", "kill", "power"]))
    def restart(self, how: str) -> None:
        self.log.close(clean=how == "clean")
        if how == "clean":
            self.flushed = self.end
        self.disk = self.disk.reboot(power_cut=how == "power")
        self.log = open_log(
            self.disk, clean=how == "clean", recovery_point=self.flushed,
            log_start_offset=self.start_on_disk,
            report=lambda one: self.told.append(one), **self.settings,
        )  # fmt: skip
        if how == "power":
            # A partial write may look like a damaged batch.
            self.told = [one for one in self.told if "was not synced" not in one.why]
            end = self.log.log_end_offset
            assert self.flushed <= end <= self.end, "what was flushed is gone"
            self.events = [event for event in self.events if event.next_offset <= end]
            if not self.log.size_bytes and end == self.start_on_disk:
                self.events = []  # all that is left was deleted before
            if not self.events:
                self.first_end = end
            assert self.end == end, "a batch is torn"
            self.gone = {offset for offset in self.gone if offset < end}
        start = max(self.start_on_disk, self.log.segments[0].base_offset)
        # Records may stay deleted although their files came back.
        assert start <= self.log.log_start_offset <= max(self.start, start)
        self.start = self.log.log_start_offset

    # Reads

    @invariant()
    def it_begins_and_ends_where_it_should(self) -> None:
        log = self.log
        found = (log.log_start_offset, log.log_end_offset, log.last_stable_offset)
        assert found == (self.start, self.end, self.stable())
        assert self.told == []

    @invariant()
    def every_record_is_read(self) -> None:
        expected = {row[0]: row[1:] for row in self.rows()}
        found = values(self.log)
        assert found.items() <= expected.items()
        assert {o for o in expected if o >= self.start} <= found.keys()

    @invariant()
    def readers_of_committed_records_get_those(self) -> None:
        found = [(r.offset, r.key, r.value) for r in committed(self.log) if r.offset >= self.start]
        assert found == [row for row in self.committed() if row[0] >= self.start]

    @rule(part=st.floats(0, 1), max_bytes=st.integers(1, 900))
    def read_anywhere(self, part: float, max_bytes: int) -> None:
        offset = self.start + int((self.end - self.start) * part)
        if offset >= self.end:
            return
        read = self.log.read(offset, max_bytes=max_bytes, up_to=self.end, min_one=True)
        headers = list(headers_in(read.records))
        assert headers or not self.is_anything_behind(offset)
        rows = [
            (r.offset, r.key, r.value)
            for at, header in headers
            if not header.is_control
            for r in records_in(read.records, at, header)
        ]
        first, end = (headers[0][1].base_offset, headers[-1][1].next_offset) if headers else (0, 0)
        first = max(first, self.start)  # what lies before may be there or not
        assert [row for row in rows if row[0] >= first] == [
            row for row in self.rows() if first <= row[0] < end
        ]
        missed = [row for row in self.rows() if offset <= row[0] < (rows[0][0] if rows else 0)]
        assert not missed, "records before the first that was read"
        assert len(headers) <= 1 or len(read.records) <= max_bytes

    def is_anything_behind(self, offset: int) -> bool:
        return any(header.last_offset >= offset for header, _ in everything(self.log))

    @rule(time_ms=st.integers(-1, 42))
    def look_for_a_time(self, time_ms: int) -> None:
        found = offset_for_timestamp(self.log, NOW_MS + time_ms)
        timed = [
            (offset, event.time_ms)
            for event in self.events
            for offset in ([row[0] for row in event.rows] or [event.first])
            if offset >= self.start and offset not in self.gone
            if event.time_ms >= NOW_MS + time_ms
        ]
        # As in Kafka, one segment is searched: the first that has a time so late. What has it may
        # be deleted.
        late = [s for s in self.log.segments if s.size_bytes and s.newest_ms() >= NOW_MS + time_ms]
        timed = [row for row in timed if row[0] < late[0].next_offset] if late else []
        if self.compacts:  # markers go too; those that are there are in their place
            timed = [row for row in timed if not self.is_marker(row[0])]
            if found is not None and self.is_marker(found.offset):
                return
        assert (found and found[:2]) == (timed[0] if timed else None)

    def is_marker(self, offset: int) -> bool:
        return any(e.first == offset and e.marker is not None for e in self.events)


LogModel.TestCase.settings = settings(max_examples=100, stateful_step_count=20, deadline=None)
TestLogModel = LogModel.TestCase

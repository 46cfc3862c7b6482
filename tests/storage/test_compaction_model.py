"""A compacted log and a list that is not: readers of both end up with the same."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.protocol.batch import build, read_header
from ottla.protocol.records import Record
from ottla.storage.inspection.partition_inspection import inspect_partition
from ottla.storage.log import PartitionLog
from tests.storage.compacting import committed, compacted, open_compacted, packed, values
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, end_of, everything

KEYS = st.sampled_from([b"a", b"b", b"c", b"a key that is longer than a digest", b"d"])
CODECS = st.sampled_from(["uncompressed", "gzip", "snappy", "lz4", "zstd"])
PRODUCERS = st.integers(1, 3)
RETENTION_MS = 1000
Pair = tuple[bytes, bytes | None]


class CompactedLog(RuleBasedStateMachine):
    """The model: every record ever appended, by offset, and the outcome of its transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = Disk()
        self.now_ms = NOW_MS
        self.cleaned_up_to: int | None = None
        self.records: dict[int, Record] = {}
        self.aborted: set[int] = set()  # offsets
        self.open: dict[int, list[int]] = {}  # of producers: offsets
        self.values = 0

    @initialize(segment_bytes=st.sampled_from([300, 900]), map_entries=st.sampled_from([2, 1000]))
    def begin(self, segment_bytes: int, map_entries: int) -> None:
        self.settings = {"segment_bytes": segment_bytes, "delete_retention_ms": RETENTION_MS}
        self.map_size_bytes = 192 * map_entries
        self.log = self.opened(clean=True)

    def opened(self, *, clean: bool) -> PartitionLog:
        return open_compacted(self.disk, clean=clean, now_ms=self.now_ms, **self.settings)

    # Clients

    def append(self, keys: list[bytes | None], codec: str, producer_id: int) -> list[int]:
        self.now_ms += 1
        pairs: list[Pair] = []
        for key in keys:
            self.values += 1
            tombstone = self.values % 4 == 0
            pairs.append((key or b"none", None if tombstone else b"value %d" % self.values))
        known = self.log.producers.entry(producer_id)
        batch = build(
            pairs,
            timestamp_ms=self.now_ms,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=-1 if producer_id < 0 else known.last_sequence + 1 if known else 0,
            transactional=producer_id > 0,
        )
        base_offset = self.log.append(packed(batch, codec)[0], now_ms=self.now_ms).base_offset
        offsets = list(range(base_offset, base_offset + len(pairs)))
        for offset, (key, value) in zip(offsets, pairs, strict=True):
            self.records[offset] = Record(offset, self.now_ms, key, value)
        return offsets

    @rule(keys=st.lists(KEYS, min_size=1, max_size=4), codec=CODECS)
    def plain(self, keys: list[bytes | None], codec: str) -> None:
        self.append(keys, codec, -1)

    @rule(producer_id=PRODUCERS, keys=st.lists(KEYS, min_size=1, max_size=3), codec=CODECS)
    def in_transaction(self, producer_id: int, keys: list[bytes | None], codec: str) -> None:
        self.open.setdefault(producer_id, []).extend(self.append(keys, codec, producer_id))

    @precondition(lambda self: self.open)
    @rule(commit=st.booleans(), which=st.integers(0, 2))
    def end(self, commit: bool, which: int) -> None:
        producer_id = sorted(self.open)[which % len(self.open)]
        self.log.append_marker(end_of(producer_id, commit=commit), now_ms=self.now_ms)
        offsets = self.open.pop(producer_id)
        if not commit:
            self.aborted.update(offsets)

    # The broker

    @rule()
    def roll(self) -> None:
        if self.log.segments[-1].size_bytes:
            self.log.roll(self.now_ms)

    @rule(forget=st.booleans())
    def compact(self, forget: bool) -> None:
        did = compacted(
            self.log, self.disk,
            cleaned_up_to=None if forget else self.cleaned_up_to,
            map_size_bytes=self.map_size_bytes, now_ms=self.now_ms,
        )  # fmt: skip
        if did is not None:
            self.cleaned_up_to = did.end_offset
            self.check_clean(did.end_offset)
        self.check_healthy(is_finished=False)

    @rule(wait_ms=st.sampled_from([10, RETENTION_MS + 1]))
    def wait(self, wait_ms: int) -> None:
        self.now_ms += wait_ms

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        self.log.close(clean=clean)
        self.check_healthy(is_finished=clean)
        self.disk = self.disk.after_kill()
        self.log = self.opened(clean=clean)

    @rule(where=st.floats(0, 1))
    def read(self, where: float) -> None:
        """A read at any offset begins with the batch that holds it, or the next."""
        offset = int(where * self.log.log_end_offset)
        read = self.log.read(offset, max_bytes=1, up_to=self.log.log_end_offset, min_one=True)
        behind = [header for header, _ in everything(self.log) if header.last_offset >= offset]
        if behind:
            assert read_header(read.records).base_offset == behind[0].base_offset
        else:
            assert not read.records

    # Invariants

    def check_healthy(self, *, is_finished: bool) -> None:
        """`ottla log verify` finds nothing."""
        report = inspect_partition(DIRECTORY, files=self.disk, is_finished=is_finished)
        found = [damage.why for damage in report.damages]
        report.close()
        assert found == []

    def check_clean(self, end_offset: int) -> None:
        """With room for all keys: of each one record is left, and none of what was aborted."""
        if self.map_size_bytes < 1000:
            return
        left = [offset for offset in values(self.log) if offset < end_offset]
        assert not self.aborted.intersection(left)
        keys = [self.records[offset].key for offset in left]
        assert len(keys) == len(set(keys))

    @invariant()
    def nothing_moves_or_changes(self) -> None:
        if not hasattr(self, "log"):
            return
        ends = [header.next_offset for header, _ in everything(self.log)]
        assert ends == sorted(ends)
        for offset, pair in values(self.log).items():
            expected = self.records[offset]
            assert pair == (expected.key, expected.value)

    @invariant()
    def a_reader_of_committed_records_ends_up_with_the_same(self) -> None:
        if not hasattr(self, "log"):
            return
        stable = min((offsets[0] for offsets in self.open.values()), default=10**9)
        assert self.log.last_stable_offset == min(stable, self.log.log_end_offset)
        expected: dict[bytes | None, Record] = {}
        for offset, record in sorted(self.records.items()):
            if offset < stable and offset not in self.aborted:
                expected[record.key] = record
        found = {record.key: record for record in committed(self.log)}
        for key, record in expected.items():
            if record.value is not None:
                assert found.get(key) == record
            else:  # a tombstone may have gone, but nothing older may be left
                assert found.get(key, record) == record
        assert found.keys() <= expected.keys()

    @invariant()
    def producers_are_known(self) -> None:
        """The next batch of each is taken, and nothing else; `in_transaction` relies on it."""
        if hasattr(self, "log"):
            for producer_id in self.open:
                assert self.log.producers.has_ongoing_transaction(producer_id)


TestCompactedLog = CompactedLog.TestCase
TestCompactedLog.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

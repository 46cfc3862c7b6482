"""Kafka's files, byte by byte."""

from __future__ import annotations

import struct

from ottla.protocol.checksum import crc32c
from ottla.storage.log import PartitionLog
from ottla.storage.log_config import LogConfig
from ottla.storage.producer_state import producer_snapshot
from ottla.storage.segments.indexes import OffsetIndex, TimeIndex
from ottla.storage.segments.leader_epochs import LeaderEpochs
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, end_of, in_transaction, open_log, sent_by


def test_the_indexes_pair_relative_offsets_with_positions_and_times(disk: Disk) -> None:
    log = open_log(disk, log_start_offset=100, index_interval_bytes=0)
    size = len(batch(b"a", b"b"))
    for time_ms in (5, 9, 7):
        log.append(batch(b"a", b"b", timestamp_ms=NOW_MS + time_ms), now_ms=NOW_MS)
    log.close(clean=True)
    name = f"{DIRECTORY}/{100:020d}"
    assert disk.read(f"{name}.index") == struct.pack(">iiii", 3, size, 5, 2 * size)
    assert disk.read(f"{name}.timeindex") == struct.pack(">qi", NOW_MS + 9, 3)


def test_the_last_time_index_entry_has_the_largest_time_of_a_segment(disk: Disk) -> None:
    log = open_log(disk)
    log.append(batch(b"a", b"b"), now_ms=NOW_MS)
    log.close(clean=True)
    assert disk.read(f"{DIRECTORY}/{0:020d}.index") == b""
    assert disk.read(f"{DIRECTORY}/{0:020d}.timeindex") == struct.pack(">qi", NOW_MS, 1)


def test_zeros_that_kafka_left_end_an_index() -> None:
    entries = struct.pack(">iiii", 3, 70, 5, 140)
    index = OffsetIndex.decode(entries + bytes(80), 200)
    assert index is not None
    assert (index.encode(), index.position_before(4), index.position_before(2)) == (entries, 70, 0)
    times = TimeIndex.decode(struct.pack(">qi", 9, 3) + bytes(120))
    assert times is not None
    assert times.last() == (9, 3)


def test_an_index_that_cannot_be_that_of_its_data_is_not_believed() -> None:
    falling = struct.pack(">iiii", 5, 70, 3, 140)
    assert OffsetIndex.decode(falling, 200) is None
    assert OffsetIndex.decode(struct.pack(">ii", 3, 200), 200) is None
    assert TimeIndex.decode(struct.pack(">qiqi", 9, 3, 8, 4)) is None
    assert TimeIndex.decode(struct.pack(">qi", 9, -3)) is None


def test_a_snapshot_has_each_producers_latest_batch(disk: Disk, log: PartitionLog) -> None:
    log.append(sent_by(1, 4, 3, epoch=2), now_ms=NOW_MS)
    log.append(in_transaction(2, 0), now_ms=NOW_MS)
    log.append_marker(end_of(3, commit=True, epoch=1, coordinator_epoch=8), now_ms=NOW_MS)
    log.close(clean=True)
    row = struct.Struct(">qhiqiqiq")
    body = struct.pack(">i", 3) + b"".join(
        [
            row.pack(1, 2, 6, 2, 2, NOW_MS, -1, -1),
            row.pack(2, 0, 0, 3, 0, NOW_MS, -1, 3),
            row.pack(3, 1, -1, -1, 0, NOW_MS, 8, -1),
        ]
    )
    content = struct.pack(">hI", 1, crc32c(body)) + body
    assert disk.read(f"{DIRECTORY}/{5:020d}.snapshot") == content
    entries = producer_snapshot.decode(content)
    assert entries is not None
    assert producer_snapshot.encode(entries) == content
    for harmed in (content[:-1], content[:8], b"", content[:-1] + b"\1"):
        assert producer_snapshot.decode(harmed) is None


def test_leader_epochs_are_a_text(disk: Disk) -> None:
    disk.make_directory("p")
    epochs = LeaderEpochs(disk, "p")
    for epoch, offset in ((0, 0), (2, 10), (2, 12), (3, 20)):
        epochs.assign(epoch, offset)
    epochs.write()
    content = disk.read("p/leader-epoch-checkpoint")
    assert content.rstrip() == b"0\n3\n0 0\n2 10\n3 20"
    epochs.truncate_end(20)
    epochs.truncate_start(5)
    assert epochs.entries == [(0, 5), (2, 10)]
    epochs.truncate_start(10)
    assert epochs.entries == [(2, 10)]
    assert LeaderEpochs(disk, "p").entries == [(0, 0), (2, 10), (3, 20)]


def test_an_epoch_that_wrote_nothing_is_replaced(disk: Disk) -> None:
    disk.make_directory("p")
    epochs = LeaderEpochs(disk, "p")
    for epoch, offset in ((0, 0), (1, 10), (2, 10)):
        epochs.assign(epoch, offset)
    assert epochs.entries == [(0, 0), (2, 10)]


def test_the_defaults_are_kafkas() -> None:
    config = LogConfig()
    assert (config.segment_bytes, config.segment_ms) == (1 << 30, 7 * 86_400_000)
    assert (config.max_message_bytes, config.index_interval_bytes) == (1_048_588, 4096)
    assert config.deletes
    assert not config.compacts

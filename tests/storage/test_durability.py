"""Durability: flushes, the files beside the data, and a start that relies on them."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from ottla.storage.segments.segment import file_name
from tests.storage.disk import Disk, PowerCut
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    end_of,
    everything,
    in_transaction,
    open_log,
    payloads,
    ranges,
    sent,
    sent_by,
)


class ReadingDisk(Disk):
    """Counts what is read of data files.

    Attributes:
        read_bytes: by path.
        synced: paths, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read_bytes: dict[str, int] = {}
        self.synced: list[str] = []
        self._paths: dict[int, str] = {}

    def open(self, path: str, /) -> int:
        descriptor = super().open(path)
        self._paths[descriptor] = path
        return descriptor

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        data = super().read_at(descriptor, size_bytes, position)
        path = self._paths[descriptor]
        self.read_bytes[path] = self.read_bytes.get(path, 0) + len(data)
        return data

    def sync(self, descriptor: int, /) -> None:
        super().sync(descriptor)
        self.synced.append(self._paths[descriptor])

    def sync_directory(self, directory: str, /) -> None:
        super().sync_directory(directory)
        self.synced.append(directory)


def filled(log: PartitionLog, segments: int) -> list[bytearray]:
    """Batches, until there are so many segments."""
    batches: list[bytearray] = []
    while len(log.segments) < segments:
        batches.append(batch(b"value %d" % len(batches)))
        log.append(batches[-1], now_ms=NOW_MS)
    return batches


def test_each_batch_is_on_disk_when_flush_messages_is_one(disk: Disk) -> None:
    log = open_log(disk, flush_messages=1)
    batches = [batch(b"one"), batch(b"two")]
    for one in batches:
        log.append(one, now_ms=NOW_MS)
    assert payloads(open_log(disk.after_power_cut(), clean=False)) == sent(batches)


def test_every_third_record_brings_a_flush() -> None:
    disk = ReadingDisk()
    log = open_log(disk, flush_messages=3)
    log.append(batch(b"one", b"two"), now_ms=NOW_MS)
    assert disk.synced == []
    log.append(batch(b"three"), now_ms=NOW_MS)
    assert log.recovery_point == 3
    log.append(batch(b"four"), now_ms=NOW_MS)
    assert log.recovery_point == 3, "it is counted anew"


def test_a_marker_is_on_disk_as_records_are(disk: Disk) -> None:
    log = open_log(disk, flush_messages=1)
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    again = open_log(disk.after_power_cut(), clean=False)
    assert again.last_stable_offset == 2
    assert [one.producer_id for one in again.aborted_transactions(0, 1)] == [7]


def test_the_first_flush_syncs_the_names_and_later_ones_only_data() -> None:
    disk = ReadingDisk()
    log = open_log(disk)
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    data = f"{DIRECTORY}/{file_name(0, '.log')}"
    epochs = f"{DIRECTORY}/leader-epoch-checkpoint"
    assert disk.synced == [data, epochs, DIRECTORY, "data"]
    del disk.synced[:]
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    assert disk.synced == [data]


def test_a_new_segment_has_its_name_synced_with_the_next_flush() -> None:
    disk = ReadingDisk()
    log = open_log(disk, segment_bytes=200)
    filled(log, 2)
    log.flush()
    del disk.synced[:]
    filled(log, 3)
    log.flush()
    assert DIRECTORY in disk.synced


def test_records_before_the_recovery_point_survive_a_power_loss(disk: Disk) -> None:
    """Its transaction index above all: without it readers would be given aborted records."""
    log = open_log(disk, segment_bytes=300)
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    log.append(sent_by(8, 0), now_ms=NOW_MS)
    batches = filled(log, 3)
    log.flush()
    after = disk.after_power_cut()
    for name in ("index", "timeindex", "txnindex"):
        path = f"{DIRECTORY}/{file_name(0, '.' + name)}"
        assert after.files[path].data == disk.files[path].data, name
    again = open_log(after, clean=False, recovery_point=log.recovery_point)
    assert again.log_end_offset == log.log_end_offset
    assert [one.producer_id for one in again.aborted_transactions(0, 1)] == [7]
    assert again.producers.entry(8) is not None
    assert len(everything(again)) == 3 + len(batches)


def test_a_flush_of_closed_segments_does_not_sync_the_active_one() -> None:
    disk = ReadingDisk()
    log = open_log(disk, segment_bytes=200)
    asked: list[int] = []
    log.on_flush_due = lambda _, up_to: asked.append(up_to)
    filled(log, 3)
    newest = log.segments[-1].base_offset
    assert asked[-1] == newest
    flush = log.begin_flush(newest)
    flush.run()
    log.end_flush(flush)
    assert log.recovery_point == newest
    assert f"{DIRECTORY}/{file_name(newest, '.log')}" not in disk.synced


def test_records_appended_during_a_flush_do_not_count_as_flushed(log: PartitionLog) -> None:
    log.append(batch(), now_ms=NOW_MS)
    flush = log.begin_flush()
    log.append(batch(), now_ms=NOW_MS)
    flush.run()
    log.end_flush(flush)
    assert log.recovery_point == 1


def test_a_name_that_came_while_a_flush_ran_is_synced_by_the_next() -> None:
    disk = ReadingDisk()
    log = open_log(disk, segment_bytes=200)
    filled(log, 2)
    flush = log.begin_flush()
    filled(log, 3)
    flush.run()
    log.end_flush(flush)
    del disk.synced[:]
    log.flush()
    assert DIRECTORY in disk.synced


def test_a_segment_that_is_removed_under_a_flush_is_closed_behind_it(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=200)
    filled(log, 2)
    flush = log.begin_flush()
    log.delete_records(log.segments[1].base_offset)
    flush.run()
    log.end_flush(flush)
    log.close(clean=False)
    assert disk.opened == {}, "a descriptor was left open"


def test_the_snapshot_at_the_end_of_a_segment_that_was_dropped_is_synced(disk: Disk) -> None:
    """The next segment begins with it: what the dropped one knew of producers is there alone."""
    log = open_log(disk, segment_bytes=200)
    log.append(sent_by(7, 0), now_ms=NOW_MS)
    filled(log, 2)
    log.delete_records(log.segments[1].base_offset)
    assert len(log.segments) == 1
    log.flush()
    again = open_log(
        disk.after_power_cut(), clean=False, recovery_point=log.recovery_point,
        log_start_offset=log.log_start_offset,
    )  # fmt: skip
    assert again.append(sent_by(7, 0), now_ms=NOW_MS).is_duplicate


def test_an_unclean_start_reads_the_data_past_the_recovery_point_alone() -> None:
    disk = ReadingDisk()
    log = open_log(disk, segment_bytes=400)
    filled(log, 4)
    flush = log.begin_flush(log.segments[-1].base_offset)
    flush.run()
    log.end_flush(flush)
    disk.read_bytes.clear()
    open_log(disk, clean=False, recovery_point=log.recovery_point, segment_bytes=400)
    assert set(disk.read_bytes) == {f"{DIRECTORY}/{file_name(log.recovery_point, '.log')}"}


def test_a_clean_stop_leaves_everything_on_disk(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=300)
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    log.append(sent_by(8, 0), now_ms=NOW_MS)
    log.close(clean=True)
    after = disk.after_power_cut()
    assert {path: file.data for path, file in after.files.items()} == {
        path: file.data for path, file in disk.files.items()
    }


def test_a_log_that_did_nothing_stops_without_touching_the_disk(disk: Disk) -> None:
    log = open_log(disk)
    log.append(batch(), now_ms=NOW_MS)
    log.close(clean=True)
    again = open_log(disk)
    operations = disk.operations
    again.close(clean=True)
    assert disk.operations == operations


def test_a_log_that_failed_does_not_stop_cleanly_and_closes_its_files(disk: Disk) -> None:
    log = open_log(disk)
    log.append(batch(), now_ms=NOW_MS)
    disk.fail_at = disk.operations + 1
    with pytest.raises(OSError, match="the disk failed"):
        log.flush()
    with pytest.raises(Refused) as refused:
        log.append(batch(), now_ms=NOW_MS)
    assert refused.value.code == Code.KAFKA_STORAGE_ERROR
    with pytest.raises(OSError, match="the disk failed"):
        log.close(clean=True)
    assert disk.opened == {}


def test_a_duplicate_after_a_crash_is_flushed_before_it_is_acknowledged(disk: Disk) -> None:
    """It was written but not acknowledged by the earlier process, so its flush is unknown."""
    log = open_log(disk)
    log.append(sent_by(7, 0), now_ms=NOW_MS)
    killed = disk.after_kill()
    again = open_log(killed, clean=False, flush_messages=1)
    assert again.append(sent_by(7, 0), now_ms=NOW_MS).is_duplicate
    assert open_log(killed.after_power_cut(), clean=False).log_end_offset == 1


def test_segments_of_one_age_end_at_different_times_where_jitter_is_set() -> None:
    waited = set()
    for name in range(20):
        log = open_log(topic=f"orders-{name}", segment_ms=10_000, segment_jitter_ms=5_000)
        log.append(batch(), now_ms=NOW_MS)
        log.roll(NOW_MS)
        log.append(batch(timestamp_ms=NOW_MS), now_ms=NOW_MS)
        for age_ms in range(0, 10_200, 100):
            log.append(batch(timestamp_ms=NOW_MS + age_ms), now_ms=NOW_MS + age_ms)
            if len(log.segments) > 2:
                break
        waited.add(age_ms)
    assert min(waited) > 5_000, "by no more than the jitter"
    assert max(waited) <= 10_100
    assert len(waited) > 5


@pytest.mark.parametrize(("step_ms", "batches"), [(0, 7), (1, 4)])
def test_a_segment_ends_when_an_index_of_it_is_full(step_ms: int, batches: int) -> None:
    """Of 48 bytes: six offsets; or three times, for which Kafka keeps the place of one more."""
    log = open_log(segment_index_bytes=48, index_interval_bytes=1)
    count = 0
    while len(log.segments) == 1:
        count += 1
        log.append(batch(timestamp_ms=NOW_MS + count * step_ms), now_ms=NOW_MS)
    assert log.segments[1].base_offset == batches


def test_a_clean_stop_syncs_the_names_of_its_files_too() -> None:
    """Else they would be those of older files, or of none, and the start believes them."""
    disk = ReadingDisk()
    log = open_log(disk)
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    log.append(batch(), now_ms=NOW_MS)
    del disk.synced[:]
    log.close(clean=True)
    assert disk.synced[-1] == DIRECTORY


def test_a_new_leader_epoch_is_on_disk_with_the_first_record_that_has_it() -> None:
    disk = ReadingDisk()
    log = open_log(disk)
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    log.leader_epoch = 5
    log.append(batch(), now_ms=NOW_MS)
    del disk.synced[:]
    log.flush()
    assert set(disk.synced) == {
        f"{DIRECTORY}/{file_name(0, '.log')}", f"{DIRECTORY}/leader-epoch-checkpoint", DIRECTORY
    }  # fmt: skip


def test_records_cut_off_by_a_recovery_do_not_return_before_a_later_segment(disk: Disk) -> None:
    """A loss of power tears a write; a second one must not undo that its rest was cut off."""
    log = open_log(disk, flush_messages=1)
    log.append(batch(b"first"), now_ms=NOW_MS)
    disk.cut_at = disk.operations + 1
    with pytest.raises(PowerCut):
        log.append(batch(b"torn" * 20), now_ms=NOW_MS)
    disk = disk.after_kill()
    for file in disk.files.values():
        file.synced = bytes(file.data)
    log = open_log(disk, clean=False, recovery_point=1, flush_messages=1)
    log.roll(NOW_MS)
    acknowledged = log.append(batch(b"second"), now_ms=NOW_MS)
    found = open_log(disk.after_power_cut(), clean=False)
    assert ranges(found) == [(0, 0), (1, 1)]
    assert found.log_end_offset == acknowledged.last_offset + 1


def an_aborted_transaction(log: PartitionLog) -> None:
    log.append(in_transaction(2, 0), now_ms=NOW_MS)
    log.append_marker(end_of(2, commit=False), now_ms=NOW_MS)


def test_aborted_transactions_of_a_closed_segment_survive_a_power_loss(disk: Disk) -> None:
    """All its data are on disk, so the next start does not read them again."""
    log = open_log(disk, flush_messages=1)
    an_aborted_transaction(log)
    log.roll(NOW_MS)
    known = log.aborted_transactions(0, 1)
    left, index = disk.after_kill(), f"{DIRECTORY}/{file_name(0, '.txnindex')}"
    left.files[index] = disk.after_power_cut().files[index]
    again = open_log(left, clean=False, recovery_point=log.recovery_point)
    assert (again.log_end_offset, again._aborted.between(0, 2)) == (2, known)


def test_the_next_flush_syncs_the_files_of_a_flush_that_could_not_begin() -> None:
    disk = ReadingDisk()
    log = open_log(disk)
    log.on_flush_due = lambda log, up_to: None
    an_aborted_transaction(log)
    log.roll(NOW_MS)
    log.cancel_flush(log.begin_flush())
    assert (log.recovery_point, log.failure, disk.synced) == (0, None, [])
    log.flush()
    files = (file_name(0, suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex"))
    assert {*(f"{DIRECTORY}/{file}" for file in files), DIRECTORY} <= set(disk.synced)
    assert log.recovery_point == log.log_end_offset


def test_the_recovery_point_waits_for_the_files_of_a_segment_that_ended_meanwhile() -> None:
    disk = Disk()
    log = open_log(disk)
    an_aborted_transaction(log)
    flush = log.begin_flush()
    log.roll(NOW_MS)
    flush.run()
    log.end_flush(flush)
    assert log.recovery_point == 1, "the index of its transactions is not synced"
    log.flush()
    assert log.recovery_point == 2


def test_no_answer_waits_for_the_index_of_a_segment_whose_records_are_on_disk(disk: Disk) -> None:
    log = open_log(disk)
    log.on_flush_due = lambda log, up_to: None
    an_aborted_transaction(log)
    log.flush()
    log.roll(NOW_MS)
    assert (log.recovery_point, log.awaits_flush) == (1, False)

"""The files of segments that retention drops stay until the log's start is on disk."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.storage.disk.damage import Damage
from ottla.storage.log import PartitionLog
from ottla.storage.log_directory import LogDirectory
from tests.campaign.crash_disk import CrashDisk
from tests.storage.directories import directory, fill, log_in
from tests.storage.disk import PowerCut
from tests.storage.logs import NOW_MS, batch

Act = Callable[[LogDirectory, PartitionLog], None]


def as_in_a_node(disk: CrashDisk) -> tuple[LogDirectory, PartitionLog]:
    """A log of three segments, which does not flush by itself; 5 records, all on disk."""
    found = directory(disk)
    found.on_flush_due = lambda log, up_to: None
    fill(found, 0, 5)
    log = found.log_of("orders", 0)
    assert log is not None
    for _ in range(2):
        log.roll(NOW_MS)
        log.append(batch(), now_ms=NOW_MS)
    log.flush()
    found.checkpoint()
    return found, log


def drop(found: LogDirectory, log: PartitionLog) -> None:
    log.drop_segments_before(6)
    found.checkpoint()


def drop_twice(found: LogDirectory, log: PartitionLog) -> None:
    log.drop_segments_before(5)
    found.checkpoint()
    log.drop_segments_before(6)
    found.checkpoint()


def drop_and_flush(found: LogDirectory, log: PartitionLog) -> None:
    log.drop_segments_before(6)
    found.checkpoint()
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    found.checkpoint()


def drop_and_remove(found: LogDirectory, log: PartitionLog) -> None:
    drop(found, log)
    log.append(batch(), now_ms=NOW_MS)
    log.remove_deleted(NOW_MS)
    log.remove_deleted(NOW_MS + 10**9)
    found.checkpoint()


def drop_all_and_be_killed(found: LogDirectory, log: PartitionLog) -> None:
    log.roll(NOW_MS)
    log.drop_segments_before(7)
    found.checkpoint()
    found.checkpoint()


@pytest.mark.parametrize(
    "act", [drop, drop_twice, drop_and_flush, drop_and_remove, drop_all_and_be_killed]
)
@pytest.mark.parametrize("kills", [0, 1])
def test_a_log_begins_where_it_began_or_later_after_a_loss_of_power_at_any_operation(
    act: Act, kills: int
) -> None:
    cut_at = 0
    is_cut = True
    while is_cut:
        cut_at += 1
        is_cut = False
        for seed in range(5):
            disk = CrashDisk(seed=seed)
            found, log = as_in_a_node(disk)
            disk.cut_at = disk.operations + cut_at
            start = 0
            try:
                act(found, log)
                start = log.log_start_offset
            except PowerCut:
                is_cut = True
            for _ in range(kills):  # which leave what is not synced in the system's memory
                disk = disk.reboot(power_cut=False)
                again = directory(disk)
                log_in(again)
                again.checkpoint()
            again = directory(disk.reboot(power_cut=True))
            told: list[Damage] = []
            again.report = told.append
            log_in(again)
            read = again.log_of("orders", 0)
            assert read is not None
            lost = [one for one in told if "not synced" not in one.why]  # a torn end
            assert lost == [], (cut_at, seed)
            assert read.log_start_offset in (0, 5, 6, 7), (cut_at, seed)
            assert read.log_start_offset >= start, (cut_at, seed)
            assert read.log_end_offset >= 7, (cut_at, seed)
            for offset in range(read.log_start_offset, 7):
                found_there = read.read(offset, max_bytes=10_000, up_to=7, min_one=True)
                assert found_there.records, (cut_at, seed)
    assert cut_at > 5, "power was lost at so many operations"


def test_the_files_of_dropped_segments_stay_until_the_start_is_on_disk() -> None:
    disk = CrashDisk()
    found, log = as_in_a_node(disk)
    log.drop_segments_before(6)
    assert deleted_in(disk) == set()
    found.checkpoint()
    assert deleted_in(disk) == {0, 5}


def test_a_start_that_only_a_checkpoint_has_stays_there_until_a_flush() -> None:
    disk = CrashDisk()
    found, log = as_in_a_node(disk)
    for _ in range(2):
        log.drop_segments_before(6)
        found.checkpoint()
        assert "orders 0 6" in disk.read("data/log-start-offset-checkpoint").decode()
    log.flush()
    found.checkpoint()
    assert "orders" not in disk.read("data/log-start-offset-checkpoint").decode()


def test_files_that_cannot_be_renamed_now_are_renamed_later() -> None:
    disk = RefusingDisk()
    found, log = as_in_a_node(disk)
    log.drop_segments_before(6)
    disk.refuses = True
    found.checkpoint()
    log.append(batch(), now_ms=NOW_MS)
    log.flush()
    with pytest.raises(OSError, match="Input/output error"):  # which a timed job logs
        log.remove_deleted(NOW_MS)
    disk.refuses = False
    log.remove_deleted(NOW_MS)
    assert deleted_in(disk) == {0, 5}
    assert (log.log_start_offset, log.failure) == (6, None)


class RefusingDisk(CrashDisk):
    """A disk that refuses to rename files of deleted segments while `refuses` is true."""

    refuses = False

    def rename(self, source: str, target: str, /) -> None:
        if self.refuses and target.endswith(".deleted"):
            raise OSError(5, "Input/output error")
        super().rename(source, target)


def deleted_in(disk: CrashDisk) -> set[int]:
    """The base offsets of the segments whose data files have been renamed."""
    names = disk.names_in("data/orders-0")
    return {int(name.partition(".")[0]) for name in names if name.endswith(".log.deleted")}

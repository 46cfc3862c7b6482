"""Many partitions: files are opened when they are needed, and a start does little for each."""

from __future__ import annotations

import gc
import uuid
from pathlib import Path

import pytest

from ottla.storage.disk import open_files
from ottla.storage.disk.files import RealFiles
from ottla.storage.disk.open_files import OpenFiles
from ottla.storage.log import PartitionLog
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch, everything, open_log

TOPIC_ID = uuid.UUID(int=7)


@pytest.fixture
def few() -> OpenFiles:
    """Room for three."""
    return OpenFiles(limit=3)


def a_log(name: str, disk: Disk) -> PartitionLog:
    log = open_log(disk)
    log.append(batch(name.encode()), now_ms=NOW_MS)
    return log


def is_open(log: PartitionLog) -> bool:
    return log.segments[-1]._descriptor >= 0


def test_no_more_files_are_open_than_may_be_and_all_can_be_used(few: OpenFiles) -> None:
    disks = [Disk(open_files=few) for _ in range(20)]
    logs = [a_log(f"log {number}", disk) for number, disk in enumerate(disks)]
    for _ in range(3):
        for log in logs:
            log.append(batch(), now_ms=NOW_MS)
            assert sum(len(disk.opened) for disk in disks) <= 3
        for log in logs:
            everything(log)
            assert sum(len(disk.opened) for disk in disks) <= 3
    assert [log.log_end_offset for log in logs] == [4] * 20
    assert len(everything(logs[7])) == 4
    assert len(few) == 3


class CountingOpens(Disk):
    """Counts how often a data file is opened."""

    opens = 0

    def open(self, path: str, /) -> int:
        self.opens += path.endswith(".log")
        return super().open(path)


def test_files_in_constant_use_stay_open(few: OpenFiles) -> None:
    disk = CountingOpens(open_files=few)
    busy = a_log("busy", disk)
    others = []
    for _ in range(40):  # each is used once, and held
        others.append(a_log("other", Disk(open_files=few)))
        busy.append(batch(), now_ms=NOW_MS)
    assert disk.opens <= 3, "it is as new as the others at first"


def test_a_file_under_a_flush_is_closed_after_it(few: OpenFiles) -> None:
    disk = Disk(open_files=few)
    log = a_log("flushed", disk)
    flush = log.begin_flush()
    for _ in range(5):
        a_log("other", Disk(open_files=few)).append(batch(), now_ms=NOW_MS)
    flush.run()
    log.end_flush(flush)
    assert log.recovery_point == 1
    assert disk.opened == {}
    log.append(batch(), now_ms=NOW_MS)
    assert len(everything(log)) == 2


def test_closed_and_forgotten_files_make_room(few: OpenFiles) -> None:
    logs = [a_log("log", Disk(open_files=few)) for _ in range(3)]
    logs[0].close(clean=False)
    assert len(few) == 2
    del logs
    gc.collect()
    assert len(few) == 0


def test_when_the_process_has_no_descriptor_left_some_are_closed() -> None:
    plenty = OpenFiles(limit=1_000)
    logs = [a_log("log", Disk(open_files=plenty)) for _ in range(40)]

    class Full(Disk):
        refusals = 1

        def open(self, path: str, /) -> int:
            if path.endswith(".log") and self.refusals:
                self.refusals -= 1
                raise OSError(24, "Too many open files")
            return super().open(path)

    log = a_log("one more", Full(open_files=plenty))
    assert len(everything(log)) == 1
    assert len(plenty) == 40 - open_files._MORE_THAN_ENOUGH + 1
    assert sum(map(is_open, logs)) == len(plenty) - 1


def test_half_of_the_descriptors_are_left_to_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for allowed, limit in ((1_000, 500), (20, 16), (1 << 30, 65_536)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, allowed=allowed: (allowed, allowed))
        assert OpenFiles().limit == limit


def test_the_last_descriptors_are_reserved_for_short_uses() -> None:
    """An index, a checkpoint, a module that is imported late, for want of which requests failed."""

    class Thirty(OpenFiles):
        descriptors = 30

    made = Thirty(limit=1_000)
    logs = [a_log("log", Disk(open_files=made)) for _ in range(2)]
    for taken, is_among_last in ((18, False), (19, True), (26, True)):
        disk = Disk(open_files=made)  # whose first descriptor is 3
        for number in range(taken):
            disk.open(f"other {number}")
        before = len(made)
        logs.append(a_log("log", disk))
        assert len(made) == before + (not is_among_last)


class CountingFiles(RealFiles):
    """Counts what touches the disk."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattribute__(self, name: str):  # type: ignore[no-untyped-def]  # it returns what is asked for
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_"):
            self.calls += 1
        return found


def opened(path: Path, partitions: int) -> tuple[LogDirectory, CountingFiles]:
    files = CountingFiles()
    directory = LogDirectory.open(files, str(path), node_id=1, cluster_id=None, now_ms=NOW_MS)
    config = LogConfig()
    files.calls = 0
    for index in range(partitions):
        directory.open_log("orders", index, topic_id=TOPIC_ID, config=config, now_ms=NOW_MS)
    return directory, files


def test_a_clean_start_and_stop_do_little_for_each_partition(tmp_path: Path) -> None:
    directory, files = opened(tmp_path, 100)
    # One of the calls checks that the data directory still exists, because the log would create a
    # part of a removed one again. It takes a fiftieth of the time.
    assert files.calls <= 100 * 10, "to make one"
    for log in directory.logs():
        log.append(batch(), now_ms=NOW_MS)
    directory.close()
    directory, files = opened(tmp_path, 100)
    assert files.calls <= 100 * 14, "to open one"
    files.calls = 0
    directory.close()
    assert files.calls <= 100 + 20, "to stop when nothing happened"


def test_opened_logs_hold_no_descriptors_and_partitions_few_bytes(tmp_path: Path) -> None:
    import tracemalloc

    directory, _ = opened(tmp_path, 20)
    tracemalloc.start()
    config = LogConfig()
    for index in range(20, 220):
        directory.open_log("orders", index, topic_id=TOPIC_ID, config=config, now_ms=NOW_MS)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / 200 < 6_000
    assert not any(is_open(log) for log in directory.logs())
    directory.close()


class Used:
    """A file that is always in use, and counts how often it was asked."""

    asked = 0

    @property
    def was_used(self) -> bool:
        type(self).asked += 1
        return True

    @was_used.setter
    def was_used(self, used: bool) -> None:
        pass

    def close_for_now(self) -> None:
        pass


def test_one_more_file_does_not_look_at_all_open_ones() -> None:
    files = OpenFiles(limit=2_000)
    segments = [Used() for _ in range(2_001)]
    for segment in segments[:-1]:
        files.open(segment, lambda _: 1, "")
    assert Used.asked == 0
    files.open(segments[-1], lambda _: 1, "")
    assert 0 < Used.asked < 300
    assert len(files) == 2_000

"""The data directory: its owner, its clean or unclean end, and Kafka's files in it."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

import pytest

from ottla.storage.disk.damage import Damage
from ottla.storage.disk.files import RealFiles
from ottla.storage.disk.meta_properties import WrongDirectory, decode_uuid, encode_uuid
from ottla.storage.inspection.directory_inspection import inspect_directory
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import DirectoryInUse, LogDirectory
from ottla.storage.steps import at_once
from tests.campaign.crash_disk import CrashDisk
from tests.storage.directories import (
    TOPIC_ID,
    directory,
    fill,
    log_in,
    with_rows_in_all_checkpoints,
)
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch, ranges


def test_a_new_directory_is_laid_out_as_kafkas(tmp_path: Path) -> None:
    found = directory(RealFiles(), str(tmp_path / "data"))
    fill(found)
    found.close()
    data = tmp_path / "data"
    assert {path.name for path in data.iterdir()} == {
        ".kafka_cleanshutdown", ".lock", "meta.properties", "orders-0",
        "recovery-point-offset-checkpoint", "replication-offset-checkpoint",
    }  # fmt: skip
    first, second = f"{0:020d}", f"{1:020d}"
    assert {path.name for path in (data / "orders-0").iterdir()} == {
        f"{first}.index", f"{first}.log", f"{first}.timeindex", f"{second}.snapshot",
        "leader-epoch-checkpoint", "partition.metadata",
    }  # fmt: skip
    assert (data / "orders-0/partition.metadata").read_text() == (
        f"version: 0\ntopic_id: {encode_uuid(TOPIC_ID)}"
    )
    epochs = (data / "orders-0/leader-epoch-checkpoint").read_text()
    assert (epochs.rstrip(), len(epochs)) == ("0\n1\n0 0", 7 + 32 + 1)
    for name in ("recovery-point", "replication"):
        checkpoint = (data / f"{name}-offset-checkpoint").read_text()
        assert (checkpoint.rstrip(), len(checkpoint)) == ("0\n1\norders 0 1", 14 + 32 + 1)
    properties = (data / "meta.properties").read_text().splitlines()
    assert {line.partition("=")[0] for line in properties if "=" in line} == {
        "cluster.id", "directory.id", "node.id", "version",
    }  # fmt: skip


def test_ids_are_written_as_kafka_writes_them() -> None:
    text = encode_uuid(TOPIC_ID)
    assert len(text) == 22
    assert decode_uuid(text) == TOPIC_ID
    assert encode_uuid(uuid.UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_the_cluster_is_the_same_after_a_restart_and_no_other_may_come(disk: Disk) -> None:
    first = directory(disk)
    first.close()
    disk = disk.after_kill()
    again = directory(disk, cluster_id=first.cluster_id)
    assert (again.cluster_id, again.clean) == (first.cluster_id, True)
    assert again.directory_id == first.directory_id
    again.close()
    for given in ({"cluster_id": "another"}, {"node_id": 2}):
        with pytest.raises(WrongDirectory):
            directory(disk.after_kill(), **given)


def test_a_directory_belongs_to_one_broker_at_a_time(tmp_path: Path) -> None:
    found = directory(RealFiles(), str(tmp_path))
    with pytest.raises(DirectoryInUse):
        directory(RealFiles(), str(tmp_path))
    found.close()
    directory(RealFiles(), str(tmp_path)).close()


def test_a_stop_is_clean_only_once_and_only_when_it_was(disk: Disk) -> None:
    found = directory(disk)
    assert found.clean
    fill(found)
    found.close()
    disk = disk.after_kill()
    log_in(directory(disk))
    assert not directory(disk.after_kill()).clean, "that one was not closed"


def test_the_clean_mark_stays_until_a_log_is_used() -> None:
    whole = Disk()
    found = directory(whole)
    fill(found)
    found.close()
    for change in (
        log_in,
        lambda found: found.delete_log("orders", 0),
        lambda found: found.rename_stray("orders-0"),
    ):
        disk = whole.after_kill()
        found = directory(disk)
        found.close(clean=False)
        assert ".kafka_cleanshutdown" in disk.names_in("data")
        found = directory(disk.after_kill())
        assert found.clean
        change(found)
        assert ".kafka_cleanshutdown" not in found.files.names_in("data")


def test_the_directory_of_another_node_is_not_touched(tmp_path: Path) -> None:
    directory(RealFiles(), str(tmp_path)).close()
    (tmp_path / ".lock").unlink()
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(WrongDirectory, match="it belongs to node 1, not 2"):
        directory(RealFiles(), str(tmp_path), node_id=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    (tmp_path / "meta.properties").rename(tmp_path / "photos-2024")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(WrongDirectory, match=r"meta.properties is missing, but there are logs"):
        directory(RealFiles(), str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


HEX = "0123456789abcdef0123456789abcdef"
OTHERS = (
    "backup-delete", f"orders.{HEX}-delete", f"orders-x.{HEX}-delete", f"orders-0.{HEX[1:]}-delete",
    f"orders-0.{HEX.upper()}-delete", f"orders-0.{HEX}-delete.old", f"-0.{HEX}-delete",
    f"orders-0.{HEX}-stray", "photos-2024",
)  # fmt: skip


def put(folder: Path) -> Path:
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    return folder


def test_only_directories_of_deleted_partitions_are_removed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    directory(RealFiles(), str(data)).close()
    deleted = put(data / f"orders-0.{HEX}-delete")
    for name in OTHERS:
        put(data / name)
    (data / f"a-0.{HEX}-delete").symlink_to(put(tmp_path / "elsewhere"))
    (data / f"b-0.{HEX}-delete").write_text("precious")
    found = directory(RealFiles(), str(data))
    assert deleted.exists(), "not before the start is sure"
    found.remove_leftovers()
    assert not deleted.exists()
    assert [name for name in OTHERS if not (data / name / "thesis.txt").exists()] == []
    assert (tmp_path / "elsewhere/thesis.txt").read_text() == "precious"
    assert (data / f"b-0.{HEX}-delete").read_text() == "precious"


def test_nothing_is_removed_from_a_directory_that_was_no_brokers(tmp_path: Path) -> None:
    put(tmp_path / f"orders-0.{HEX}-delete")
    directory(RealFiles(), str(tmp_path)).remove_leftovers()
    assert (tmp_path / f"orders-0.{HEX}-delete/thesis.txt").exists()


def test_files_with_the_name_of_a_partition_are_not_renamed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    directory(RealFiles(), str(data)).close()
    put(data / "photos-2024")
    (data / "notes-2024").write_text("precious")
    (data / "link-2024").symlink_to(put(tmp_path / "elsewhere"))
    names = sorted(path.name for path in data.iterdir())
    found = directory(RealFiles(), str(data))
    for name in sorted(found.partition_names()):
        assert found.rename_stray(name) is None
    assert found.partition_names() == set(), "a stop may be clean without them"
    found.close()
    assert sorted(path.name for path in data.iterdir()) == sorted(names)


def moved(partition: Path, target: Path) -> None:
    """Move a partition's directory, and leave a link to it."""
    partition.rename(target)
    partition.symlink_to(target)


def test_a_partition_whose_directory_is_a_link_is_opened(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    found = directory(RealFiles(), str(data))
    fill(found, 0, 3)
    found.close()
    moved(data / "orders-0", elsewhere)
    found = directory(RealFiles(), str(data))
    fill(found)
    log = found.log_of("orders", 0)
    assert log is not None
    assert log.log_end_offset == 4
    found.close()


def test_the_files_of_a_deleted_partition_that_is_a_link_stay(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    found = directory(RealFiles(), str(data))
    fill(found)
    found.close()
    moved(data / "orders-0", elsewhere)
    names = sorted(path.name for path in elsewhere.iterdir() if path.suffix != ".snapshot")
    found = directory(RealFiles(), str(data))
    log_in(found)
    found.delete_log("orders", 0)
    left = sorted(path.name for path in elsewhere.iterdir() if path.suffix != ".snapshot")
    assert left == names
    assert [path.name for path in data.iterdir() if path.name.startswith("orders")] == []
    found.close()


@pytest.mark.parametrize("linked", [0, 1])
def test_two_partitions_never_share_a_directory_by_a_link(tmp_path: Path, linked: int) -> None:
    found = directory(RealFiles(), str(tmp_path))
    for partition in (0, 1):
        fill(found, partition)
    found.close()
    (tmp_path / f"orders-{linked}").rename(tmp_path / "moved")
    (tmp_path / f"orders-{linked}").symlink_to(tmp_path / f"orders-{1 - linked}")
    found = directory(RealFiles(), str(tmp_path))
    with pytest.raises(FileExistsError, match=f"directory of orders-{1 - linked} too, by a link"):
        log_in(found, linked)
    log_in(found, 1 - linked)
    found.delete_log("orders", 1 - linked)
    found.close()


def test_an_unopened_log_stays_unclean_after_the_next_clean_stop(disk: Disk) -> None:
    found = directory(disk)
    for partition in (0, 1):
        fill(found, partition)
    after_crash = directory(disk.after_kill())
    log_in(after_crash, 0)
    disk = after_crash._files  # type: ignore[assignment]  # the test changes its fake disk
    after_crash.close()
    disk = disk.after_kill()
    half_opened = directory(disk)
    assert not half_opened.clean
    for partition in (0, 1):
        log_in(half_opened, partition)
    half_opened.close()
    assert directory(disk.after_kill()).clean


def test_the_start_of_a_log_survives_a_kill_once_it_is_checkpointed(disk: Disk) -> None:
    found = directory(disk)
    fill(found, count=5)
    log = found.log_of("orders", 0)
    assert log is not None
    log.delete_records(3)
    found.checkpoint()
    again = directory(disk.after_kill())
    log_in(again)
    log = again.log_of("orders", 0)
    assert log is not None
    assert ranges(log) == [(3, 3), (4, 4)]


def test_a_deleted_partition_is_gone_also_when_the_process_dies_on_the_way() -> None:
    whole = Disk()
    fill(directory(whole), count=2)
    for cut_at in range(1, 20):
        disk = whole.after_kill()
        found = directory(disk)
        log_in(found)
        disk.fail_at = disk.operations + cut_at
        try:
            found.delete_log("orders", 0)
        except OSError:
            again = directory(disk.after_kill())
            left = again.partition_names()
            assert left == (set() if cut_at > 1 else {"orders-0"})
            if not left:
                log_in(again, topic_id=uuid.UUID(int=9))
                assert [log.log_end_offset for log in again.logs()] == [0]
        else:
            assert found.log_of("orders", 0) is None
            assert not [name for name in disk.names_in("data") if "orders" in name]
            return
    pytest.fail("the deletion never comes to an end")


def test_an_unopened_partition_can_be_deleted_or_set_aside(disk: Disk) -> None:
    found = directory(disk)
    for partition in (0, 1):
        fill(found, partition)
    again = directory(disk.after_kill())
    again.delete_log("orders", 0)
    again.rename_stray("orders-1")
    assert again.partition_names() == set()


def test_the_directory_of_an_older_topic_of_that_name_is_refused(disk: Disk) -> None:
    fill(directory(disk))
    with pytest.raises(WrongDirectory):
        log_in(directory(disk.after_kill()), topic_id=uuid.UUID(int=5))


def test_damaged_checkpoints_are_as_good_as_none(disk: Disk) -> None:
    found = directory(disk)
    fill(found, count=3)
    found.close()
    left = disk.after_kill()
    for name in ("recovery-point-offset-checkpoint", "orders-0/leader-epoch-checkpoint"):
        left.files[f"data/{name}"].data[:] = b"0\n7\nwhat is this\n"
    again = directory(left)
    log_in(again)
    log = again.log_of("orders", 0)
    assert log is not None
    assert ranges(log) == [(0, 0), (1, 1), (2, 2)]


def test_many_partitions_hold_no_descriptors(tmp_path: Path) -> None:
    found = directory(RealFiles(), str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    for partition in range(50):
        log_in(found, partition)
    assert len(os.listdir("/proc/self/fd")) == before
    found.close()


def test_a_topic_made_anew_does_not_go_by_the_checkpoints_of_its_past(disk: Disk) -> None:
    disk.make_directory("data")
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        disk.append(disk.open(f"data/{name}"), b"0\n1\norders 0 7\n")
    directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
    log = directory.open_log(
        "orders", 0, topic_id=uuid.UUID(int=5), config=LogConfig(), now_ms=NOW_MS
    )
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)
    assert log.append(batch(), now_ms=NOW_MS).base_offset == 0


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_data_file_missing_after_a_kill_is_reported_even_if_never_synced(
    is_empty: bool, disk: Disk
) -> None:
    found = directory(disk)
    fill(found, count=3)
    found.checkpoint()
    disk = disk.after_kill()
    path = f"data/orders-0/{0:020d}.log"
    if is_empty:
        del disk.files[path].data[:]
    else:
        del disk.files[path]
    again = directory(disk)
    told: list[Damage] = []
    again.report = told.append
    log_in(again)
    (damage,) = told
    assert (damage.file, damage.first_offset, damage.end_offset) == (path, 0, 3)
    assert "not synced" in damage.why


@pytest.mark.parametrize("power_cut", [False, True])
@pytest.mark.parametrize("away", ["deleted", "deleted and killed", "set aside"])
def test_a_topic_that_is_made_anew_knows_nothing_of_the_one_before(
    away: str, power_cut: bool
) -> None:
    for seed in range(20):
        disk, found = with_rows_in_all_checkpoints(seed)
        if away == "set aside":
            disk = disk.reboot(power_cut=False)
            found = directory(disk)
        for partition in (0, 1):
            if away == "set aside":
                found.rename_stray(f"orders-{partition}")
            else:
                found.delete_log("orders", partition)
        if away == "deleted and killed":
            disk = disk.reboot(power_cut=False)
            found = directory(disk)
        new_id = uuid.UUID(int=5)
        for partition in (0, 1):
            log_in(found, partition, new_id)
            log = found.log_of("orders", partition)
            assert log is not None
            log.append(batch(), now_ms=NOW_MS)
            log.flush()
        again = directory(disk.reboot(power_cut=power_cut))
        told: list[Damage] = []
        again.report = told.append
        for partition in (0, 1):
            log_in(again, partition, new_id)
            log = again.log_of("orders", partition)
            assert log is not None
            assert (log.log_start_offset, ranges(log)) == (0, [(0, 0)]), seed
        assert told == []


def test_a_clean_mark_is_valid_after_a_power_loss() -> None:
    for seed in range(20):
        disk, found = with_rows_in_all_checkpoints(seed)
        log = found.log_of("orders", 0)
        assert log is not None
        at_once(found.set_cleaned_up_to(log, 3))
        found.checkpoint()
        found.close()
        again = directory(disk.reboot(power_cut=True))
        assert again.clean
        told: list[Damage] = []
        again.report = told.append
        log_in(again)
        assert told == []
        log = again.log_of("orders", 0)
        assert log is not None
        assert again.cleaned_up_to(log) == 3


def test_before_a_topic_is_made_it_is_on_disk_that_one_of_its_name_is_gone() -> None:
    for seed in range(20):
        disk, found = with_rows_in_all_checkpoints(seed)
        for partition in (0, 1):
            found.delete_log("orders", partition)
        found.finish_deletions_of("orders")
        again = directory(disk.reboot(power_cut=True))
        assert again.partition_names() == set()
        before = again.files.operations  # type: ignore[attr-defined]  # another type would fail the test
        again.finish_deletions_of("orders")
        assert again.files.operations == before, "no checkpoint knew of it"  # type: ignore[attr-defined]  # another type would fail the test


def calls_to_open(found: LogDirectory, topic: str) -> int:
    """Function calls and steps of generators that opening a new log of a topic takes."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        found.open_log(topic, 0, topic_id=TOPIC_ID, config=LogConfig(), now_ms=NOW_MS)
    finally:
        sys.setprofile(None)
    return count


def test_deleted_topics_do_not_slow_down_the_creation_of_others() -> None:
    _, found = with_rows_in_all_checkpoints()
    calls_to_open(found, "first")
    without = calls_to_open(found, "second")
    for number in range(50):
        found.open_log(f"t{number}", 0, topic_id=TOPIC_ID, config=LogConfig(), now_ms=NOW_MS)
    found.checkpoint()
    for number in range(50):
        found.delete_log(f"t{number}", 0)
    assert calls_to_open(found, "third") <= without + 5


class ReadDisk(Disk):
    """A disk that lists the files and directories that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return super().read(path)

    def names_in(self, path: str) -> list[str]:
        self.reads.append(path)
        return super().names_in(path)


def test_a_new_log_reads_no_file() -> None:
    disk = ReadDisk()
    found = directory(disk)
    disk.reads.clear()
    log_in(found)
    assert disk.reads == []


def test_making_a_topic_anew_writes_the_checkpoints_once() -> None:
    disk, found = with_rows_in_all_checkpoints()
    for partition in (0, 1):
        found.delete_log("orders", partition)
    counts = []
    for partition in (0, 1):
        before = disk.operations
        log_in(found, partition, uuid.UUID(int=5))
        counts.append(disk.operations - before)
    assert counts[0] > 9
    assert counts[1] < 5


def test_deleted_partitions_are_in_no_checkpoint() -> None:
    disk, found = with_rows_in_all_checkpoints()
    found.delete_log("orders", 1)
    found.checkpoint()
    for name in ("recovery-point-offset", "log-start-offset", "replication-offset"):
        rows = disk.read(f"data/{name}-checkpoint").decode().splitlines()[2:]
        assert [row.rstrip().rpartition(" ")[0] for row in rows] == ["orders 0"], name


CLEANED = "data/cleaner-offset-checkpoint"


class WatchedDisk(CrashDisk):
    """A disk that remembers the targets of renames."""

    def __init__(self) -> None:
        super().__init__()
        self.renamed: list[str] = []

    def rename(self, source: str, target: str, /) -> None:
        super().rename(source, target)
        self.renamed.append(target)


def compacted(partitions: int) -> tuple[WatchedDisk, LogDirectory]:
    """Partitions with rows in the cleaner's checkpoint."""
    disk = WatchedDisk()
    found = directory(disk)
    for partition in range(partitions):
        fill(found, partition)
    for log in found.logs():
        at_once(found.set_cleaned_up_to(log, 1))
    return disk, found


def test_many_deletions_write_the_checkpoint_of_the_cleaner_once() -> None:
    disk, found = compacted(30)
    for partition in range(29):
        found.delete_log("orders", partition)
    before = disk.renamed.count(CLEANED)
    found.checkpoint()
    assert disk.renamed.count(CLEANED) == before + 1
    assert disk.read(CLEANED).decode().splitlines()[2:][0].rstrip() == "orders 29 1"


@pytest.mark.parametrize("away", ["deleted", "dropped"])
def test_a_new_topic_does_not_inherit_the_compaction_of_its_namesake_before_a_kill(
    away: str,
) -> None:
    disk, found = compacted(2)
    if away == "deleted":
        found.delete_log("orders", 0)
    else:  # its directory is not renamed yet; the next start sets it aside
        found.drop_logs("orders", [0])
    left = disk.reboot(power_cut=False)
    again = directory(left)
    if away == "dropped":
        again.rename_stray("orders-0")
    fill(again, 0)
    fill(again, 1)
    new, old = again.log_of("orders", 0), again.log_of("orders", 1)
    assert new is not None
    assert old is not None
    assert (again.cleaned_up_to(new), again.cleaned_up_to(old)) == (None, 1)
    assert b"orders 0" not in left.read(CLEANED)


@pytest.mark.parametrize("clean", [True, False])
def test_checkpoints_that_kafka_made_and_had_nothing_to_write_into_are_no_damage(
    tmp_path: Path, clean: bool
) -> None:
    """They are there from its first start on, without a byte."""
    found = directory(RealFiles(), str(tmp_path))
    fill(found)
    found.close(clean=clean)
    for name in ("cleaner-offset-checkpoint", "log-start-offset-checkpoint"):
        (tmp_path / name).touch()
    damages: list[Damage] = []
    again = directory(RealFiles(), str(tmp_path))
    again.report = damages.append
    log_in(again)
    again.close()
    assert damages == []
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(b"")
    assert inspect_directory(str(tmp_path)).damages == []

"""The checkpoints of a data directory while others are written, and while topics are deleted."""

from __future__ import annotations

import uuid
from itertools import islice
from typing import Self

import pytest

from ottla.storage.disk.checkpoint import Checkpoint
from ottla.storage.disk.damage import Damage
from ottla.storage.log_directory import LogDirectory
from ottla.storage.steps import Blocking, Steps, at_once
from tests.campaign.crash_disk import CrashDisk
from tests.storage.directories import directory, fill, log_in, with_rows_in_all_checkpoints
from tests.storage.logs import NOW_MS, batch, end_of, in_transaction


@pytest.mark.parametrize("is_written", [False, True])
def test_a_partition_that_is_deleted_between_two_files_of_a_checkpoint_is_in_none(
    is_written: bool,
) -> None:
    steps = 0
    while True:
        disk, found = with_rows_in_all_checkpoints()
        moved_on(found)
        checkpointing = found.checkpoint_in_steps()
        taken = list(islice(checkpointing, steps))
        before = taken if is_written else taken[:-1]
        for blocking in filter(None, before):
            blocking()
        found.delete_log("orders", 1)
        for blocking in filter(None, taken[len(before) :]):
            blocking()
        at_once(checkpointing)
        found.finish_deletions_of("orders")
        for name in ("recovery-point-offset", "log-start-offset", "replication-offset"):
            assert {row.rpartition(" ")[0] for row in rows_in(disk, name)} == {"orders 0"}, steps
        if len(taken) < steps:
            break
        steps += 1
    assert steps > 5, "the checkpoint has so many steps"


def test_of_two_checkpoints_at_the_same_time_the_later_is_left() -> None:
    for later_first in (False, True):
        disk, found = with_rows_in_all_checkpoints()
        both = []
        for _ in range(2):
            moved_on(found)
            checkpointing = found.checkpoint_in_steps()
            both.append((checkpointing, write_of_starts(checkpointing)))
        if later_first:
            both.reverse()
        for _, write in both:
            write()
        for checkpointing, _ in both:
            at_once(checkpointing)
        assert rows_in(disk, "log-start-offset") == {"orders 0 7", "orders 1 7"}
        moved_on(found)
        found.checkpoint()
        assert rows_in(disk, "log-start-offset") == {"orders 0 8", "orders 1 8"}


@pytest.mark.parametrize("file", range(3))
def test_a_new_topic_inherits_nothing_from_a_checkpoint_under_way(file: int) -> None:
    disk = CrashDisk()
    found = directory(disk)
    fill(found, 0, 6)
    fill(found, 1, 6)
    moved_on(found)
    for log in found.logs():
        log.flush()
    checkpointing = found.checkpoint_in_steps()  # the first that has rows
    writes = filter(None, checkpointing)
    for _ in range(file):
        next(writes)()
    write = next(writes)
    for partition in (0, 1):
        found.delete_log("orders", partition)
    found.finish_deletions_of("orders")
    for partition in (0, 1):
        log_in(found, partition, uuid.UUID(int=5))
    write()
    at_once(checkpointing)
    again = directory(disk.reboot(power_cut=False))
    assert again._recovery_points.known.get(("orders", 0), 0) == 0
    for partition in (0, 1):
        log_in(again, partition, uuid.UUID(int=5))
    assert {log.log_start_offset for log in again.logs()} == {0}


def moved_on(found: LogDirectory) -> None:
    """Each log has one record more, and begins one later."""
    for log in found.logs():
        log.append(batch(), now_ms=NOW_MS)
        log.delete_records(log.log_start_offset + 1)


def write_of_starts(checkpointing: Steps[None]) -> Blocking:
    """Take a checkpoint up to the write of the logs' starts, the second of its files."""
    steps = filter(None, checkpointing)
    next(steps)()
    return next(steps)


def rows_in(disk: CrashDisk, name: str) -> set[str]:
    lines = disk.read(f"data/{name}-checkpoint").decode().splitlines()
    return {row.rstrip() for row in lines[2:]}


def test_an_aborted_transaction_is_known_after_a_loss_of_power_at_a_roll() -> None:
    lost_index = False
    for seed in range(60):
        disk = CrashDisk(seed=seed)
        found = directory(disk)
        found.on_flush_due = lambda log, up_to: None
        log_in(found)
        log = found.log_of("orders", 0)
        assert log is not None
        log.append(in_transaction(7, 0), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
        log.flush()
        found.checkpoint(sync=True)
        log.roll(NOW_MS)
        log.append(batch(), now_ms=NOW_MS)
        if seed % 2:
            found.checkpoint()
        disk = disk.reboot(power_cut=True)
        index = disk.files.get(f"{log.directory}/{0:020d}.txnindex")
        lost_index = lost_index or index is None or not index.data
        again = directory(disk)
        told: list[Damage] = []
        again.report = told.append
        log_in(again)
        read = again.log_of("orders", 0)
        assert read is not None
        assert told == [], (seed, told)
        known = read._aborted.between(0, 2)  # before a read compares it with the data
        assert [one.producer_id for one in known] == [7], seed
    assert lost_index, "the test takes the index away"


class Offset(int):
    """An offset that says when it is put into text."""

    def __new__(cls, value: int, shown: list[int]) -> Self:
        one = super().__new__(cls, value)
        one.shown = shown
        return one

    shown: list[int]

    def __format__(self, spec: str) -> str:
        self.shown.append(int(self))
        return int.__format__(self, spec)


def test_the_text_of_a_checkpoint_is_made_by_the_thread_that_writes_it() -> None:
    disk, _ = with_rows_in_all_checkpoints()
    shown: list[int] = []
    path = "data/replication-offset-checkpoint"
    writing = Checkpoint(disk, path, {}).write_in_steps({("t", 0): Offset(5, shown)}, sync=False)
    write = next(writing)
    assert write is not None
    assert not shown
    write()
    assert shown == [5]
    assert rows_in(disk, "replication-offset") == {"t 0 5"}


def test_other_work_runs_between_the_files_of_a_checkpoint_also_where_none_is_written() -> None:
    _, found = with_rows_in_all_checkpoints()
    at_once(found.checkpoint_in_steps())
    before_each_of_three = [None, None, None]
    assert list(found.checkpoint_in_steps()) == before_each_of_three

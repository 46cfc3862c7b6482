"""Starts after a SIGKILL from the state that the log saved while it took appends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from typing import Any
from uuid import UUID

import pytest

from ottla.protocol.errors import Refused
from ottla.storage.disk.damage import Damage
from ottla.storage.disk.files import Files
from ottla.storage.log import PartitionLog
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.recovery.saved_state import RECORDS, SavedState
from tests.storage.disk import CountingDisk, Disk, PowerCut
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    end_of,
    in_transaction,
    max_timestamp,
    offset_for_timestamp,
    open_log,
    payloads,
    producers,
    ranges,
    sent,
    sent_by,
)

FIRST_FILE = f"{DIRECTORY}/00000000000000000000.log"
SETTINGS: dict[str, Any] = {"index_interval_bytes": 150, "segment_bytes": 2_000}


def saved_often(log: PartitionLog, disk: Files) -> PartitionLog:
    """The log, whose state is saved every two records."""
    offset = log.saved.due_offset - RECORDS
    log.saved = SavedState(disk, log.directory, offset, records=2, entries=2)
    return log


def open_saved(disk: Disk, **settings: Any) -> PartitionLog:
    return saved_often(open_log(disk, **settings), disk)


def save(log: PartitionLog) -> None:
    for _ in log.save_in_steps():
        pass


def killed(disk: Disk, **settings: Any) -> PartitionLog:
    """The log after a kill of its process."""
    return open_log(disk, clean=False, has_all_writes=True, **{**SETTINGS, **settings})


def written(log: PartitionLog, rounds: int) -> list[bytearray]:
    """Append some batches with a save behind each round; return all batches."""
    steps = []
    for number in range(rounds):
        steps += [
            batch(b"a", timestamp_ms=NOW_MS + number), sent_by(7, number),
            in_transaction(2, 2 * number, 2),
            sent_by(8, 3 * number, 3), end_of(2, commit=number % 3 > 0),
        ]  # fmt: skip
        for step in steps[-5:]:
            append(log, step)
        save(log)
    return steps


def append(log: PartitionLog, data: bytearray) -> None:
    if data[22] & 0x20:
        log.append_marker(bytearray(data), now_ms=NOW_MS)
    else:
        log.append(bytearray(data), now_ms=NOW_MS)


@pytest.mark.parametrize("rounds", range(1, 14))
def test_a_log_is_the_same_after_a_kill(rounds: int, disk: Disk) -> None:
    log = open_saved(disk, **SETTINGS)
    steps = written(log, rounds)
    append(log, sent_by(7, rounds))
    again = killed(disk.after_kill())
    assert payloads(again) == sent([*steps, sent_by(7, rounds)])
    assert again.log_end_offset == log.log_end_offset
    assert again.last_stable_offset == log.last_stable_offset
    end = log.log_end_offset
    assert again.aborted_transactions(0, end) == log.aborted_transactions(0, end)
    assert max_timestamp(again) == max_timestamp(log)
    for time_ms in range(NOW_MS, NOW_MS + rounds):
        assert offset_for_timestamp(again, time_ms) == offset_for_timestamp(log, time_ms)
    assert producers(again)[0] == producers(log)[0]
    assert again.recovery_point <= log.recovery_point, "a kill syncs nothing"


def test_only_the_batches_behind_the_saved_state_are_read() -> None:
    disk = CountingDisk()
    log = open_saved(disk)
    for _ in range(500):
        append(log, batch(b"x" * 8_000))
    save(log)
    append(log, batch(b"y"))
    save(log)
    after = CountingDisk()
    after.directories, after.files = disk.directories, disk.after_kill().files
    again = open_log(after, clean=False, has_all_writes=True, index_interval_bytes=4096)
    assert after.bytes_read < log.size_bytes / 4
    assert again.log_end_offset == 501
    assert ranges(again)[-1] == (500, 500)


def test_batches_that_may_be_sent_again_after_a_kill_are_known(disk: Disk) -> None:
    log = open_saved(disk, **SETTINGS)
    for sequence in range(7):
        append(log, sent_by(7, sequence))
    save(log)
    for sequence in range(7, 12):
        append(log, sent_by(7, sequence))
    save(log)
    again = killed(disk.after_kill())
    assert any(name.endswith("07.snapshot") for name in disk.names_in(DIRECTORY))
    for sequence in range(7, 12):
        assert again.append(sent_by(7, sequence), now_ms=NOW_MS).is_duplicate


def test_a_save_replaces_the_snapshot_of_the_last_one(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    written(log, 6)
    snapshots = [name for name in disk.names_in(DIRECTORY) if name.endswith(".snapshot")]
    assert len(snapshots) == 1


def test_snapshots_of_segments_are_kept(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    for number in range(5):
        append(log, sent_by(7, 2 * number))
        append(log, sent_by(7, 2 * number + 1))
        save(log)
        log.roll(NOW_MS)
        save(log)
    names = disk.names_in(DIRECTORY)
    assert {f"{segment.base_offset:020d}.snapshot" for segment in log.segments[1:]} <= set(names)


def test_a_torn_tail_behind_the_saved_state_is_cut_off(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    written(log, 4)
    whole, known = log.size_bytes, ranges(log)
    append(log, batch(b"torn"))
    for end in range(whole, log.size_bytes):
        torn = disk.after_kill()
        del torn.files[FIRST_FILE].data[end:]
        found: list[Damage] = []
        again = killed(torn, segment_bytes=1 << 20, report=found.append)
        assert ranges(again) == known
        assert torn.size(FIRST_FILE) == whole
        assert not found


def test_damage_before_the_saved_state_costs_only_its_batch(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    written(log, 4)
    harmed = disk.after_kill()
    harmed.files[FIRST_FILE].data[69 + 65] ^= 0x55
    found: list[Damage] = []
    again = killed(harmed, segment_bytes=1 << 20, report=found.append)
    assert again.log_end_offset == log.log_end_offset
    with pytest.raises(Refused, match="CORRUPT_MESSAGE"):
        again.read(1, max_bytes=1000, up_to=again.high_watermark, min_one=True)
    assert [damage.first_offset for damage in found] == [1]
    read = again.read(2, max_bytes=1000, up_to=again.high_watermark, min_one=True)
    assert bytes(read.records)


def test_synced_records_behind_the_saved_state_are_not_cut_off(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    written(log, 4)
    start = log.size_bytes
    append(log, batch(b"harmed"))
    append(log, batch(b"good"))
    log.flush()
    harmed = disk.after_kill()
    harmed.files[FIRST_FILE].data[start + 70] ^= 0x55
    point = log.recovery_point
    again = killed(harmed, segment_bytes=1 << 20, recovery_point=point)
    assert again.log_end_offset == log.log_end_offset
    healthy = killed(disk.after_kill(), segment_bytes=1 << 20, recovery_point=point)
    assert healthy.log_end_offset == log.log_end_offset
    assert ranges(healthy) == ranges(log)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.parametrize("how", ["missing", "empty", "half"])
def test_a_lost_file_of_the_saved_state_costs_nothing(suffix: str, how: str, disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    steps = written(log, 4)
    after = disk.after_kill()
    for path in [path for path in after.files if path.endswith(suffix)]:
        if how == "missing":
            del after.files[path]
        else:
            data = after.files[path].data
            del data[0 if how == "empty" else len(data) // 2 :]
    again = killed(after, segment_bytes=1 << 20)
    assert payloads(again) == sent(steps)
    assert producers(again)[0] == producers(log)[0]
    end = log.log_end_offset
    assert again.aborted_transactions(0, end) == log.aborted_transactions(0, end)


def test_a_loss_of_power_makes_the_saved_state_void(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    steps = written(log, 4)
    again = open_log(disk.after_power_cut(), clean=False, has_all_writes=False)
    found = payloads(again)
    assert found == sent(steps)[: len(found)]
    assert not any(name.endswith(".snapshot") for name in disk.after_kill().names_in("data"))


def reopened(disk: Files) -> tuple[LogDirectory, PartitionLog]:
    directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
    config = replace(LogConfig(), **SETTINGS)
    log = directory.open_log("orders", 0, topic_id=UUID(int=1), config=config, now_ms=NOW_MS)
    return directory, saved_often(log, disk)


def batches_at_every_save(disk: Disk, acknowledged: list[bytearray]) -> None:
    """Append batches with saves between them until the disk fails; count those that are in."""
    directory, log = reopened(disk)
    for number in range(9):
        for step in (sent_by(7, number), in_transaction(2, number), batch(b"x" * 40)):
            append(log, step)
            acknowledged.append(step)
        append(log, step := end_of(2, commit=bool(number % 2)))
        acknowledged.append(step)
        if directory.permit_saves():
            save(log)
    directory.close(clean=True)


@pytest.mark.parametrize("power", [False, True])
def test_a_crash_at_any_operation_leaves_a_directory_that_starts(power: bool) -> None:
    for cut_at in count(1):
        disk, acknowledged = Disk(cut_at=cut_at), list[bytearray]()
        with suppress(PowerCut):
            batches_at_every_save(disk, acknowledged)
        left = disk.after_power_cut() if power else disk.after_kill()
        _, again = reopened(left)
        found = payloads(again)
        wanted = sent(acknowledged)
        assert found[: len(wanted)] == wanted[: len(found)], f"torn at operation {cut_at}"
        assert power or len(found) >= len(wanted), f"lost at operation {cut_at}"
        whole = open_log(left.after_kill(), clean=False, **SETTINGS)
        assert producers(again)[0] == producers(whole)[0], f"operation {cut_at}"
        end = again.log_end_offset
        assert again.aborted_transactions(0, end) == whole.aborted_transactions(0, end)
        if disk.operations < cut_at:
            return


def test_logs_are_saved_only_when_all_have_been_read_since_a_loss_of_power(disk: Disk) -> None:
    directory, log = reopened(disk)
    config = log.config
    directory.open_log("bills", 0, topic_id=UUID(int=2), config=config, now_ms=NOW_MS)
    assert directory.permit_saves()
    after = disk.after_power_cut()
    directory, log = reopened(after)
    assert not directory.permit_saves()
    directory.open_log("bills", 0, topic_id=UUID(int=2), config=config, now_ms=NOW_MS)
    assert directory.permit_saves()
    assert ".boot-id" in after.names_in("data")
    directory.close(clean=True)
    assert ".boot-id" not in after.names_in("data"), "Kafka may use the directory next"


def test_a_machine_without_an_id_saves_nothing() -> None:
    class Unknown(Disk):
        def boot_id(self) -> bytes:
            return b""

    directory, _ = reopened(Unknown())
    assert not directory.permit_saves()


def test_a_save_stops_when_the_segment_is_rolled_meanwhile(disk: Disk) -> None:
    log = open_saved(disk, index_interval_bytes=150)
    for number in range(40):
        append(log, sent_by(7, number))
    steps = log.save_in_steps()
    list(islice(steps, 1))
    log.roll(NOW_MS)
    rolled = bytes(disk.read(f"{DIRECTORY}/00000000000000000000.index"))
    assert not list(steps)
    assert disk.read(f"{DIRECTORY}/00000000000000000000.index") == rolled

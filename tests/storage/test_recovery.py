"""Recovery after a failed process, machine or disk keeps all acknowledged records."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ottla.protocol.batch import read_header
from ottla.protocol.errors import Code, Refused
from ottla.storage.disk.damage import Damage
from ottla.storage.log import PartitionLog
from ottla.storage.segments.segment import file_name
from tests.storage.disk import Disk, PowerCut
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

FIRST_FILE = f"{DIRECTORY}/{file_name(0, '.log')}"
LATER_MS = NOW_MS + 1000


def some_history(log: PartitionLog) -> list[bytes]:
    """Append batches of producers and transactions, with duplicates; the sent batches."""
    steps = [
        sent_by(1, 0, 2), in_transaction(2, 0), in_transaction(3, 0, 2), sent_by(1, 2),
        end_of(2, commit=False), in_transaction(4, 0), end_of(3, commit=True), in_transaction(2, 1),
        batch(b"plain"), end_of(4, commit=False, epoch=1, coordinator_epoch=3), sent_by(1, 3, 3),
    ]  # fmt: skip
    for step in steps:
        if step[22] & 0x20:
            log.append_marker(step, now_ms=NOW_MS)
        else:
            log.append(step, now_ms=NOW_MS)
    return sent(steps)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [200, 400, 1 << 20])
def test_everything_is_known_again_after_a_restart(clean: bool, segment_bytes: int) -> None:
    disk = Disk()
    log = open_log(disk, segment_bytes=segment_bytes)
    history = some_history(log)
    log.close(clean=clean)
    again = open_log(disk.after_kill(), clean=clean, segment_bytes=segment_bytes)
    assert payloads(again) == history
    assert (again.log_end_offset, again.last_stable_offset) == (15, 9)
    assert again.aborted_transactions(0, 15) == log.aborted_transactions(0, 15)
    assert len(again.aborted_transactions(0, 15)) == 2
    assert max_timestamp(again) == max_timestamp(log)
    (known, kept), (before, batches) = producers(again), producers(log)
    assert known == before
    # A snapshot keeps the latest batch of each producer only, as Kafka's does.
    assert all(batches[who][-len(kept[who]) :] == kept[who] for who in batches if batches[who])
    assert clean or segment_bytes < 1000 or kept == batches


def test_after_a_kill_the_last_five_batches_of_a_producer_are_known(disk: Disk) -> None:
    log = open_log(disk)
    for sequence in range(7):
        log.append(sent_by(7, sequence), now_ms=NOW_MS)
    again = open_log(disk.after_kill(), clean=False)
    for sequence in range(2, 7):
        assert again.append(sent_by(7, sequence), now_ms=LATER_MS).base_offset == sequence
    with pytest.raises(Refused, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        again.append(sent_by(7, 1), now_ms=LATER_MS)


def test_a_torn_last_batch_is_removed_and_all_earlier_ones_stay(disk: Disk) -> None:
    log = open_log(disk)
    log.append(sent_by(7, 0, 2), now_ms=NOW_MS)
    whole = log.size_bytes
    log.append(sent_by(7, 2, 3), now_ms=NOW_MS)
    for end in range(whole, log.size_bytes):
        killed = disk.after_kill()
        del killed.files[FIRST_FILE].data[end:]
        again = open_log(killed, clean=False)
        assert ranges(again) == [(0, 1)]
        assert killed.size(FIRST_FILE) == whole
        assert again.append(sent_by(7, 2, 3), now_ms=NOW_MS)[:2] == (2, 4)


def test_a_last_batch_harmed_anywhere_is_gone(disk: Disk, log: PartitionLog) -> None:
    log.append(batch(b"a"), now_ms=NOW_MS)
    whole = log.size_bytes
    log.append(batch(b"b"), now_ms=NOW_MS)
    # Neither the CRC nor a check covers the low half of the base offset, and the leader epoch.
    covered = [*range(4), *range(8, 12), *range(16, log.size_bytes - whole)]
    for at in (whole + place for place in covered):
        killed = disk.after_kill()
        killed.files[FIRST_FILE].data[at] ^= 0x81
        assert ranges(open_log(killed, clean=False)) == [(0, 0)], f"byte {at - whole}"


def test_batches_after_damage_are_cut_off_with_their_state(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=200)
    some_history(log)
    killed = disk.after_kill()
    del killed.files[FIRST_FILE].data[-1:]
    again = open_log(killed, clean=False, segment_bytes=200)
    assert ranges(again) == [(0, 1)]
    assert [len(again.segments), again.last_stable_offset] == [1, 2]
    assert again.aborted_transactions(0, 100) == []
    assert again.append(in_transaction(2, 0), now_ms=NOW_MS).base_offset == 2
    kept = {".log", ".index", ".timeindex", ".snapshot"}
    names = [name for name in killed.names_in(DIRECTORY) if name[0] == "0"]
    assert {name[20:] for name in names if int(name[:20]) == 0} <= kept
    assert all(int(name[:20]) <= 2 for name in names)


def a_long_log(disk: Disk) -> tuple[PartitionLog, list[int]]:
    """A log of 200 batches of two leader epochs, and their positions."""
    log, positions = open_log(disk), []
    for number in range(200):
        log.leader_epoch = 3 if number < 100 else 5
        positions.append(log.size_bytes)
        log.append(batch(b"v" * number), now_ms=NOW_MS)
    return log, positions


@pytest.mark.parametrize("place", [7, 65], ids=["base offset", "record"])
@pytest.mark.parametrize("number", [1, 2, 63, 64, 65, 66, 99, 100, 101, 130, 199])
def test_a_batch_harmed_among_many_ends_the_log_or_is_left_out(number: int, place: int) -> None:
    disk = Disk()
    _, positions = a_long_log(disk)
    killed = disk.after_kill()
    killed.files[FIRST_FILE].data[positions[number] + place] ^= 4
    again = open_log(killed.after_kill(), clean=False)
    assert ranges(again) == [(offset, offset) for offset in range(number)]
    told: list[Damage] = []
    again = open_log(killed, clean=False, recovery_point=200, report=told.append)
    (damage,) = told
    assert (damage.position, damage.first_offset) == (positions[number], number)
    for offset in range(200):
        if offset == number:
            with pytest.raises(Refused, match="CORRUPT_MESSAGE"):
                again.read(offset, max_bytes=1, up_to=200, min_one=True)
        else:
            found = again.read(offset, max_bytes=1, up_to=200, min_one=True)
            assert read_header(found.records).base_offset == offset


@pytest.mark.parametrize("number", [1, 63, 64, 65, 99, 100, 101, 199])
def test_a_wrong_leader_epoch_among_many_batches_is_repaired(number: int, disk: Disk) -> None:
    _, positions = a_long_log(disk)
    killed = disk.after_kill()
    killed.files[FIRST_FILE].data[positions[number] + 15] ^= 6  # 3 becomes 5, and 5 becomes 3
    told: list[Damage] = []
    open_log(killed, clean=False, leader_epoch=5, report=told.append)
    assert [one.position for one in told] == [positions[number]]
    assert killed.files[FIRST_FILE].data == disk.files[FIRST_FILE].data


@pytest.mark.parametrize("torn_bytes", [1, 30, 60, 61, 100])
def test_a_torn_tail_behind_many_batches_is_cut_off(torn_bytes: int, disk: Disk) -> None:
    _, positions = a_long_log(disk)
    killed = disk.after_kill()
    del killed.files[FIRST_FILE].data[positions[-1] + torn_bytes :]
    again = open_log(killed, clean=False, leader_epoch=5)
    assert (again.log_end_offset, killed.size(FIRST_FILE)) == (199, positions[-1])


def test_batches_after_a_gap_are_cut_off_too(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=150)
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
    killed = disk.after_kill()
    del killed.files[FIRST_FILE].data[len(batch()) :]
    again = open_log(killed, clean=False, segment_bytes=150)
    assert ranges(again) == [(0, 0)]
    assert again.append(batch(), now_ms=NOW_MS).base_offset == 1


def test_segments_before_the_recovery_point_are_read_only_on_demand(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=150)
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
    killed = disk.after_kill()
    killed.files[FIRST_FILE].data[30] ^= 1
    told: list[Damage] = []
    again = open_log(killed, clean=False, segment_bytes=150, recovery_point=2, report=told.append)
    assert (again.log_start_offset, again.log_end_offset, told) == (0, 4, [])
    for _ in range(2):
        with pytest.raises(
            Refused, match=f"CORRUPT_MESSAGE: {FIRST_FILE}.*position 0\\); offsets 0"
        ):
            again.read(0, max_bytes=1000, up_to=4, min_one=True)
    assert [(one.file, one.position, one.first_offset, one.end_offset) for one in told] == [
        (FIRST_FILE, 0, 0, 1)
    ]
    assert read_header(again.read(1, max_bytes=9, up_to=4, min_one=True).records).base_offset == 1


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
@pytest.mark.parametrize("how", ["missing", "cut", "garbage"])
def test_after_a_kill_no_file_but_the_data_is_needed(suffix: str, how: str, disk: Disk) -> None:
    log = open_log(disk, segment_bytes=300, index_interval_bytes=0)
    history = some_history(log)
    killed = disk.after_kill()
    for path in [path for path in killed.files if path.endswith(suffix)]:
        if how == "missing":
            del killed.files[path]
        elif how == "cut":
            del killed.files[path].data[-3:]
        else:
            killed.files[path].data[:] = b"\x7f\x13" * 20
    again = open_log(killed, clean=False, segment_bytes=300, index_interval_bytes=0)
    assert payloads(again) == history
    assert again.last_stable_offset == 9
    assert again.aborted_transactions(0, 15) == log.aborted_transactions(0, 15)
    assert producers(again)[0] == producers(log)[0]


def test_an_abort_in_a_lost_tail_hides_no_later_records(disk: Disk, log: PartitionLog) -> None:
    """A loss of power may take the end of the data, and leave the index of transactions there."""
    log.append(in_transaction(2, 0), now_ms=NOW_MS)
    log.append_marker(end_of(2, commit=False), now_ms=NOW_MS)
    log.write_state()
    left = disk.after_kill()
    left.files[FIRST_FILE].data.clear()

    again = open_log(left, clean=False)
    again.append(in_transaction(2, 0), now_ms=NOW_MS)
    again.append_marker(end_of(2, commit=True), now_ms=NOW_MS)
    again.close(clean=True)
    damages: list[Damage] = []
    found = open_log(left.after_kill(), report=damages.append)
    assert (found.aborted_transactions(0, 1), damages) == ([], [])


def test_a_transaction_index_lost_by_a_power_cut_is_rebuilt(disk: Disk, log: PartitionLog) -> None:
    log.append(in_transaction(2, 0), now_ms=NOW_MS)
    log.append_marker(end_of(2, commit=False), now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.append(sent_by(1, 0), now_ms=NOW_MS)
    left = disk.after_kill()
    del left.files[f"{DIRECTORY}/{file_name(0, '.txnindex')}"]

    open_log(left, clean=False).close(clean=True)
    damages: list[Damage] = []
    found = open_log(left.after_kill(), report=damages.append)
    assert (found.aborted_transactions(0, 1), damages) == (log.aborted_transactions(0, 1), [])
    assert found.aborted_transactions(0, 1)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_damaged_index_of_an_old_segment_is_rebuilt_when_it_is_needed(suffix: str) -> None:
    disk = Disk()
    log = open_log(disk, segment_bytes=500, index_interval_bytes=0)
    for number in range(20):
        log.append(batch(timestamp_ms=NOW_MS + number), now_ms=NOW_MS)
    log.close(clean=True)
    left = disk.after_kill()
    for path in [path for path in left.files if path.endswith(suffix)]:
        left.files[path].data[:] = b"\x7f\x13" * 20
    again = open_log(left, segment_bytes=500, index_interval_bytes=0)
    assert [offset_for_timestamp(again, NOW_MS + n) for n in range(20)] == [
        (n, NOW_MS + n, 0) for n in range(20)
    ]
    assert ranges(again) == [(n, n) for n in range(20)]


def test_a_log_start_is_kept_and_one_beyond_the_end_begins_anew(disk: Disk) -> None:
    log = open_log(disk)
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
    log.delete_records(2)
    again = open_log(disk.after_kill(), clean=False, log_start_offset=2)
    assert (again.log_start_offset, ranges(again)) == (2, [(2, 2), (3, 3)])
    beyond = open_log(disk.after_kill(), clean=False, log_start_offset=9)
    assert beyond.append(batch(), now_ms=NOW_MS).base_offset == 9
    assert (beyond.log_start_offset, ranges(beyond)) == (9, [(9, 9)])


def test_a_log_that_starts_anew_has_no_transactions_and_no_producers(disk: Disk) -> None:
    """An open transaction would hold back readers of the new log for ever."""
    log = open_log(disk)
    for step in (sent_by(1, 0), in_transaction(2, 0), in_transaction(3, 0)):
        log.append(step, now_ms=NOW_MS)
    log.append_marker(end_of(3, commit=False), now_ms=NOW_MS)
    beyond = open_log(disk.after_kill(), clean=False, log_start_offset=9)
    beyond.append(batch(), now_ms=NOW_MS)
    assert beyond.last_stable_offset == beyond.high_watermark == 10
    assert beyond.aborted_transactions(0, 10) == []
    assert list(beyond.producers.producers()) == []


@pytest.mark.parametrize("unsynced", [0, 1, 2])
def test_a_segment_is_read_again_when_any_of_its_records_was_not_synced(unsynced: int) -> None:
    """Its last record alone may be the one that a loss of power tore."""
    disk = Disk()
    log = open_log(disk, segment_bytes=250)
    while len(log.segments) < 3:
        log.append(batch(), now_ms=NOW_MS)
    begin, end = (segment.base_offset for segment in log.segments[1:])
    assert end - begin > 2
    killed = disk.after_kill()
    harmed = killed.files[f"{DIRECTORY}/{file_name(begin, '.log')}"].data
    harmed[-1] ^= 0xFF  # in the last record
    again = open_log(killed, clean=False, recovery_point=end - unsynced)
    assert again.log_end_offset == (end - 1 if unsynced else log.log_end_offset)


def test_a_producer_silent_for_too_long_is_forgotten_unless_its_transaction_is_open() -> None:
    disk = Disk()
    log = open_log(disk)
    log.append(sent_by(1, 5), now_ms=NOW_MS)
    log.append(in_transaction(2, 5), now_ms=NOW_MS)
    much_later_ms = NOW_MS + log.config.producer_id_expiration_ms
    again = open_log(disk.after_kill(), clean=False, now_ms=much_later_ms)
    assert [entry.producer_id for entry in again.producers.producers()] == [2]
    assert again.last_stable_offset == 1


def test_after_a_clean_stop_the_oldest_open_transaction_is_still_the_oldest(disk: Disk) -> None:
    log = open_log(disk)
    for step in (sent_by(1, 0), in_transaction(2, 0), in_transaction(1, 1)):
        log.append(step, now_ms=NOW_MS)
    log.close(clean=True)
    again = open_log(disk.after_kill())
    assert again.last_stable_offset == 1
    again.append_marker(end_of(2, commit=True), now_ms=NOW_MS)
    assert again.last_stable_offset == 2


def test_batches_between_a_snapshot_and_the_unverified_part_are_applied_once(disk: Disk) -> None:
    log = open_log(disk)
    for step in (sent_by(1, 0), in_transaction(2, 0)):
        log.append(step, now_ms=NOW_MS)
    log.close(clean=True)  # a snapshot at 2, inside the first segment
    log = open_log(disk, segment_bytes=220)
    log.append_marker(end_of(2, commit=True, epoch=1), now_ms=NOW_MS)
    log.append(sent_by(1, 1), now_ms=NOW_MS)
    log.append(sent_by(3, 0), now_ms=NOW_MS)
    second = log.segments[1].base_offset
    assert second == 3
    killed = disk.after_kill()
    del killed.files[f"{DIRECTORY}/{file_name(second, '.snapshot')}"]
    again = open_log(killed, clean=False, recovery_point=second)
    assert producers(again)[0] == producers(log)[0]
    assert again.last_stable_offset == 5
    assert [len(batches) for batches in producers(again)[1].values()] == [2, 0, 1]


BATCHES = [
    sent_by(1, 0), in_transaction(2, 0, 2), sent_by(1, 1, 3), in_transaction(2, 2), sent_by(1, 4),
    sent_by(1, 5, 2),
]  # fmt: skip


def test_acknowledged_batches_survive_a_power_cut_at_any_operation() -> None:
    for cut_at in range(1, 1000):
        disk, acknowledged = Disk(cut_at=cut_at), []
        with suppress(PowerCut):
            log = open_log(disk, flush_messages=1, segment_bytes=200)
            for one in BATCHES:
                log.append(bytes(one), now_ms=NOW_MS)
                acknowledged.append(one)
            log.close(clean=True)
        left = disk.after_power_cut()
        found = payloads(open_log(left, clean=False, segment_bytes=200))
        assert found[: len(acknowledged)] == sent(acknowledged), f"lost at operation {cut_at}"
        assert found == sent(BATCHES[: len(found)]), f"torn at operation {cut_at}"
        if disk.operations < cut_at:
            return  # the power never went: every operation has had its turn
    pytest.fail("the log never comes to an end")


def append_again_if_it_fails(log: PartitionLog, data: bytearray) -> list[Code]:
    """The answer of the producer before the acknowledgement."""
    try:
        log.append(bytes(data), now_ms=NOW_MS)
    except Refused as refused:
        log.append(bytes(data), now_ms=NOW_MS)
        return [refused.code]
    return []


def test_a_disk_that_fails_once_costs_an_error_and_nothing_else() -> None:
    for fail_at in range(3, 1000):  # the first two make the directories
        disk = Disk(fail_at=fail_at)
        log = open_log(disk, segment_bytes=200)
        for one in BATCHES:
            failures = append_again_if_it_fails(log, one)
            assert failures in ([], [Code.KAFKA_STORAGE_ERROR])
        assert payloads(log) == sent(BATCHES), f"after a failure at operation {fail_at}"
        again = open_log(disk.after_kill(), clean=False, segment_bytes=200)
        assert payloads(again) == sent(BATCHES), f"reopened after one at operation {fail_at}"
        assert producers(again)[0] == producers(log)[0]
        if disk.operations < fail_at:
            return
    pytest.fail("the log never comes to an end")


def test_a_file_with_an_unknown_end_accepts_no_append(disk: Disk, log: PartitionLog) -> None:
    log.append(batch(b"a"), now_ms=NOW_MS)

    def fail(*_: object) -> int:
        raise OSError("the disk failed")

    disk.truncate = fail  # type: ignore[method-assign, assignment]  # the test changes its fake disk
    disk.fail_at = disk.operations + 1
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            log.append(batch(b"b"), now_ms=NOW_MS)
        assert refused.value.code == Code.KAFKA_STORAGE_ERROR
    assert ranges(open_log(disk.after_kill(), clean=False)) == [(0, 0)]

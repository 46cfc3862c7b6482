"""A flipped bit, a cut, lost or unreadable file: a log returns its records or names the file.

The directory of one log, with everything in it that a log can have, is harmed at one place at a
time and opened: whatever is then read, looked up or counted is the truth or an error with the name
of the file. OTTLA_EVERY_BIT=1 turns each bit of each byte; otherwise a third is tried.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from random import Random
from typing import Any, NamedTuple

import pytest

from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Refused
from ottla.storage.disk.damage import Damage
from ottla.storage.log import PartitionLog
from ottla.storage.segments.time_search import TimedOffset
from tests.storage.disk import Disk
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    end_of,
    everything,
    in_transaction,
    max_timestamp,
    offset_for_timestamp,
    open_log,
    sent_by,
)

SETTINGS: dict[str, Any] = {"segment_bytes": 700, "index_interval_bytes": 150}
TIMES = range(NOW_MS - 1, NOW_MS + 30)


def steps() -> Iterator[bytearray]:
    """Times that rise, stay and fall; producers; transactions of both ends, one of them open."""
    yield batch(b"a", b"b", timestamp_ms=NOW_MS + 3)
    yield sent_by(1, 0, 2)
    yield in_transaction(2, 0, 2)
    yield in_transaction(3, 0)
    yield batch(b"late" * 9, timestamp_ms=NOW_MS + 9)
    yield end_of(2, commit=False)
    yield in_transaction(2, 2)
    yield end_of(3, commit=True)
    yield batch(*[b"x"] * 7, timestamp_ms=NOW_MS + 9)
    yield end_of(2, commit=False)
    yield in_transaction(3, 1)
    yield batch(b"early", timestamp_ms=NOW_MS + 1)
    yield sent_by(1, 2, 3)
    yield end_of(3, commit=False)
    for number in range(6):
        yield batch(b"y" * number, timestamp_ms=NOW_MS + 10 + 2 * number)
    yield in_transaction(4, 0, 2)
    yield end_of(4, commit=True)
    yield in_transaction(2, 3)
    yield batch(b"last", timestamp_ms=NOW_MS + 25)


EPOCHS = {5: 1, 9: 2, 20: 4}  # before that step another leader comes
LEADER_EPOCH = 5  # which wrote one batch
CHECKPOINT = f"{DIRECTORY}/leader-epoch-checkpoint"


class Truth(NamedTuple):
    """The answers of an undamaged log."""

    disk: Disk
    epochs: list[tuple[int, int]]  # where each epoch ended
    batches: list[tuple[int, int, bytes]]  # first offset, next offset, bytes
    hidden: frozenset[int]  # first offsets of batches that were aborted
    times: dict[int, Any]
    latest: Any
    ends: tuple[int, int, int]


@pytest.fixture(scope="module")
def truth() -> Truth:
    disk = Disk()
    log = open_log(disk, **SETTINGS)
    for number, step in enumerate(steps()):
        log.leader_epoch = EPOCHS.get(number, log.leader_epoch)
        add = log.append_marker if step[22] & 0x20 else log.append
        add(step, now_ms=NOW_MS)
    log.leader_epoch = LEADER_EPOCH
    log.append(batch(timestamp_ms=NOW_MS + 26), now_ms=NOW_MS)
    log.close(clean=True)
    log = open_log(disk.after_kill(), **SETTINGS)
    batches = [(h.base_offset, h.next_offset, data) for h, data in everything(log)]
    assert len(log.segments) >= 3
    return Truth(
        disk,
        ends_of_epochs(log),
        batches,
        hidden(log, 0),
        {time_ms: place_of(log, time_ms) for time_ms in TIMES},
        place(max_timestamp(log)),
        ends(log),
    )


def place(found: TimedOffset | None) -> tuple[int, int] | None:
    return found and (found.offset, found.timestamp_ms)


def ends(log: PartitionLog) -> tuple[int, int, int]:
    return log.log_start_offset, log.log_end_offset, log.last_stable_offset


def ends_of_epochs(log: PartitionLog) -> list[tuple[int, int]]:
    return [log.offset_for_leader_epoch(epoch) for epoch in range(LEADER_EPOCH + 2)]


def hidden(log: PartitionLog, offset: int) -> frozenset[int]:
    """The records that a read_committed consumer drops, as Kafka's does."""
    left_out: set[int] = set()
    stable = log.last_stable_offset
    while offset < stable:
        read = log.read(offset, max_bytes=250, up_to=stable, min_one=True)
        waiting = sorted(
            log.aborted_transactions(offset, read.next_offset - 1), key=lambda one: one.first_offset
        )
        aborted: set[int] = set()
        for _, header in headers_in(read.records):
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborted.add(waiting.pop(0).producer_id)
            if header.is_control:
                aborted.discard(header.producer_id)
            elif header.is_transactional and header.producer_id in aborted:
                left_out.add(header.base_offset)
        assert read.next_offset > offset
        offset = read.next_offset
    return frozenset(left_out)


class Seen:
    """The reports of a damaged log; `ask` accepts an answer, or an error that names a file."""

    def __init__(self) -> None:
        self.told: list[Damage] = []
        self.errors: list[str] = []

    def ask(self, question: Callable[[], Any], expected: Any) -> None:
        try:
            found = question()
        except Refused as refused:
            self.errors.append(str(refused))
        else:
            assert found == expected, (found, expected, self.told)


def check(
    disk: Disk, truth: Truth, *, clean: bool, seen: Seen | None = None, killed: bool = False
) -> Seen:
    """Open the harmed log and ask it everything.

    Args:
        killed: nothing was synced, but the machine has run on.
    """
    seen = seen or Seen()
    log = open_log(
        disk, clean=clean, recovery_point=0 if killed else truth.ends[1],
        leader_epoch=LEADER_EPOCH, has_all_writes=killed, report=seen.told.append, **SETTINGS,
    )  # fmt: skip
    if log.log_end_offset != truth.ends[1]:  # the last file is lost, after an unclean stop
        assert not clean
        assert "synced records at the end of the log are missing" in seen.told[-1].why
        assert seen.told[-1][3:5] == (log.log_end_offset, truth.ends[1])
        return seen
    start = log.log_start_offset
    if start > truth.ends[0]:  # the first files are lost, which is reported
        assert seen.told[0].first_offset == 0
        assert "before this one are missing" in seen.told[0].why
        return seen
    for first, next_offset, data in truth.batches:
        for offset in {first, next_offset - 1}:
            seen.ask(partial(one_batch_at, log, offset), data)
    check_long_reads(log, truth)
    assert seen.told or not seen.errors
    seen.ask(partial(ends_of_epochs, log), truth.epochs)
    stable = log.last_stable_offset
    if not any(one.first_offset <= truth.ends[2] < one.end_offset for one in seen.told):
        # A transaction whose marker is lost is not decided any more.
        assert stable == truth.ends[2] or (seen.told and stable < truth.ends[2])
    for start in (0, 4):
        expected = frozenset(offset for offset in truth.hidden if start <= offset < stable)
        seen.ask(partial(hidden, log, start), expected)
    for time_ms in TIMES:
        seen.ask(partial(place_of, log, time_ms), truth.times[time_ms])
    seen.ask(lambda: place(max_timestamp(log)), truth.latest)
    assert all(error.startswith(f"CORRUPT_MESSAGE: {DIRECTORY}/0") for error in seen.errors)
    return seen


def one_batch_at(log: PartitionLog, offset: int) -> bytes:
    read = log.read(offset, max_bytes=1, up_to=log.log_end_offset, min_one=True)
    return bytes(read.records)


def place_of(log: PartitionLog, time_ms: int) -> tuple[int, int] | None:
    return place(offset_for_timestamp(log, time_ms))


def check_long_reads(log: PartitionLog, truth: Truth) -> None:
    """A reader that begins anywhere gets batches that follow each other, up to the damage."""
    for at, (first, _, _) in enumerate(truth.batches):
        try:
            read = log.read(first, max_bytes=500, up_to=truth.ends[1], min_one=True)
        except Refused:
            continue
        expected = b"".join(data for _, _, data in truth.batches[at:])
        assert read.records
        assert expected.startswith(read.records), first


def harmed_files(truth: Truth) -> list[str]:
    return sorted(path for path in truth.disk.files if path.startswith(DIRECTORY))


EVERY_BIT = bool(os.environ.get("OTTLA_EVERY_BIT"))


def turns(path: str, size: int) -> Iterator[tuple[int, int]]:
    """Places and bits to turn; other ones in each file."""
    if EVERY_BIT:
        yield from product(range(size), [1 << bit for bit in range(8)])
        return
    chosen = Random(path)
    step = 3 if path.endswith(".log") else 2
    for position in range(chosen.randrange(step), size, step):
        yield position, 1 << chosen.randrange(8)


SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", "-checkpoint")


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_turned_bit_anywhere_is_never_given_out(truth: Truth, suffix: str, clean: bool) -> None:
    paths = [path for path in harmed_files(truth) if path.endswith(suffix)]
    assert paths
    for path in paths:
        for position, bit in turns(path, truth.disk.size(path)):
            disk = truth.disk.after_kill()
            disk.files[path].data[position] ^= bit
            try:
                check(disk, truth, clean=clean)
            except AssertionError as wrong:
                raise AssertionError(f"{path}, byte {position}, bit {bit:#x}") from wrong


@pytest.mark.parametrize("is_saved", [True, False])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_turned_bit_is_never_taken_for_a_torn_end_after_a_kill(
    truth: Truth, suffix: str, is_saved: bool
) -> None:
    """The machine runs on: nothing is lost but the batch, not even if no data was synced."""
    for path in [path for path in harmed_files(truth) if path.endswith(suffix)]:
        every = turns(path, truth.disk.size(path))
        for position, bit in every if EVERY_BIT else islice(every, 0, None, 4):
            disk = truth.disk.after_kill()
            if not is_saved:  # so that the whole newest segment is read
                del disk.files[max(name for name in disk.files if name.endswith(".snapshot"))]
            if path not in disk.files:
                continue
            disk.files[path].data[position] ^= bit
            try:
                check(disk, truth, clean=False, killed=True)
            except AssertionError as wrong:
                raise AssertionError(f"{path}, byte {position}, bit {bit:#x}") from wrong


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_cut_or_lost_is_never_missed_silently(
    truth: Truth, suffix: str, clean: bool
) -> None:
    for path in [path for path in harmed_files(truth) if path.endswith(suffix)]:
        size = truth.disk.size(path)
        for end in [-1, *range(0, size, 7)]:
            disk = truth.disk.after_kill()
            if end < 0:
                del disk.files[path]
            else:
                del disk.files[path].data[end:]
            try:
                check(disk, truth, clean=clean)
            except AssertionError as wrong:
                raise AssertionError(f"{path} cut at {end}") from wrong


COPIES = (".index", ".timeindex", ".txnindex", ".snapshot", "-checkpoint")


class Unreadable(Disk):
    """Has a file that cannot be read until another one takes its place."""

    def __init__(self, whole: Disk, path: str, code: int) -> None:
        super().__init__()
        copy = whole.after_kill()
        self.files, self.directories = copy.files, copy.directories
        self.unreadable: str | None = path
        self._code = code

    def read(self, path: str, /) -> bytes:
        if path == self.unreadable:
            raise OSError(self._code, os.strerror(self._code), path)
        return super().read(path)

    def rename(self, source: str, target: str, /) -> None:
        super().rename(source, target)
        if target == self.unreadable:
            self.unreadable = None


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", COPIES)
def test_an_unreadable_index_is_logged_and_loses_nothing(
    truth: Truth, suffix: str, clean: bool, code: int
) -> None:
    paths = [path for path in harmed_files(truth) if path.endswith(suffix)]
    for path in paths:
        disk = Unreadable(truth.disk, path, code)
        seen = check(disk, truth, clean=clean)
        assert not seen.errors
        named = [told for told in seen.told if os.strerror(code) in told.why]
        assert [told.file for told in named] == [told.file for told in seen.told]
        if clean and path not in unused(truth, suffix):
            assert [told.file for told in named] == [path]


def unused(truth: Truth, suffix: str) -> list[str]:
    """Files that are not read after a clean stop: older snapshots."""
    paths = [path for path in harmed_files(truth) if path.endswith(suffix)]
    return paths[:-1] if suffix == ".snapshot" else []


def test_a_lack_of_descriptors_is_not_taken_for_damage(truth: Truth) -> None:
    path = next(path for path in harmed_files(truth) if path.endswith(".index"))
    told: list[Damage] = []
    log = open_log(Unreadable(truth.disk, path, errno.EMFILE), report=told.append, **SETTINGS)
    with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
        log.read(0, max_bytes=10, up_to=2, min_one=True)
    assert told == []


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", COPIES)
def test_garbage_in_an_index_loses_nothing(truth: Truth, suffix: str, clean: bool) -> None:
    chance = Random(suffix)
    paths = [path for path in harmed_files(truth) if path.endswith(suffix)]
    assert paths
    for path in paths:
        size = truth.disk.size(path)
        for length in (1, size, size, size + 3, 4000):
            disk = truth.disk.after_kill()
            disk.files[path].data[:] = chance.randbytes(length)
            assert not check(disk, truth, clean=clean).errors, (path, length)


def test_a_wrong_leader_epoch_is_logged_once_and_corrected_in_the_file(truth: Truth) -> None:
    paths = [path for path in harmed_files(truth) if path.endswith(".log")]
    assert paths
    for path in paths:
        for number, (position, header) in enumerate(headers_in(truth.disk.read(path))):
            for bit in range(32) if EVERY_BIT else range(number % 4, 32, 4):
                disk = truth.disk.after_kill()
                disk.files[path].data[position + 15 - bit // 8] ^= 1 << bit % 8
                seen = check(disk, truth, clean=True)
                (told,) = seen.told
                assert (told.file, told.position) == (path, position)
                assert f"offsets {header.base_offset} to {header.last_offset} was " in told.why
                assert not seen.errors
                assert not check(disk.after_kill(), truth, clean=True).told


def by_kafka(truth: Truth) -> Truth:
    """As if Kafka had written the checkpoint: without a checksum."""
    disk = truth.disk.after_kill()
    disk.files[CHECKPOINT].data[:] = disk.read(CHECKPOINT).rstrip() + b"\n"
    return truth._replace(disk=disk)


@pytest.mark.parametrize("clean", [True, False])
def test_leader_epochs_that_kafka_wrote_are_held_against_the_batches(
    truth: Truth, clean: bool
) -> None:
    truth = by_kafka(truth)
    seen = check(truth.disk.after_kill(), truth, clean=clean)
    assert not seen.told
    for position, bit in product(range(truth.disk.size(CHECKPOINT)), range(8)):
        disk = truth.disk.after_kill()
        disk.files[CHECKPOINT].data[position] ^= 1 << bit
        seen = Seen()
        try:
            check(disk, truth, clean=clean, seen=seen)
        except AssertionError as wrong:  # only where it cannot be known is it enough to tell
            if CHECKPOINT not in {told.file for told in seen.told}:
                raise AssertionError(f"byte {position}, bit {bit}") from wrong

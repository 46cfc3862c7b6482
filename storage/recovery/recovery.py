"""Opens a partition's directory and repairs it after any kind of stop.

After a clean stop only the log's end is read; the rest is verified at its first read. After an
unclean stop each segment from the recovery point on is read, cut behind its last valid batch, and
indexed again; after a SIGKILL only the batches behind the saved state are (`resumption.py`). The
producers' state comes from the latest earlier snapshot and the batches behind it (Kafka's
LogLoader). Damaged synced data stays in the file, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...protocol.batch import BatchHeader
from ...protocol.control import read_marker
from ...protocol.errors import Refused
from ...protocol.lazy_dataclass import dataclass
from ..disk.damage import Damage, Report, ignore_damage, read_copy, wrong_index
from ..disk.directory_names import offset_of
from ..disk.files import Files, write_atomically
from ..log_config import LogConfig
from ..producer_state import aborted as transaction_index
from ..producer_state import producer_snapshot
from ..producer_state.aborted import AbortedTransaction, AbortedTransactions
from ..producer_state.producers import CompletedTransaction, ProducerStates
from ..segments.leader_epochs import LeaderEpochs
from ..segments.segment import DELETED, LOG, SNAPSHOT, TRANSACTION_INDEX, Segment, file_name

if TYPE_CHECKING:
    from .resumption import Resumed

_LEFTOVERS: Final = (DELETED, ".tmp")


@dataclass(slots=True)
class Found:
    """The content of a directory: at least one segment, the last one is active.

    Attributes:
        log_start_offset: the log's start, which may lie before its first segment.
        saved_offset: the last segment's files besides the data are of this offset.
        unsynced: files that were repaired, with their segments; the next flush must sync them.
    """

    segments: list[Segment]
    producers: ProducerStates
    aborted: AbortedTransactions
    epochs: LeaderEpochs
    log_start_offset: int
    saved_offset: int
    unsynced: list[tuple[Segment, str]]


@dataclass(frozen=True, slots=True)
class Stop:
    """How the previous process left the log.

    Attributes:
        clean: everything is as `PartitionLog.close(clean=True)` left it.
        recovery_point: everything before this offset was synced, and is not read again.
        log_start_offset: the log's start, from the checkpoint; the first segment may begin later.
        high_watermark: from the checkpoint; a log that ends earlier has lost unsynced data.
        leader_epoch: the partition's epoch in the metadata; None: unknown.
        is_new: the directory was just created and is empty; nothing is read.
        has_all_writes: the machine has run on since: all that was written is in the files.
        was_compacted: offsets may be missing, whatever the topic's policy is now.
    """

    clean: bool
    recovery_point: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0
    leader_epoch: int | None = None
    is_new: bool = False
    has_all_writes: bool = False
    was_compacted: bool = False


def load(
    files: Files, directory: str, config: LogConfig, stop: Stop, *, now_ms: int, report: Report
) -> Found:
    """Read a partition's directory, and repair it.

    Args:
        report: called with each damage, now or at a later read.

    Raises:
        OSError: the directory cannot be read.
    """
    if stop.is_new:
        return _empty(files, directory, stop)
    source = _Source(files, directory, _without_leftovers(files, directory), config, report)
    epochs, stored = _read_epochs(source, stop)
    opened = _open_segments(source, stored, epochs)
    segments = opened.segments
    corrected = stored
    if not epochs.is_checked:
        corrected = _correct_epochs(epochs, segments, opened.first_unsynced, stored, report)
    unsynced: list[tuple[Segment, str]] = []
    producers, aborted = _read_states(source, opened, corrected, epochs, unsynced)
    producers.expire(now_ms, config.producer_id_expiration_ms)
    begins = _corrected_start(segments, corrected, is_certain=corrected is stored)
    epochs.truncate_start(max(begins, segments[0].base_offset))
    if segments[-1].next_offset < begins:
        _replace_by_empty_segment(files, directory, segments, begins)
        producers, aborted = ProducerStates(), AbortedTransactions()  # no open transaction is left
        epochs.truncate_start(begins)
        epochs.write()
    saved_offset = max(opened.saved_offset, segments[-1].base_offset)
    _remove_stray_snapshots(files, directory, source.names, segments, saved_offset)
    epochs.truncate_end(segments[-1].next_offset)
    if epochs.damage:
        epochs.write()
    return Found(segments, producers, aborted, epochs, begins, saved_offset, unsynced)


def _empty(files: Files, directory: str, stop: Stop) -> Found:
    """The content of a directory that was just created: four fifths faster than reading it."""
    epochs = LeaderEpochs(files, directory, is_new=True)
    epochs.newest = stop.leader_epoch
    segments = [Segment(files, directory, stop.log_start_offset)]
    begins = stop.log_start_offset
    return Found(segments, ProducerStates(), AbortedTransactions(), epochs, begins, begins, [])


# The stages of `load`, in their order.


@dataclass(frozen=True, slots=True)
class _Source:
    """The directory that is read.

    Attributes:
        names: of its files, without leftovers.
        report: called with each damage.
    """

    files: Files
    directory: str
    names: list[str]
    config: LogConfig
    report: Report


@dataclass(frozen=True, slots=True)
class _Opened:
    """The segments, with their sizes known.

    Attributes:
        first_unsynced: the index of the first segment to read again; their number if there is none.
        unsynced_from: the offset from which batches may not have been synced.
        saved_offset: the last segment's files besides the data are of this offset; -1: unknown.
        resumed: the last one, if it is loaded up to a saved state only.
    """

    segments: list[Segment]
    first_unsynced: int
    unsynced_from: int
    saved_offset: int = -1
    resumed: Resumed | None = None


def _read_epochs(source: _Source, stop: Stop) -> tuple[LeaderEpochs, Stop]:
    """The leader epochs as stored, and the stop with the log's start that they prove."""
    epochs = LeaderEpochs(source.files, source.directory)
    if epochs.is_unreadable or (epochs.damage and stop.clean):  # a loss of power leaves a part
        why = f"{epochs.damage}; the epochs are rebuilt from the data"
        source.report(Damage(epochs.path, 0, 0, 0, 0, why))
    if not epochs.is_checked:
        return epochs, stop
    # Deleted stays deleted, even if its checkpoint is lost.
    begins = max(stop.log_start_offset, epochs.entries[0][1])
    return epochs, replace(stop, log_start_offset=begins)


def _open_segments(source: _Source, stop: Stop, epochs: LeaderEpochs) -> _Opened:
    files, directory, report = source.files, source.directory, source.report
    segments = _segments(files, directory, source.names, stop)
    snapshots = _offsets_of(source.names, SNAPSHOT)
    resumed = None
    if stop.has_all_writes and epochs.is_checked and not stop.clean:
        from .resumption import resume

        resumed = resume(
            segments[-1], snapshots, source.config, recovery_point=stop.recovery_point,
            epochs=epochs, report=report,
        )  # fmt: skip
        segments = _segments(files, directory, source.names, stop)
    _mark_unverified(
        segments, source.config, stop, epochs=epochs if epochs.is_checked else None,
        snapshots=snapshots, report=report, is_resumed=resumed is not None,
    )  # fmt: skip
    if resumed is not None:
        segments[-1] = resumed.segment
    _report_lost_beginning(segments[0], epochs, stop, report)
    if resumed is not None:
        count, offset = len(segments), resumed.offset
        return _Opened(segments, count, offset, saved_offset=offset, resumed=resumed)
    if not stop.clean:
        first_unsynced = _index_of_first_unsynced(segments, stop.recovery_point)
        return _Opened(segments, first_unsynced, segments[first_unsynced].base_offset)
    first_unsynced = len(segments)
    segments[-1].load_active(source.config.index_interval_bytes)
    _roll_after_lost_end(files, directory, segments)
    end_offset = segments[-1].next_offset
    return _Opened(segments, first_unsynced, end_offset, saved_offset=end_offset)


def _read_states(
    source: _Source,
    opened: _Opened,
    stop: Stop,
    epochs: LeaderEpochs,
    unsynced: list[tuple[Segment, str]],
) -> tuple[ProducerStates, AbortedTransactions]:
    """Producers and aborted transactions, from their files and from the segments read again."""
    files, directory, segments = source.files, source.directory, opened.segments
    aborted = AbortedTransactions()
    for segment in segments[: opened.first_unsynced]:
        for entry in _aborted_in(files, segment, source.report):
            if entry.last_offset < opened.unsynced_from:
                aborted.add(entry)
    producers, replay_from = _snapshot(
        files, directory, source.names, opened.unsynced_from, source.report
    )
    replay = _Replay(producers, aborted, replay_from)
    epochs.is_learning, epochs.newest = not stop.clean, stop.leader_epoch
    unsynced += _rebuild(files, segments, opened.first_unsynced, source.config, replay)
    if opened.resumed is not None:
        replay.all_of(segments[-1], opened.resumed.load_rest(source.config))
        if opened.resumed.rest.cut_at is not None:
            unsynced.append((segments[-1], segments[-1].path(LOG)))
    epochs.is_learning = False
    if not stop.clean:
        if opened.resumed is None:
            _roll_after_lost_end(files, directory, segments)
        _report_lost_end(segments[-1], stop, source.report)
    return producers, aborted


def _corrected_start(segments: list[Segment], stop: Stop, *, is_certain: bool) -> int:
    """The log's start; a corrected one behind the end is ignored."""
    if segments[-1].next_offset < stop.log_start_offset and not is_certain:
        return segments[0].base_offset
    return stop.log_start_offset


def _without_leftovers(files: Files, directory: str) -> list[str]:
    from .swaps import finish_swaps

    names = []
    for name in finish_swaps(files, directory, files.names_in(directory)):
        if name.endswith(_LEFTOVERS):
            files.remove(f"{directory}/{name}")
        else:
            names.append(name)
    return names


def _offsets_of(names: list[str], suffix: str) -> list[int]:
    """The offsets in the names of files of one kind, rising."""
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return sorted(offset for stem in stems if (offset := offset_of(stem)) is not None)


def _segments(files: Files, directory: str, names: list[str], stop: Stop) -> list[Segment]:
    bases = _offsets_of(names, LOG)
    if not bases:
        return [Segment(files, directory, stop.log_start_offset)]
    ends = [*bases[1:], bases[-1]]
    segments = [
        Segment.found(files, directory, base, end) for base, end in zip(bases, ends, strict=True)
    ]
    newest = segments[-1]
    newest.has_transaction_index = file_name(newest.base_offset, TRANSACTION_INDEX) in names
    return segments


def _correct_epochs(
    epochs: LeaderEpochs, segments: list[Segment], first_unsynced: int, stop: Stop, report: Report
) -> Stop:
    """Correct epochs that Kafka wrote, or that are damaged or missing.

    Returns:
        the stop with the corrected start of the log; `stop` itself if it was right.
    """
    from ..segments.epoch_check import correct_epochs

    corrected = _choose_log_start(epochs, segments, stop, report)
    begins = max(corrected.log_start_offset, segments[0].base_offset)
    correct_epochs(epochs, segments[:first_unsynced], begins, report)
    epochs.replace(epochs.entries)  # so that they are written with a checksum
    if not stop.clean:  # the rest is learned while the data is read
        epochs.truncate_end(segments[first_unsynced].base_offset)
    for segment in segments:
        if segment.unverified is not None:
            segment.unverified.set_leader_epochs(epochs)
    return corrected


def _choose_log_start(
    epochs: LeaderEpochs, segments: list[Segment], stop: Stop, report: Report
) -> Stop:
    """The stop with the right start of the log.

    Two files of Kafka's store the start, without a checksum; that of the epochs is the newer one.
    """
    first, entries = segments[0].base_offset, epochs.entries
    begins = max(stop.log_start_offset, first)
    stored = max(entries[0][1], first) if entries else begins
    end_offset = segments[-1].next_offset if stop.clean else None
    if stored == begins and (end_offset is None or begins <= end_offset):
        return stop
    is_later = end_offset is not None and stored > end_offset
    chosen = stored
    if is_later or (stop.clean and stop.log_start_offset <= first):
        chosen = first if end_offset is not None and begins > end_offset else begins
        epochs.replace([(epoch, min(start, chosen)) for epoch, start in entries[:1]])
        epochs.replace([*epochs.entries, *entries[1:]])
    why = (
        f"the log begins at {stored} in this file, but at {begins} in log-start-offset-checkpoint;"
        f" {chosen} is used"
    )
    report(Damage(epochs.path, 0, 0, chosen, chosen, why))
    return replace(stop, log_start_offset=chosen)


def _mark_unverified(
    segments: list[Segment],
    config: LogConfig,
    stop: Stop,
    *,
    epochs: LeaderEpochs | None,
    snapshots: list[int],
    report: Report,
    is_resumed: bool = False,
) -> None:
    """Have data from an earlier process verified before it is served."""
    from ..segments.unverified import Unverified

    for segment in segments:
        is_last = segment is segments[-1]
        end_offset = segment.next_offset
        if is_last:  # a clean stop stores the end twice; both must agree
            end_offset = max(stop.recovery_point, segment.base_offset)
            if stop.clean and snapshots and snapshots[-1] < end_offset:
                end_offset = max(snapshots[-1], segment.base_offset)
        segment.unverified = Unverified(
            segment,
            is_last=is_last,
            may_have_gaps=config.compacts or stop.was_compacted,
            end_offset=end_offset,
            report=report,
            torn_from=None if stop.clean or is_resumed else stop.recovery_point,
            epochs=epochs,
            has_all_writes=stop.has_all_writes,
        )


def _report_lost_beginning(
    first: Segment, epochs: LeaderEpochs, stop: Stop, report: Report
) -> None:
    """The epochs are cut together with the log's start, so the log should begin at the first."""
    entries = epochs.entries
    if not entries or entries[0][1] >= first.base_offset:
        return
    if first.base_offset > stop.log_start_offset:
        why = "the segments before this one are missing"
        report(Damage(first.path(LOG), 0, 0, entries[0][1], first.base_offset, why))
    epochs.truncate_start(first.base_offset)
    epochs.write()


def _report_lost_end(last: Segment, stop: Stop, report: Report) -> None:
    """After an unclean stop the checkpoints have a lower bound for the end."""
    end_offset, told_end = last.next_offset, max(stop.recovery_point, stop.high_watermark)
    if end_offset < told_end:
        why = "synced records at the end of the log are missing"
        if end_offset >= stop.recovery_point:
            why = "records at the end of the log are missing; they were not synced"
        path, size_bytes = last.path(LOG), last.size_bytes
        report(Damage(path, size_bytes, size_bytes, end_offset, told_end, why))


def _roll_after_lost_end(files: Files, directory: str, segments: list[Segment]) -> None:
    """Begin another segment if the last one's end is lost, so that no offset is used twice."""
    last = segments[-1]
    unverified = last.unverified
    if unverified is None:
        return
    if unverified.ends_in_damage:
        end_offset = unverified.end_offset = unverified.damages[-1].end_offset
    elif last.next_offset < unverified.end_offset:
        end_offset = unverified.end_offset
        unverified.ends_early(last.next_offset)
    else:
        unverified.end_offset = last.next_offset
        return
    segments.append(Segment(files, directory, end_offset))
    segments[-1].open()


def _index_of_first_unsynced(segments: list[Segment], recovery_point: int) -> int:
    """The index of the first segment that was not fully synced; the last one never is."""
    for at, segment in enumerate(segments[:-1]):
        if segment.next_offset > recovery_point:
            return at
    return len(segments) - 1


def _aborted_in(files: Files, segment: Segment, report: Report) -> list[AbortedTransaction]:
    """The transactions in its index; if it is unreadable, they are rebuilt when needed."""
    content = read_copy(files, segment.path(TRANSACTION_INDEX), report, segment.base_offset)
    return transaction_index.decode(content) if content else []


def _snapshot(
    files: Files, directory: str, names: list[str], up_to: int, report: Report
) -> tuple[ProducerStates, int]:
    """The latest readable snapshot at or before `up_to`, and its offset."""
    for offset in reversed(_offsets_of(names, SNAPSHOT)):
        if offset <= up_to:
            path = f"{directory}/{file_name(offset, SNAPSHOT)}"
            content = read_copy(files, path, report, offset)
            entries = None if content is None else producer_snapshot.decode(content)
            if entries is not None:
                return ProducerStates(entries), offset
    return ProducerStates(), 0


def _rebuild(
    files: Files,
    segments: list[Segment],
    first_unsynced: int,
    config: LogConfig,
    replay: _Replay,
) -> list[tuple[Segment, str]]:
    """Apply the batches behind the snapshot, verify them, cut off what follows damage.

    Returns:
        The files that were repaired, unsynced, with their segments.
    """
    unsynced: list[tuple[Segment, str]] = []
    for at, segment in enumerate(segments):
        if at < first_unsynced:
            if segment.next_offset > replay.from_offset:
                replay.all_of(segment, segment.headers())
            continue
        replay.all_of(segment, segment.rebuild(config.index_interval_bytes))
        unverified = segment.unverified
        if unverified is not None:
            unverified.cut_if_short(segment.next_offset)
        if unverified is not None and not unverified.damages:
            segment.unverified = None  # all of it is verified
        if unverified is not None and unverified.cut_at is not None:
            unverified.report_cut(segment.next_offset, segments[at + 1 :])
            segment.cut(unverified.cut_at)
            unsynced.append((segment, segment.path(LOG)))
            unverified.size_bytes, unverified.end_offset = unverified.cut_at, segment.next_offset
            for later in segments[at + 1 :]:
                later.remove()
            del segments[at + 1 :]
            break
        if at + 1 < len(segments):
            segment.write_indexes()
            if segment.unverified is None and _repair_transaction_index(
                files, segment, replay.aborted
            ):
                unsynced.append((segment, segment.path(TRANSACTION_INDEX)))
            segment.close()
    return unsynced


def _repair_transaction_index(files: Files, segment: Segment, aborted: AbortedTransactions) -> bool:
    """Write the index of a rolled segment, because nothing else writes it later.

    Returns:
        Whether it was wrong.
    """
    found = aborted.ended_in(segment.base_offset, segment.next_offset)
    if found == _aborted_in(files, segment, ignore_damage):
        return False
    write_atomically(files, segment.path(TRANSACTION_INDEX), transaction_index.encode(found))
    return True


def _replace_by_empty_segment(
    files: Files, directory: str, segments: list[Segment], offset: int
) -> None:
    """Replace all segments, because the data ends before the log's start after a loss of power."""
    for segment in segments:
        segment.remove()
    segments[:] = [Segment(files, directory, offset)]
    segments[0].open()


def _remove_stray_snapshots(
    files: Files, directory: str, names: list[str], segments: list[Segment], saved_offset: int
) -> None:
    """Keep the snapshots of segments, and that of a clean stop or of a saved state."""
    bases = {segment.base_offset for segment in segments}
    end_offset = segments[-1].next_offset
    strays = [offset for offset in _offsets_of(names, SNAPSHOT) if offset not in bases]
    for offset in strays:
        is_saved = segments[-1].base_offset < offset <= min(end_offset, saved_offset)
        if offset != strays[-1] or not is_saved:
            with suppress(FileNotFoundError):  # it was deleted with its segment
                files.remove(f"{directory}/{file_name(offset, SNAPSHOT)}")


def rebuild_aborted_transactions(
    files: Files, segments: list[Segment], report: Report
) -> AbortedTransactions:
    """The aborted transactions, rebuilt from the data because an index was wrong."""
    aborted, producers = AbortedTransactions(), ProducerStates()
    for segment in segments:
        for position, header in segment.headers():
            if header.producer_id >= 0:
                _replay_one(segment, position, header, producers, aborted)
        found = aborted.ended_in(segment.base_offset, segment.next_offset)
        unreadable: list[Damage] = []
        if found != _aborted_in(files, segment, unreadable.append) and not unreadable:
            report(wrong_index(segment.path(TRANSACTION_INDEX), segment.base_offset))
    return aborted


class _Replay:
    """Applies batches of the log to the state of producers."""

    def __init__(
        self,
        producers: ProducerStates,
        aborted: AbortedTransactions,
        from_offset: int,
    ) -> None:
        self.producers = producers
        self.aborted = aborted
        self.from_offset = from_offset

    def all_of(self, segment: Segment, found: Iterator[tuple[int, BatchHeader]]) -> None:
        """Apply all batches, except those before the snapshot's offset, which contains them."""
        for position, header in found:
            if header.producer_id >= 0 and header.base_offset >= self.from_offset:
                _replay_one(segment, position, header, self.producers, self.aborted)


def _replay_one(
    segment: Segment,
    position: int,
    header: BatchHeader,
    producers: ProducerStates,
    aborted: AbortedTransactions,
) -> None:
    """Apply a producer's batch of the log."""
    if not header.is_control:
        producers.apply(header, header.base_offset)
        return
    try:
        marker = read_marker(segment.batch_at(position, header), 0, header)
    except Refused:
        return  # an empty one: compaction removed its record
    if marker is not None:
        ended = producers.apply_marker(header, marker, header.base_offset)
        if ended is not None and not ended.committed:
            aborted.add(aborted_by(ended, producers))


def aborted_by(ended: CompletedTransaction, producers: ProducerStates) -> AbortedTransaction:
    """The entry for a transaction that was just aborted and is no longer open."""
    unstable = producers.first_unstable_offset
    stable = ended.last_offset + 1 if unstable is None else unstable
    return AbortedTransaction(ended.producer_id, ended.first_offset, ended.last_offset, stable)

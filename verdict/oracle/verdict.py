"""The part of the oracle that needs the whole history: what was written, and who saw it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...audit.rules import ABORTED_READ, DUPLICATE, LOST, PRECOMMITTED, TORN, UNSEEN
from .anomalies import INT_POLL_SKIP, INT_SEND_SKIP, NEVER_SENT, OFFSETS_ALONE, POLL_SKIP
from .cycles import judge_cycles
from .findings import Finding, Findings
from .records import (
    ABORTED_IN_LOG,
    FIRST_PLAIN,
    NO_VALUE,
    UNKNOWN,
    Chunk,
    Gaps,
    PartitionRecords,
    Values,
    repeated,
)
from .transactions import LedgerFate, Transaction


class Acknowledged(NamedTuple):
    """A send that succeeded without an offset."""

    writer: int
    place: str
    line: int


class Replaced(NamedTuple):
    """A value with an offset at which the log has another value."""

    writer: int
    place: str
    offset: int
    other: int


@dataclass(frozen=True, slots=True)
class Known:
    """What the history and the logs say.

    Attributes:
        plain_lines: the line of each send outside a transaction that succeeded.
        acknowledged: by value; only those that no reader has.
        failed: values of sends that failed.
        replaced: values that are nowhere in the log; it has another one at their offset.
        log_line: the line of reads by the log, behind all others.
    """

    partitions: Mapping[str, PartitionRecords]
    transactions: list[Transaction]
    plain_lines: array[int]
    acknowledged: Mapping[int, Acknowledged]
    failed: set[int]
    values: Values
    replaced: Mapping[int, Replaced]
    log_line: int


class Verdict:
    """Judges it."""

    def __init__(self, known: Known, findings: Findings) -> None:
        self._known = known
        self._findings = findings
        self._fates: list[LedgerFate] = []
        self._commits: list[int] = []  # the line at which a commit of each transaction began
        self._proven_by_offsets: set[int] = set()
        self._read_from: set[int] = set()  # transactions of which a reader has a record
        self._torn: set[int] = set()
        self._writes: dict[int, set[int]] = {}
        self._reads: dict[int, set[int]] = {}

    def prove_by_reads(self) -> None:
        """Transactions in doubt are committed if a reader has a record of them."""
        transactions = self._known.transactions
        doubtful = [each.fate == LedgerFate.IN_DOUBT for each in transactions]
        if any(doubtful):
            for partition in self._known.partitions.values():
                for chunk in partition.chunks.values():
                    for writer, read in zip(chunk.writers, chunk.reads, strict=True):
                        if read and writer >= 0 and doubtful[writer]:
                            transaction = transactions[writer]
                            if read >= transaction.commit_began:
                                transaction.committed = min(transaction.committed or read, read)

    def prove(self, transactions: Iterable[int]) -> None:
        """Transactions in doubt are committed if a group has their offsets."""
        self._proven_by_offsets.update(transactions)
        for number in self._proven_by_offsets:
            transaction = self._known.transactions[number]
            transaction.committed = transaction.committed or transaction.commit_began

    def judge(self) -> None:
        """Judge everything."""
        known = self._known
        self._fates = [each.fate for each in known.transactions]
        self._commits = [each.commit_began for each in known.transactions]
        dropped = [fate < LedgerFate.IN_DOUBT for fate in self._fates]
        twice = repeated(known.partitions.values(), dropped)
        self._judge_repeated(twice, dropped)
        required = {
            place: array("q", self._required(partition, twice))
            for place, partition in known.partitions.items()
        }
        for place, partition in known.partitions.items():
            self._judge_gaps(partition, required[place])
            self._judge_end(partition, required[place])
            self._edges_of_reads(partition)
        for code, acknowledged in known.acknowledged.items():
            self._judge_acknowledged(code, acknowledged)
        for code, replaced in known.replaced.items():
            self._judge_replaced(code, replaced)
        judge_cycles(self._writes, self._reads, known.transactions, self._findings)

    def _add(self, anomaly: str, text: str, place: str, offset: int, line: int = 0) -> None:
        self._findings.add(Finding(anomaly, text, place, offset, line))

    def _judge_repeated(self, twice: set[int], dropped: list[bool]) -> None:
        if not twice:
            return
        places: dict[int, list[tuple[str, int]]] = {}
        for partition in self._known.partitions.values():
            for first, chunk in partition.numbered():
                for at, code in enumerate(chunk.values):
                    writer = chunk.writers[at]
                    counts = writer != ABORTED_IN_LOG and (writer < 0 or not dropped[writer])
                    if code in twice and counts:
                        places.setdefault(code, []).append((partition.place, first + at))
        for code, where in places.items():
            shown = ", ".join(f"{place} at {offset}" for place, offset in where[:5])
            self._add(DUPLICATE, f"{self._known.values.shown(code)} is {shown}", *where[-1])

    def _required(self, partition: PartitionRecords, twice: set[int]) -> Iterator[int]:
        """Judge the readers of each record; the offsets that every reader must get."""
        fates, failed = self._fates, self._known.failed
        commits = self._commits
        last = last_read = UNKNOWN
        for first, chunk in partition.numbered():
            cells = zip(chunk.values, chunk.writers, chunk.reads, strict=True)
            for at, (code, writer, read) in enumerate(cells):
                if code == NO_VALUE:
                    continue
                if writer >= 0:
                    fate = fates[writer]
                    if read and (fate != LedgerFate.COMMITTED or read < commits[writer]):
                        self._judge_read(partition.place, first + at, writer, read)
                    if fate == LedgerFate.COMMITTED:
                        if read and writer != last_read:
                            last_read = writer
                            self._read_from.add(writer)
                        if last not in (UNKNOWN, writer):
                            self._writes.setdefault(last, set()).add(writer)
                        last = writer
                        if code not in failed:
                            yield first + at
                elif writer <= FIRST_PLAIN:
                    yield first + at
                elif read and code in failed:
                    text = f"{self._known.values.shown(code)} failed, and is read"
                    self._add(ABORTED_READ, text, partition.place, first + at, read)
                elif writer == UNKNOWN and chunk.seen[at] and code not in twice | failed:
                    text = f"{self._known.values.shown(code)} was never sent"
                    self._add(NEVER_SENT, text, partition.place, first + at, read)

    def _judge_read(self, place: str, offset: int, writer: int, read: int) -> None:
        transaction, fate = self._known.transactions[writer], self._fates[writer]
        name = transaction.name
        if fate == LedgerFate.ABORTED:
            self._add(ABORTED_READ, f"transaction {name} is aborted", place, offset, read)
        elif fate == LedgerFate.OPEN:
            self._add(PRECOMMITTED, f"transaction {name} is open", place, offset, read)
        elif read < transaction.commit_began:
            text = f"transaction {name} commits at line {transaction.commit_began}"
            self._add(PRECOMMITTED, text, place, offset, read)

    def _judge_gaps(self, partition: PartitionRecords, required: array[int]) -> None:
        reported: set[tuple[int, bool]] = set()
        for first, end, line, kind in partition.gaps:
            at = bisect_left(required, first)
            while at < len(required) and required[at] < end:
                offset = required[at]
                at += 1
                is_seen = _is_seen(partition, offset)
                if (offset, is_seen) not in reported or is_seen:
                    reported.add((offset, is_seen))
                    self._judge_passed(partition, offset, line, kind)
        for first, end, line, _ in partition.sent_gaps:
            at = bisect_left(required, first)
            if at < len(required) and required[at] < end:
                text = f"the transaction goes on at {end}"
                self._add(INT_SEND_SKIP, text, partition.place, required[at], line)

    def _judge_passed(self, partition: PartitionRecords, offset: int, line: int, kind: int) -> None:
        """A reader passed over a record."""
        chunk, at = _cell(partition, offset)
        shown = self._known.values.shown(chunk.values[at])
        writer = chunk.writers[at]
        if chunk.values[at] in self._known.replaced:
            return  # it is lost
        if chunk.seen[at] and not (kind & Gaps.COMMITTED and not chunk.reads[at]):
            anomaly = INT_POLL_SKIP if kind & Gaps.INSIDE else POLL_SKIP
            text = f"{shown} is passed over"
            if chunk.reads[at] == self._known.log_line:
                text += "; the log has it, and to all readers of the ledger it is a lost-write"
            self._add(anomaly, text, partition.place, offset, line)
        elif writer >= 0 and self._part_is_read(writer):
            if writer not in self._torn:
                self._torn.add(writer)
                name = self._known.transactions[writer].name
                text = f"{shown} of transaction {name} is missing"
                self._add(TORN, text, partition.place, offset, line)
        elif writer in self._proven_by_offsets:
            name = self._known.transactions[writer].name
            text = f"{shown} of transaction {name} is missing, and a group has its offsets"
            self._add(OFFSETS_ALONE, text, partition.place, offset, line)
        else:
            self._add(LOST, f"{shown} is missing", partition.place, offset, line)

    def _part_is_read(self, writer: int) -> bool:
        return writer in self._read_from

    def _judge_end(self, partition: PartitionRecords, required: array[int]) -> None:
        """Acknowledged records that are behind the end that a reader saw."""
        for offset in partition.open:
            chunk, at = _cell(partition, offset)
            writer = chunk.writers[at]
            if writer >= 0 and self._fates[writer] == LedgerFate.COMMITTED:
                name = self._known.transactions[writer].name
                text = f"transaction {name} is committed, and open in the log"
                self._add(UNSEEN, text, partition.place, offset)
        if partition.has_log or not partition.end_line:
            return
        for at in range(bisect_left(required, partition.end), len(required)):
            offset = required[at]
            if not _is_seen(partition, offset):
                chunk, within = _cell(partition, offset)
                self._judge_unseen(partition, offset, chunk.writers[within])

    def _judge_unseen(self, partition: PartitionRecords, offset: int, writer: int) -> None:
        done = self._line(writer)
        if done < partition.end_line and not self._is_held(partition):
            text = f"it is acknowledged at line {done}, and readers end at {partition.end}"
            self._add(UNSEEN, text, partition.place, offset, partition.end_seen)

    def _line(self, writer: int) -> int:
        """The line at which a write was sure."""
        if writer >= 0:
            return self._known.transactions[writer].committed
        return self._known.plain_lines[FIRST_PLAIN - writer]

    def _is_held(self, partition: PartitionRecords) -> bool:
        """Whether a transaction may have been open when a reader saw the end."""
        return any(
            partition.place in each.places
            and each.began < partition.end_seen
            and (each.ended or 1 << 62) > partition.end_line
            for each in self._known.transactions
        )

    def _judge_acknowledged(self, code: int, acknowledged: Acknowledged) -> None:
        """A value without an offset that no reader and no log has."""
        writer, place, line = acknowledged
        if writer >= 0 and self._fates[writer] != LedgerFate.COMMITTED:
            return
        partition = self._known.partitions[place]
        shown = self._known.values.shown(code)
        if partition.has_log:
            torn = writer >= 0 and self._part_is_read(writer)
            if not torn or writer not in self._torn:
                self._torn.update((writer,) if torn else ())
                self._add(TORN if torn else LOST, f"{shown} is not in the log", place, -1, line)
        elif partition.end_line > self._line(writer) and not self._is_held(partition):
            self._add(UNSEEN, f"{shown} is before no end that readers saw", place, -1, line)

    def _judge_replaced(self, code: int, replaced: Replaced) -> None:
        """A value with an offset at which the log has another one."""
        writer, place, offset, other = replaced
        if writer <= FIRST_PLAIN or (writer >= 0 and self._fates[writer] == LedgerFate.COMMITTED):
            shown = self._known.values.shown
            text = f"{shown(code)} is not in the log, which has {shown(other)} at its offset"
            self._add(LOST, text, place, offset)

    def _edges_of_reads(self, partition: PartitionRecords) -> None:
        fates = self._fates
        for first, last, reader in zip(*partition.read_ranges, strict=True):
            if fates[reader] != LedgerFate.COMMITTED:
                continue
            before = UNKNOWN
            for offset in range(first, last + 1):
                chunk, at = _cell(partition, offset)
                writer = chunk.writers[at]
                if writer >= 0 and writer not in (before, reader) and chunk.seen[at]:
                    before = writer
                    if fates[writer] == LedgerFate.COMMITTED:
                        self._reads.setdefault(writer, set()).add(reader)


def _cell(partition: PartitionRecords, offset: int) -> tuple[Chunk, int]:
    return partition.chunk(offset >> 12), offset & 4095


def _is_seen(partition: PartitionRecords, offset: int) -> bool:
    chunk, at = _cell(partition, offset)
    return bool(chunk.seen[at])

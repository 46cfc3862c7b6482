"""The oracle: judges what an application did, from the ledger of its operations and the logs.

A log is one more reader, with read_committed, that reads everything after the run.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from ...audit.rules import BACKWARDS, INCONSISTENT, Severity
from ...audit.rules import Finding as AuditFinding
from .anomalies import ANOMALIES, INT_BACKWARDS, INT_SEND_BACKWARDS, SEND_BACKWARDS
from .findings import Finding, Findings
from .history import (
    ABORT,
    ASSIGN,
    BEGIN,
    COMMIT,
    FAIL,
    INIT,
    NOWHERE,
    OK,
    POLL,
    READ_COMMITTED,
    SEND,
    BrokenHistory,
    HistoryLine,
    Pairs,
    Value,
)
from .offsets import GroupOffsets
from .records import (
    ABORTED_IN_LOG,
    BITS,
    FIRST_PLAIN,
    IN_DOUBT,
    LIMIT,
    MASK,
    NO_CHUNK,
    NO_VALUE,
    UNKNOWN,
    Gaps,
    PartitionRecords,
    Values,
)
from .transactions import Transactions
from .verdict import Acknowledged, Known, Replaced, Verdict

COMMITTED: Final = "committed"
ABORTED: Final = "aborted"
OPEN: Final = "open"
PLAIN: Final = "plain"


class LogRecord(NamedTuple):
    """A record of a log.

    Attributes:
        fate: committed, aborted, open, or plain outside transactions.
    """

    offset: int
    value: Value
    fate: str


class _Position:
    """Where a process is in a partition: the next offset, and the transaction it was read in."""

    __slots__ = ("number", "offset")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.number = -1


class Oracle:
    """Folds the operations of a history, then the logs.

    Args:
        allowed: anomalies that are notices in this run.

    Attributes:
        compared: how much was seen that could show an anomaly: polls, positions of groups,
            initTransactions, logs.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self.compared = 0
        self.findings = Findings(allowed)
        self.partitions: dict[str, PartitionRecords] = {}
        self._transactions = Transactions(self.findings)
        self._offsets = GroupOffsets(self._transactions, self.findings)
        self._values = Values()
        self._waiting: dict[int, int] = {}  # value to writer: sends without an end or an offset
        self._acknowledged: dict[int, Acknowledged] = {}  # value: sends without an offset
        self._failed: set[int] = set()
        self._replaced: dict[int, Replaced] = {}  # value: the log has another one at its offset
        self._moved: set[int] = set()  # values that the log has at the offset of another one
        self._began: dict[str, int] = {}  # by process: line of its last begin
        self._plain_lines = array("i")
        self._sent: dict[tuple[str, str], _Position] = {}
        self._read: dict[str, dict[str, _Position]] = {}
        self._last_line = 0

    def see(self, operation: HistoryLine) -> None:
        """Pass the next operation.

        Raises:
            BrokenHistory: its records are no pairs of an offset and a value.
        """
        try:
            self._see(operation)
        except (TypeError, ValueError, OverflowError) as wrong:
            text = f"line {operation.number}: expected pairs of an offset and a value: {wrong}"
            raise BrokenHistory(text) from None

    def _see(self, operation: HistoryLine) -> None:
        self._last_line = operation.number
        process, kind = operation.process, operation.op
        if operation.type == BEGIN:
            self._began[process] = operation.number
            began = operation.number
        else:
            began = self._began.pop(process, operation.number)
        if kind == SEND:
            self._send(operation, began)
        elif kind == POLL:
            if operation.type == OK:
                self.compared += bool(operation.records or operation.offsets)
                self._poll(operation, began)
        elif kind == ASSIGN:
            if operation.type == OK:
                self._read[process] = {
                    place: _Position(offset) for place, offset in operation.offsets.items()
                }
                self.compared += bool(operation.group and operation.offsets)
            self._offsets.see(operation, began)
        elif kind == INIT:
            self.compared += operation.type == OK
            self._transactions.init(operation)
        if kind in (COMMIT, ABORT):
            if operation.txn:
                self._transactions.end(operation, began)
            if kind == COMMIT:
                self._offsets.see(operation, began)

    def see_log(self, place: str, start: int, records: Iterable[LogRecord], end: int) -> None:
        """Pass the log of a partition, after the history.

        Args:
            start: the log's first offset; records before it were deleted.
            end: behind its last record.
        """
        self.compared += 1
        partition = self.partition(place)
        line = self._last_line + 1
        expected = start
        for offset, value, fate in records:
            code = self._values.code(value)
            writer = self._found(code)
            before = partition.value_at(offset)
            is_new = before == NO_VALUE
            if not is_new and before != code:
                self._replaced[before] = Replaced(partition.writer_at(offset), place, offset, code)
                self._moved.add(code)
            if fate == ABORTED and writer == UNKNOWN and is_new:
                writer = ABORTED_IN_LOG
            self._note(partition, offset, code, writer, line)
            if fate == ABORTED:
                continue
            if offset > expected:
                partition.gaps.add(expected, offset, 0, Gaps.COMMITTED)
            expected = offset + 1
            if fate == OPEN:
                partition.open.append(offset)
                continue
            chunk = partition.chunk(offset >> BITS)
            chunk.seen[offset & MASK] = 1
            chunk.reads[offset & MASK] = chunk.reads[offset & MASK] or line
        # Nothing is behind the end, so a record there is passed over, too.
        partition.gaps.add(expected, 1 << 62, 0, Gaps.COMMITTED)
        partition.end = end
        partition.has_log = True

    def see_audit(self, place: str, found: Iterable[AuditFinding]) -> None:
        """Pass what the audit's rules find in the log of a partition."""
        for each in found:
            if each.severity == Severity.ERROR and each.anomaly in ANOMALIES:
                text = f"{each.rule}: {each.text}"
                self.findings.add(Finding(each.anomaly, text, place, each.offset))

    def finish(self) -> Findings:
        """Judge what needs the whole history."""
        known = Known(
            self.partitions, self._transactions.all, self._plain_lines, self._acknowledged,
            self._failed, self._values,
            {code: each for code, each in self._replaced.items() if code not in self._moved},
            self._last_line + 1,
        )  # fmt: skip
        verdict = Verdict(known, self.findings)
        verdict.prove_by_reads()
        verdict.prove(self._offsets.finish())
        verdict.judge()
        return self.findings

    def partition(self, place: str) -> PartitionRecords:
        """A partition by its name."""
        found = self.partitions.get(place)
        if found is None:
            found = PartitionRecords(place, len(self.partitions))
            self.partitions[place] = found
        return found

    # Sends

    def _send(self, operation: HistoryLine, began: int) -> None:
        number = self._transactions.number(operation)
        code_of = self._values.code
        if operation.type == BEGIN:
            writer = number if number >= 0 else IN_DOUBT
            for place, pairs in operation.records.items():
                self.partition(place)
                for _, value in pairs:
                    self._waiting[code_of(value)] = writer
        elif operation.type == FAIL:
            for pairs in operation.records.values():
                for _, value in pairs:
                    self._waiting.pop(code_of(value), None)
                    self._failed.add(code_of(value))
        elif operation.type == OK:
            self._transactions.sent(operation, began)
            writer = number
            if number < 0:
                writer = FIRST_PLAIN - len(self._plain_lines)
                self._plain_lines.append(operation.number)
            for place, pairs in operation.records.items():
                self._follow_writer(self.partition(place), pairs, operation, writer)

    def _follow_writer(
        self, partition: PartitionRecords, pairs: Pairs, operation: HistoryLine, writer: int
    ) -> None:
        last = self._sent.setdefault((operation.process, partition.place), _Position(NOWHERE))
        expected = last.offset + 1
        inside = writer >= 0 and last.number == writer
        waiting, line, code_of = self._waiting, operation.number, self._values.code
        number = NO_CHUNK
        for offset, value in pairs:
            code = value if value.__class__ is int and 0 <= value < LIMIT else code_of(value)
            known_writer = waiting.pop(code, None)
            if offset is None or offset < 0:
                if known_writer is not None:
                    self._acknowledged[code] = Acknowledged(writer, partition.place, line)
                continue
            if offset >> BITS != number:
                number = offset >> BITS
                chunk = partition.chunk(number)
                values, writers = chunk.values, chunk.writers
            at = offset & MASK
            if values[at] == NO_VALUE:
                values[at] = code
            if values[at] == code:
                writers[at] = writer
            else:
                self._note(partition, offset, code, writer, line)
            if offset != expected:
                if offset < expected:
                    anomaly = INT_SEND_BACKWARDS if inside else SEND_BACKWARDS
                    text = f"{self._values.shown(code)} is behind offset {expected - 1}"
                    self.findings.add(Finding(anomaly, text, partition.place, offset, line))
                elif inside and writer >= 0:
                    partition.sent_gaps.add(expected, offset, line, Gaps.INSIDE)
            expected = offset + 1
            inside = True
        last.offset = expected - 1
        last.number = writer

    def _note(
        self, partition: PartitionRecords, offset: int, code: int, writer: int, line: int
    ) -> None:
        known = partition.set(offset, code, writer)
        if known not in (NO_VALUE, code):
            shown = self._values.shown
            text = f"it is {shown(known)}, and {shown(code)}"
            self.findings.add(Finding(INCONSISTENT, text, partition.place, offset, line))

    def _found(self, code: int) -> int:
        """The writer of a value that a reader or the log shows first."""
        writer = self._waiting.pop(code, None)
        if writer is None:
            acknowledged = self._acknowledged.pop(code, None)
            writer = UNKNOWN if acknowledged is None else acknowledged.writer
        return writer

    # Polls

    def _poll(self, operation: HistoryLine, began: int) -> None:
        positions = self._read.setdefault(operation.process, {})
        number = self._transactions.number(operation)
        committed = operation.isolation == READ_COMMITTED
        for place, pairs in operation.records.items():
            if not pairs:
                continue
            partition = self.partition(place)
            position = positions.get(place)
            if position is None:
                position = positions[place] = _Position(NOWHERE)
            inside = number >= 0 and position.number == number
            position.offset = self._poll_of(partition, pairs, operation, position.offset, inside)
            position.number = number
            if number >= 0 and committed:
                offsets = [pair[0] for pair in pairs]
                for kept, one in zip(
                    partition.read_ranges, (min(offsets), max(offsets), number), strict=True
                ):
                    kept.append(one)
        kind = Gaps.COMMITTED if committed else 0
        for place, end in operation.offsets.items():
            partition = self.partition(place)
            position = positions.get(place)
            if position is not None and NOWHERE < position.offset < end:
                partition.gaps.add(position.offset, end, operation.number, kind)
                position.offset = end
            partition.end, partition.end_line = end, began
            partition.end_seen = operation.number

    def _poll_of(
        self,
        partition: PartitionRecords,
        pairs: Pairs,
        operation: HistoryLine,
        expected: int,
        inside: bool,
    ) -> int:
        """The records that a poll got from a partition; the offset behind the last one."""
        line = operation.number
        committed = operation.isolation == READ_COMMITTED
        code_of, number = self._values.code, NO_CHUNK
        for offset, value in pairs:
            code = value if value.__class__ is int and 0 <= value < LIMIT else code_of(value)
            if offset >> BITS != number:
                if offset < 0:
                    raise BrokenHistory(f"line {line}: a poll gets a record without an offset")
                number = offset >> BITS
                chunk = partition.chunk(number)
                values, writers, reads, seen = (
                    chunk.values, chunk.writers, chunk.reads, chunk.seen,
                )  # fmt: skip
            at = offset & MASK
            known = values[at]
            if known != code:
                if known == NO_VALUE:
                    values[at] = code
                    writers[at] = self._found(code)
                else:
                    self._note(partition, offset, code, UNKNOWN, line)
            seen[at] = 1
            if committed and not reads[at]:
                reads[at] = line
            if offset != expected and expected != NOWHERE:
                if offset < expected:
                    text = f"process {operation.process} was at {expected}"
                    anomaly = INT_BACKWARDS if inside else BACKWARDS
                    self.findings.add(Finding(anomaly, text, partition.place, offset, line))
                else:
                    kind = Gaps.INSIDE * inside | Gaps.COMMITTED * committed
                    partition.gaps.add(expected, offset, line, kind)
            expected = offset + 1
            inside = True
        return expected


def judge_history(operations: Iterable[HistoryLine], allowed: Collection[str] = ()) -> Findings:
    """Judge a whole history without logs."""
    oracle = Oracle(allowed)
    for operation in operations:
        oracle.see(operation)
    return oracle.finish()

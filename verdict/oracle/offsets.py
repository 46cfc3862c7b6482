"""Committed offsets of groups: those that a group goes on from must be those that it committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .anomalies import LOST_OFFSETS, OFFSETS_ALONE, OUTPUT_ALONE
from .findings import Finding, Findings
from .history import ASSIGN, BEGIN, FAIL, OK, HistoryLine
from .transactions import LedgerFate, Transactions

_NEVER: Final = 1 << 62


class _Commit(NamedTuple):
    began: int
    ended: int
    offset: int
    is_sure: bool
    transaction: int


class _Seen(NamedTuple):
    began: int
    ended: int
    offset: int


class GroupOffsets:
    """The commits of all groups, and the positions that their members got."""

    def __init__(self, transactions: Transactions, findings: Findings) -> None:
        self._transactions = transactions
        self._findings = findings
        self._plain: dict[tuple[str, str], list[_Commit]] = {}
        self._in_transactions: dict[tuple[str, str], dict[int, int]] = {}
        self._open: dict[str, HistoryLine] = {}  # by process: a plain commit that has not ended
        self._seen: dict[tuple[str, str], list[_Seen]] = {}

    def see(self, operation: HistoryLine, began: int) -> None:
        """A commit with offsets, or an assign of a group."""
        if not operation.group or not operation.offsets:
            return
        if operation.op == ASSIGN:
            if operation.type == OK:
                for place, offset in operation.offsets.items():
                    seen = _Seen(began, operation.number, offset)
                    self._seen.setdefault((operation.group, place), []).append(seen)
        elif operation.txn:
            number = self._transactions.number(operation)
            for place, offset in operation.offsets.items():
                key = (operation.group, place)
                self._in_transactions.setdefault(key, {})[number] = offset
        elif operation.type == BEGIN:
            self._end_of(operation.process, sure_at=0)
            self._open[operation.process] = operation
        else:
            self._open.setdefault(operation.process, operation._replace(number=began))
            if operation.type == FAIL:
                del self._open[operation.process]
            else:
                self._end_of(
                    operation.process, sure_at=operation.number if operation.type == OK else 0
                )

    def finish(self) -> set[int]:
        """Judge the positions.

        Returns:
            The transactions in doubt that are committed, because a group has their offsets.
        """
        for process in list(self._open):
            self._end_of(process, sure_at=0)
        proven: set[int] = set()
        for key, seen in self._seen.items():
            commits = sorted([*self._plain.get(key, ()), *self._of_transactions(key)])
            for each in seen:
                proven |= self._judge(key, each, commits, seen[0].offset)
        return proven

    def _end_of(self, process: str, *, sure_at: int) -> None:
        began = self._open.pop(process, None)
        if began is None:
            return
        for place, offset in began.offsets.items():
            commit = _Commit(began.number, sure_at or _NEVER, offset, sure_at > 0, -1)
            self._plain.setdefault((began.group, place), []).append(commit)

    def _of_transactions(self, key: tuple[str, str]) -> Iterator[_Commit]:
        for number, offset in self._in_transactions.get(key, {}).items():
            transaction = self._transactions.all[number]
            if transaction.fate >= LedgerFate.IN_DOUBT:
                is_sure = transaction.fate == LedgerFate.COMMITTED
                ended = transaction.committed if is_sure else _NEVER
                yield _Commit(transaction.commit_began, ended, offset, is_sure, number)

    def _judge(
        self, key: tuple[str, str], seen: _Seen, commits: list[_Commit], first: int
    ) -> set[int]:
        before = [each for each in commits if each.began < seen.ended]
        # A commit that began after this one was done hides all that were done before it began.
        hidden = max(
            (each.began for each in before if each.is_sure and each.ended < seen.began), default=0
        )
        if not hidden and seen.offset == first:
            return set()  # where the group began
        possible = [each for each in before if each.ended >= hidden]
        matching = [each for each in possible if each.offset == seen.offset]
        if matching:
            if all(not each.is_sure and each.transaction >= 0 for each in matching):
                return {matching[0].transaction} if len(matching) == 1 else set()
            return set()
        anomaly, text = self._what_else(key, seen, possible, is_start=not hidden)
        if anomaly:
            group, place = key
            where = f"group {group} goes on from {seen.offset}"
            finding = Finding(anomaly, f"{where}: {text}", place, seen.offset, seen.ended)
            self._findings.add(finding)
        return set()

    def _what_else(
        self, key: tuple[str, str], seen: _Seen, possible: list[_Commit], *, is_start: bool
    ) -> tuple[str, str]:
        """The anomaly and its reason, if no commit explains a position."""
        for number, offset in self._in_transactions.get(key, {}).items():
            transaction = self._transactions.all[number]
            is_of_it = offset == seen.offset >= 0 and transaction.began < seen.ended
            if is_of_it and transaction.fate < LedgerFate.IN_DOUBT:
                return OFFSETS_ALONE, f"transaction {transaction.name} is not committed"
        if is_start:
            return "", ""
        ahead = [each for each in possible if each.is_sure and each.ended < seen.began]
        last = ahead[-1] if ahead else possible[-1]
        if last.transaction >= 0 and seen.offset < last.offset:
            name = self._transactions.all[last.transaction].name
            return OUTPUT_ALONE, f"transaction {name} committed {last.offset}"
        return LOST_OFFSETS, f"the last commit is {last.offset}"

"""Transactions of a history: their fates, and the owners of transactional ids."""

from __future__ import annotations

from enum import IntEnum

from ...audit.rules import ZOMBIE
from .findings import Finding, Findings
from .history import ABORT, COMMIT, FAIL, OK, HistoryLine


class LedgerFate(IntEnum):
    """What the ledger says about a transaction at its end."""

    OPEN = 0  # nothing ended it
    ABORTED = 1
    IN_DOUBT = 2  # a commit began, and its result is not known
    COMMITTED = 3


class Owner:
    """A process that has a transactional id.

    Attributes:
        fenced: the line at which another one had it; 0 before.
    """

    __slots__ = ("fenced", "transactional_id")

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.fenced = 0


class Transaction:
    """One transaction.

    Attributes:
        commit_began: the line of its first commit; 0 without one.
        committed: the line at which a commit succeeded, or at which a reader proved it.
        places: the partitions it writes to.
        began, ended: lines of its first operation, and of the end of a commit or abort that
            succeeded.
    """

    __slots__ = (
        "aborted", "began", "commit_began", "commit_failed", "committed", "ended", "name",
        "owner", "places",
    )  # fmt: skip

    def __init__(self, name: str, began: int, owner: Owner | None) -> None:
        self.name = name
        self.began = began
        self.owner = owner
        self.commit_began = 0
        self.committed = 0
        self.commit_failed = False
        self.aborted = False
        self.ended = 0
        self.places: tuple[str, ...] = ()

    @property
    def fate(self) -> LedgerFate:
        if self.committed:
            return LedgerFate.COMMITTED
        if self.aborted or self.commit_failed:
            return LedgerFate.ABORTED
        return LedgerFate.IN_DOUBT if self.commit_began else LedgerFate.OPEN


class Transactions:
    """All transactions of a history, by numbers from 0."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.all: list[Transaction] = []
        self._numbers: dict[str, int] = {}
        self._owner_of_id: dict[str, Owner] = {}
        self._owner_of_process: dict[str, Owner] = {}

    def number(self, operation: HistoryLine) -> int:
        """The number of an operation's transaction; -1 outside transactions."""
        name = operation.txn
        if not name:
            return -1
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self.all)
            owner = self._owner_of_process.get(operation.process)
            self.all.append(Transaction(name, operation.number, owner))
        return found

    def init(self, operation: HistoryLine) -> None:
        """A producer took its transactional id: earlier owners are fenced."""
        if operation.type != OK:
            return
        name = operation.transactional_id
        before = self._owner_of_id.get(name)
        if before is not None:
            before.fenced = operation.number
        owner = Owner(name)
        self._owner_of_id[name] = self._owner_of_process[operation.process] = owner

    def sent(self, operation: HistoryLine, began: int) -> None:
        """A send succeeded."""
        number = self.number(operation)
        if number < 0:
            self._check_owner(self._owner_of_process.get(operation.process), operation, began)
            return
        transaction = self.all[number]
        for place in operation.records:
            if place not in transaction.places:
                transaction.places += (place,)
        self._check_owner(transaction.owner, operation, began)

    def end(self, operation: HistoryLine, began: int) -> None:
        """A commit or an abort begins or ends."""
        transaction = self.all[self.number(operation)]
        if operation.op == ABORT:
            # Even one that failed is never followed by a commit, unless one began before.
            if operation.type == OK or not transaction.commit_began:
                transaction.aborted = True
        elif operation.type == FAIL:
            transaction.commit_failed = True
        else:
            transaction.commit_began = transaction.commit_began or began
            transaction.commit_failed = False
        if operation.type != OK:
            return
        transaction.ended = operation.number
        if operation.op == COMMIT:
            transaction.committed = operation.number
            self._check_owner(transaction.owner, operation, began)

    def _check_owner(self, owner: Owner | None, operation: HistoryLine, began: int) -> None:
        if owner is None or not owner.fenced or began <= owner.fenced:
            return
        text = (
            f"the {operation.op} of process {operation.process} succeeds, though another one took"
            f" {owner.transactional_id} at line {owner.fenced}"
        )
        place = next(iter(operation.records), "")
        self._findings.add(Finding(ZOMBIE, text, place, line=operation.number))

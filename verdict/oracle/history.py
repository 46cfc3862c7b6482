"""The ledger of a run: a line of JSON for each begin and each end of an operation of a client.

docs/reference/oracle.md describes the fields. Each value is in the run once: a whole number, or a
text. The order of lines is the order of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

BEGIN: Final = "begin"
OK: Final = "ok"
FAIL: Final = "fail"
INFO: Final = "info"
TYPES: Final = frozenset({BEGIN, OK, FAIL, INFO})

INIT: Final = "init"
ASSIGN: Final = "assign"
SEND: Final = "send"
POLL: Final = "poll"
COMMIT: Final = "commit"
ABORT: Final = "abort"
OPERATIONS: Final = frozenset({INIT, ASSIGN, SEND, POLL, COMMIT, ABORT})

READ_COMMITTED: Final = "read_committed"
READ_UNCOMMITTED: Final = "read_uncommitted"
NOWHERE: Final = -1
"""The offset of a record whose offset is not known."""

Value = int | str
Pairs = Sequence[tuple[int, Value]]
Records = Mapping[str, Pairs]
Offsets = Mapping[str, int]


class BrokenHistory(Exception):
    """A line is no operation."""


class HistoryLine(NamedTuple):
    """One line: the begin of an operation, or its end.

    Attributes:
        number: of the line, from 1.
        process: of the client, which does one thing after the other.
        type: begin, ok, fail (it surely did nothing) or info (it may have done it).
        txn: name of the transaction it belongs to; empty outside transactions.
        records: of send and poll: pairs of offset and value, by `topic-partition`.
        offsets: of commit: those of the group; of assign: the positions, -1 if unknown; of poll:
            the ends of the partitions which it has read to.
        group: of a commit with offsets, or of an assign whose positions are its committed offsets.
        isolation: of a poll.
        transactional_id: of an init.
    """

    number: int
    process: str
    type: str
    op: str
    txn: str = ""
    records: Records = {}  # noqa: RUF012  # never changed
    offsets: Offsets = {}  # noqa: RUF012
    group: str = ""
    isolation: str = READ_COMMITTED
    transactional_id: str = ""


def read_history(lines: Iterable[str | bytes]) -> Iterator[HistoryLine]:
    """The operations of a ledger. Empty lines, and a cut last line, are passed over.

    Raises:
        BrokenHistory: a line is no operation, or there is none.
    """
    broken: BrokenHistory | None = None
    is_empty = True
    loads = json.loads
    for number, text in enumerate(lines, 1):
        if broken is not None:
            raise broken
        if not text or text.isspace():
            continue
        try:
            fields = loads(text)
        except (ValueError, RecursionError) as wrong:
            broken = BrokenHistory(f"line {number}: {wrong}")
            if not _is_cut(text):
                raise broken from None
            continue  # the last one, if a process died
        yield operation(number, fields)
        is_empty = False
    if is_empty:
        raise broken or BrokenHistory("the ledger is empty")


def _is_cut(text: str | bytes) -> bool:
    """Whether a line may be the begin of an operation whose rest was not written."""
    line = text.encode() if isinstance(text, str) else text
    return line.startswith(b"{") and not line.endswith(b"\n")


def operation(number: int, fields: Mapping[str, Any]) -> HistoryLine:
    """The operation of a line.

    Raises:
        BrokenHistory: it is none.
    """
    try:
        made = HistoryLine(
            number,
            str(fields["process"]),
            fields["type"],
            fields["op"],
            str(fields.get("txn") or ""),
            fields.get("records") or {},
            fields.get("offsets") or {},
            str(fields.get("group") or ""),
            fields.get("isolation") or READ_COMMITTED,
            str(fields.get("transactional_id") or ""),
        )
        wrong = _wrong(made)
    except (KeyError, TypeError, AttributeError) as missing:
        raise BrokenHistory(f"line {number}: no operation: {missing!r}") from None
    if wrong:
        raise BrokenHistory(f"line {number}: {wrong}")
    return made


def _wrong(made: HistoryLine) -> str:
    if made.op not in OPERATIONS:
        return f"unknown operation {made.op!r}"
    if made.type not in TYPES:
        return f"unknown type {made.type!r}"
    if made.isolation not in (READ_COMMITTED, READ_UNCOMMITTED):
        return f"unknown isolation {made.isolation!r}"
    if made.op == ABORT and not made.txn:
        return "an abort needs a txn"
    if made.op == COMMIT and not made.txn and not made.group:
        return "a commit needs a txn, or a group with offsets"
    for place, offset in made.offsets.items():
        if type(offset) is not int:
            return f"the offset of {place} is no number"
    for place, pairs in made.records.items():
        if type(pairs) is not list:
            return f"the records of {place} are no list"
    return ""

"""The rules between an input and an output: each input is consumed and produced exactly once.

Two folds: `FateFold` finds the fate of each batch, from the end of a partition to its beginning,
because the marker comes later; `KeyFold` compares the copies of one key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .rows import COMMIT, KeyRow, LogBatch
from .rules import Finding, evidence

COMMITTED = "committed"
ABORTED = "aborted"
OPEN = "open"
_EVIDENCE = 8


class FateFold:
    """Batches of one partition, in falling order of offsets."""

    def __init__(self) -> None:
        self._results: dict[int, str] = {}

    def fate(self, batch: LogBatch) -> str:
        """The fate of a data batch; the empty text for a control batch."""
        if batch.control:
            return self.of(batch.producer_id, batch.control_type)
        return self.of(batch.producer_id, "data" if batch.transactional else "plain")

    def of(self, producer_id: int, kind: str) -> str:
        """The same for a record.

        Args:
            kind: plain outside a transaction, data in one; commit or abort for a marker.
        """
        if kind == "plain":
            return COMMITTED
        if kind != "data":
            if kind:
                self._results[producer_id] = kind
            return ""
        result = self._results.get(producer_id)
        return OPEN if result is None else COMMITTED if result == COMMIT else ABORTED


class KeyFold:
    """The copies of one key, in any order; it keeps counts and a few rows.

    Args:
        counts: of copies that are known, by output and fate.
        unconsumed: how many of them are behind the group's offset.
        rows: some of them.
    """

    def __init__(
        self,
        key: str,
        counts: Mapping[tuple[bool, str], int] | None = None,
        unconsumed: int = 0,
        rows: Iterable[KeyRow] = (),
    ) -> None:
        self._key = key
        self._counts: dict[tuple[bool, str], int] = dict(counts or {})
        self._unconsumed = unconsumed
        self._rows = list(rows)

    def row(self, row: KeyRow) -> None:
        """Pass a copy."""
        kind = (row.is_output, row.fate)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if not row.is_output and row.fate == COMMITTED and not row.is_consumed:
            self._unconsumed += 1
        if len(self._rows) < _EVIDENCE:
            self._rows.append(row)

    def end(self) -> Iterator[Finding]:
        """No copy follows."""
        given = self._counts.get((False, COMMITTED), 0)
        produced = self._counts.get((True, COMMITTED), 0)
        if produced > given > 0:
            yield self._finding("key-duplicated", f"{given} in the input, {produced} in the output")
        elif given - self._unconsumed > produced:
            consumed = given - self._unconsumed
            other = self._counts.get((True, ABORTED), 0) + self._counts.get((True, OPEN), 0)
            hint = f"; {other} more are aborted or open" if other else ""
            text = f"{consumed} consumed, {produced} in the output{hint}"
            yield self._finding("key-lost", text)
        elif produced and not given:
            if self._counts.get((False, ABORTED)):
                yield self._finding("key-from-aborted", "its input was aborted")
            elif self._counts.get((False, OPEN)):
                yield self._finding("key-from-open", "its input is open")
            else:
                yield self._finding("key-unexpected", "it is not in the input")

    def _finding(self, rule: str, text: str) -> Finding:
        wanted = [row for row in self._rows if row.is_output == (rule != "key-lost")]
        at = (wanted or self._rows)[-1]
        return Finding(
            rule,
            f"key {self._key}: {text}",
            at.topic,
            at.partition,
            at.offset,
            at.producer_id,
            evidence=evidence(*self._rows),
        )

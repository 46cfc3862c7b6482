"""A trace in lanes: a column for each transactional id, group or client, time going down.

A row is a request with its answer (`EndTxn commit -> ok`), a new state (`= PrepareCommit`), a
marker (`* commit in orders-0`) or a fault (`! drop_answer`). If other rows come between, the answer
has a row of its own (`-> ok (EndTxn)`). A row that touches several lanes has its text in the last
one, and an `o` in the others. Time that passes without a row is shown as a gap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from .events import Event
from .lane_rows import KINDS, TRANSACTION, Lane, Row, rows_of
from .view import start_of

GAP_MS: Final = 1000
NARROWEST: Final = 16
_TIME: Final = 22  # the width of the column of times
_BETWEEN: Final = 2
_TOUCHED: Final = "o"
_UNITS: Final = (("h", 3_600_000), ("min", 60_000))


def lanes(
    events: Iterable[Event], width: int | None = None, *, kinds: Collection[str] = (TRANSACTION,)
) -> Iterator[str]:
    """The lines.

    Args:
        width: of the terminal, to which cells are cut; None: nothing is cut.
        kinds: of the lanes, of KINDS.
    """
    rows = list(rows_of(list(events), kinds))
    found = dict.fromkeys(lane for row in rows for lane in row.lanes)
    columns = sorted(found, key=lambda lane: KINDS.index(lane.kind))
    heads = {each: each.name if len(kinds) == 1 else f"{each.kind} {each.name}" for each in columns}
    column_width = _width([*heads.values(), *(row.text for row in rows)], len(columns), width)
    yield _laid_out("", heads, columns, column_width)
    before_ms: int | None = None
    for row in rows:
        at_ms = row.event.at_ms
        if before_ms is not None and at_ms - before_ms >= GAP_MS:
            gap = f"{'':7}{'. ' + _span(at_ms - before_ms):{_TIME - 7}}"
            yield _laid_out(gap, {}, columns, column_width, empty=".")
        before_ms = at_ms
        yield _laid_out(start_of(row.event), _cells(row), columns, column_width)


def _cells(row: Row) -> dict[Lane, str]:
    return {**dict.fromkeys(row.lanes, _TOUCHED), row.lanes[-1]: row.text}


def _span(span_ms: int) -> str:
    for unit, size_ms in _UNITS:
        if span_ms >= size_ms:
            return f"{span_ms / size_ms:.1f} {unit}"
    return f"{span_ms / 1000:.1f} s"


def _width(texts: Iterable[str], count: int, width: int | None) -> int:
    """The width of a column, with the space behind it."""
    longest = max([NARROWEST, *map(len, texts)]) + _BETWEEN
    if width is None or not count:
        return longest
    return min(longest, max(NARROWEST, (width - _TIME) // count))


def _laid_out(
    time: str, cells: Mapping[Lane, str], columns: Sequence[Lane], width: int, *, empty: str = "|"
) -> str:
    texts = [_cut(cells.get(each, empty), width - _BETWEEN) for each in columns]
    return (f"{time:{_TIME}}" + "".join(f"{each:{width}}" for each in texts)).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

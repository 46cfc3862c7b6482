"""Findings: how far the clock was moved, by which sessions and transactions time out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...trace.events import ClockAdvanced, ClockJumped
from ...trace.phrases import few, span
from .seen import BEFORE, Finding, Seen, times

MOVED: Final = 3
_SHOWN: Final = 3


def moves(seen: Seen) -> Iterator[Finding]:
    """What a test, or a correction, did with the clock, in one sentence for each way."""
    events = [row.event for row in seen.rows if isinstance(row.event, ClockAdvanced | ClockJumped)]
    for what, found in (
        ("moved forward", [each for each in events if isinstance(each, ClockAdvanced)]),
        ("set forward", [each for each in events if _jumps(each) and each.by_ms > 0]),
        ("set back", [each for each in events if _jumps(each) and each.by_ms < 0]),
    ):
        if found:
            whole_ms = abs(sum(each.by_ms for each in found))
            where = ", ".join(f"#{each.seq}" for each in found[:_SHOWN])
            where += ", ..." if len(found) > _SHOWN else ""
            more = f" in all ({where})" if len(found) > 1 else ""
            movers = list(dict.fromkeys(who for each in found if (who := _mover(each))))
            by = f", moved by {few(movers)}" if movers else ""
            yield Finding(
                MOVED, found[0].seq,
                f"The clock was {what}{times(len(found))} by {span(whole_ms)}{more}{by}", BEFORE,
            )  # fmt: skip


def _mover(event: ClockAdvanced | ClockJumped) -> str | None:
    return event.moved_by if isinstance(event, ClockAdvanced) else None


def _jumps(event: ClockAdvanced | ClockJumped) -> bool:
    return isinstance(event, ClockJumped)

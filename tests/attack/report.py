"""Prints the outcomes of attacks, as lines of text and as a table for the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .campaign import Outcome

_HEAD = (
    "attack", "longest stall", "p99", "memory before, peak, after", "log lines", "errors seen", ""
)  # fmt: skip


def as_lines(outcome: Outcome) -> Iterator[str]:
    """A line of figures, and one for each failure."""
    if outcome.skipped:
        yield f"skip {outcome.name:<40} {outcome.skipped}"
        return
    before, peak, after = outcome.memory_mib
    verdict = "FAIL" if outcome.wrong else "ok  "
    yield (
        f"{verdict} {outcome.name:<40} {outcome.seconds:5.1f} s"
        f"  stall {outcome.stall_ms[1]:7.1f} ms (with waits for a CPU"
        f" {outcome.stall_ms[0]:7.1f}, machine {outcome.machine_ms:5.1f})"
        f"  p99 {outcome.p99_ms[1]:6.1f} ms of {outcome.answers}"
        f"  memory {before:.0f} > {peak:.0f} > {after:.0f} MiB  log {outcome.log_lines}"
    )
    if outcome.errors:
        yield f"       errors seen: {dict(outcome.errors)}"
    for note in outcome.notes:
        yield f"       {note}"
    for wrong in outcome.wrong:
        yield f"       WRONG: {wrong.strip()[:1500]}"


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """A table with a row for each attack."""
    rows = [_row(_HEAD), "|---|--:|--:|--:|--:|---|---|"]
    for outcome in outcomes:
        before, peak, after = outcome.memory_mib
        errors = ", ".join(f"{name} x{times}" for name, times in outcome.errors.items())
        verdict = "skipped" if outcome.skipped else "FAILS" if outcome.wrong else "holds"
        cells = (
            outcome.name.replace("_", " "),
            f"{outcome.stall_ms[1]:.0f} ms",
            f"{outcome.p99_ms[1]:.1f} ms",
            f"{before:.0f}, {peak:.0f}, {after:.0f} MiB",
            str(outcome.log_lines),
            errors or "none",
            verdict,
        )
        rows.append(_row(cells))
    return "\n".join(rows) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"

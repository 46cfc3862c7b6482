"""The report on a terminal: tables, and below them each violation with lines of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...console.tables import Table, counted, line, table
from ...verdict.rules.rule import Status
from .findings import Finding, Result, in_all

_SHOWN: Final = 3
"""The violations of a rule that are printed; the other reports have more."""


def print_trace(result: Result) -> None:
    """Print the verdict on a trace."""
    table(_rules([result]))
    _violations([result])
    _sums([result])


def print_scenarios(results: Sequence[Result]) -> None:
    """Print the verdict on a program in its scenarios."""
    rows = [
        [
            each.verdict,
            f"{each.took_s:.1f} s",
            each.name,
            "; ".join(filter(None, [each.sentence, each.trouble, *each.notes])),
        ]
        for each in results
    ]
    table(Table("scenarios", ["status", "time", "scenario", "what happens"], rows))
    line("")
    table(_rules(results))
    _violations(results)
    _sums(results)


def _rules(results: Sequence[Result]) -> Table:
    rows = [[each.status, each.counts, each.rule_id, each.sentence] for each in in_all(results)]
    return Table("rules", ["status", "count", "rule", "sentence"], rows)


def _violations(results: Sequence[Result]) -> None:
    for result in results:
        for finding in result.findings:
            if finding.violated and not finding.allowed:
                line("")
                where = f" in {result.name}" if len(results) > 1 else ""
                line(f"{finding.rule_id}{where}: {finding.sentence}")
                _breaches(finding)
                for text in finding.known:
                    line(f"  known: {text}")


def _breaches(finding: Finding) -> None:
    for breach in finding.breaches[:_SHOWN]:
        client = f" (client {breach.client_id})" if breach.client_id else ""
        line(f"  {breach.text}{client}")
        for each in breach.lines:
            line(f"  {each}")
    left = finding.violated - len(finding.breaches[:_SHOWN])
    if left:
        line(f"  and {left} more")


def summary(results: Sequence[Result]) -> str:
    """The result in one line."""
    rules = in_all(results)
    statuses = [f"{each.status}" for each in rules]
    said = ", ".join(
        f"{statuses.count(status)} {status}" for status in ("obeyed", "violated", "not exercised")
    )
    allowed = statuses.count(Status.ALLOWED)
    said += f", {allowed} violated and allowed" if allowed else ""
    begin = counted(len(rules), "rule", "rules")
    if len(results) == 1:
        return f"{begin}: {said}"
    return f"{begin} in {len(results)} scenarios: {said}"


def _sums(results: Sequence[Result]) -> None:
    line("")
    line(summary(results))
    for each in results:
        for finding in each.findings:
            if finding.allowed:
                where = f" in {each.name}" if len(results) > 1 else ""
                line(f"allowed ({finding.allowed}): {finding.rule_id}{where}, {finding.counts}")
    for each in results:
        if each.trouble:
            line(f"{each.name}: {each.trouble}")
        for text in each.last_lines:
            line(f"  {text}")

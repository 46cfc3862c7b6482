"""The report on a terminal: tables, and below them each violation with lines of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...console.tables import Table, plural, print_line, print_table
from ...verdict.rules.rule import Status
from .findings import Finding, Result, in_all

_SHOWN: Final = 3
"""The violations of a rule that are printed; the other reports have more."""


def print_trace(result: Result) -> None:
    """Print the verdict on a trace."""
    print_table(_rules([result]))
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
    print_table(Table("scenarios", ["status", "time", "scenario", "what happens"], rows))
    print_line("")
    print_table(_rules(results))
    _violations(results)
    _sums(results)


def _rules(results: Sequence[Result]) -> Table:
    rows = [[each.status, each.counts, each.rule_id, each.sentence] for each in in_all(results)]
    return Table("rules", ["status", "count", "rule", "sentence"], rows)


def _violations(results: Sequence[Result]) -> None:
    for result in results:
        for finding in result.findings:
            if finding.violated and not finding.allowed:
                print_line("")
                where = f" in {result.name}" if len(results) > 1 else ""
                print_line(f"{finding.rule_id}{where}: {finding.sentence}")
                _breaches(finding)
                for text in finding.known:
                    print_line(f"  known: {text}")


def _breaches(finding: Finding) -> None:
    for breach in finding.breaches[:_SHOWN]:
        client = f" (client {breach.client_id})" if breach.client_id else ""
        print_line(f"  {breach.text}{client}")
        for each in breach.lines:
            print_line(f"  {each}")
    left = finding.violated - len(finding.breaches[:_SHOWN])
    if left:
        print_line(f"  and {left} more")


def summary(results: Sequence[Result]) -> str:
    """The result in one line."""
    rules = in_all(results)
    statuses = [f"{each.status}" for each in rules]
    said = ", ".join(
        f"{statuses.count(status)} {status}" for status in ("obeyed", "violated", "not exercised")
    )
    allowed = statuses.count(Status.ALLOWED)
    said += f", {allowed} violated and allowed" if allowed else ""
    begin = plural(len(rules), "rule", "rules")
    if len(results) == 1:
        return f"{begin}: {said}"
    return f"{begin} in {len(results)} scenarios: {said}"


def _sums(results: Sequence[Result]) -> None:
    print_line("")
    print_line(summary(results))
    for each in results:
        for finding in each.findings:
            if finding.allowed:
                where = f" in {each.name}" if len(results) > 1 else ""
                print_line(
                    f"allowed ({finding.allowed}): {finding.rule_id}{where}, {finding.counts}"
                )
    for each in results:
        if each.trouble:
            print_line(f"{each.name}: {each.trouble}")
        for text in each.last_lines:
            print_line(f"  {text}")

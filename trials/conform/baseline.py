"""Violations that a pipeline accepts: those of an earlier report, and rules that are allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from .findings import Finding, Result

BY_BASELINE: Final = "in the baseline"
BY_OPTION: Final = "by --allow"


class NoBaseline(Exception):
    """A file is no report of `ottla conform --json`."""


class Baseline(NamedTuple):
    """What is accepted.

    Attributes:
        violated: scenario and rule of each violation of an earlier report; the scenario is empty
            for a trace.
        rules: ids of rules that may be violated anywhere, patterns with *.
    """

    violated: frozenset[tuple[str, str]] = frozenset()
    rules: tuple[str, ...] = ()

    def allows(self, scenario: str, rule_id: str) -> str:
        """By what a violation is allowed; empty if it is not."""
        if any(fnmatchcase(rule_id, each) for each in self.rules):
            return BY_OPTION
        return BY_BASELINE if (scenario, rule_id) in self.violated else ""

    def applied(self, results: Iterable[Result]) -> list[Result]:
        """The results, with what is allowed marked."""
        return [
            each._replace(findings=tuple(self._marked(each, found) for found in each.findings))
            for each in results
        ]

    def _marked(self, result: Result, finding: Finding) -> Finding:
        allowed = self.allows(_place(result), finding.rule_id) if finding.violated else ""
        return finding._replace(allowed=allowed)

    def gone(self, results: Sequence[Result]) -> list[tuple[str, str]]:
        """Violations of the baseline that did not happen again, of scenarios and rules judged."""
        judged = {
            (_place(result), found.rule_id): found.violated
            for result in results
            for found in result.findings
        }
        return sorted(each for each in self.violated if judged.get(each) == 0)


def _place(result: Result) -> str:
    return result.name if result.sentence else ""


def read_baseline(file: Path) -> frozenset[tuple[str, str]]:
    """Scenario and rule of each violation in a report of `ottla conform --json`.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be read.
        NoBaseline: it is no such report.
    """
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        return frozenset(_violated(report))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        if isinstance(wrong, UnicodeDecodeError):
            raise
        raise NoBaseline("it is no report of ottla conform --json") from None


def _violated(report: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for scenario in report["scenarios"]:
        place = str(scenario["name"]) if scenario["sentence"] else ""
        for rule in scenario["rules"]:
            if rule["violated"]:
                yield place, str(rule["rule"])

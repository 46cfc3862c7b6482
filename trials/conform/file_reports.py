"""The report as JSON, and as JUnit's XML for build servers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree

from ...verdict.rules.rule import Status
from .findings import Finding, Result, exit_status

_SKIPPED: Final = (Status.NOT_EXERCISED, Status.ALLOWED)
_NO_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(results: Sequence[Result], gone: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The report as values of JSON.

    Args:
        gone: scenario and rule of violations of the baseline that did not happen again.
    """
    return {
        "status": exit_status(results),
        "gone": [{"scenario": scenario, "rule": rule} for scenario, rule in gone],
        "scenarios": [
            {
                "name": each.name,
                "sentence": each.sentence,
                "verdict": each.verdict,
                "trouble": each.trouble,
                "notes": list(each.notes),
                "last_lines": list(each.last_lines),
                "took_s": round(each.took_s, 3),
                "rules": [_rule(finding) for finding in each.findings],
            }
            for each in results
        ],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule_id,
        "status": finding.status,
        "allowed": finding.allowed,
        "known": list(finding.known),
        "sentence": finding.sentence,
        "source": finding.source,
        "obeyed": finding.obeyed,
        "violated": finding.violated,
        "violations": [
            {
                "text": each.text,
                "client_id": each.client_id,
                "frames": list(each.frames),
                "lines": list(each.lines),
            }
            for each in finding.breaches
        ],
    }


def as_junit(results: Sequence[Result]) -> str:
    """The report as XML: a suite for each scenario, a case for each rule."""
    root = ElementTree.Element("testsuites", name="ottla conform")
    for result in results:
        errors = _errors(result)
        suite = ElementTree.SubElement(
            root, "testsuite",
            name=for_xml(result.name),
            tests=str(len(result.findings) + len(errors)),
            failures=str(result.of_status(Status.VIOLATED)),
            skipped=str(sum(map(result.of_status, _SKIPPED))),
            errors=str(len(errors)),
            time=f"{result.took_s:.3f}",
        )  # fmt: skip
        for finding in result.findings:
            _case(suite, result, finding)
        for name, why in errors.items():
            case = ElementTree.SubElement(
                suite, "testcase", classname=for_xml(result.name), name=name
            )
            error = ElementTree.SubElement(case, "error", message=for_xml(why))
            error.text = for_xml("\n".join(result.last_lines))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _errors(result: Result) -> dict[str, str]:
    """What a scenario could not be judged for: the names of cases, and why."""
    found = {
        "the program ends in time": result.trouble,
        "the program works without faults": result.does_not_work,
    }
    return {name: why for name, why in found.items() if why}


def _case(suite: ElementTree.Element, result: Result, finding: Finding) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=for_xml(result.name), name=finding.rule_id
    )
    if finding.status in _SKIPPED:
        allowed = f" {finding.allowed}" if finding.allowed else ""
        ElementTree.SubElement(case, "skipped", message=f"{finding.status}{allowed}")
    elif finding.status is Status.VIOLATED:
        failure = ElementTree.SubElement(case, "failure", message=for_xml(finding.sentence))
        told = ("\n".join([each.text, *each.lines]) for each in finding.breaches)
        known = (f"known: {each}" for each in finding.known)
        failure.text = for_xml("\n\n".join([*told, *known]))


def for_xml(text: str) -> str:
    """A text without characters that XML cannot have."""
    return _NO_XML.sub("\ufffd", text)

"""The report as JSON, and as JUnit's XML for build servers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree

from ottla.conform.findings import Finding, Result, exit_status
from ottla.verdict.rule import Status

_NO_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The report as values of JSON."""
    return {
        "status": exit_status(results),
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
        suite = ElementTree.SubElement(
            root, "testsuite",
            name=_clean(result.name),
            tests=str(len(result.findings) + bool(result.trouble)),
            failures=str(result.of_status(Status.VIOLATED)),
            skipped=str(result.of_status(Status.NOT_EXERCISED)),
            errors=str(int(bool(result.trouble))),
            time=f"{result.took_s:.3f}",
        )  # fmt: skip
        for finding in result.findings:
            _case(suite, result, finding)
        if result.trouble:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_clean(result.name), name="the program ends in time"
            )
            error = ElementTree.SubElement(case, "error", message=_clean(result.trouble))
            error.text = _clean("\n".join(result.last_lines))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, result: Result, finding: Finding) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_clean(result.name), name=finding.rule_id
    )
    if finding.status is Status.NOT_EXERCISED:
        ElementTree.SubElement(case, "skipped", message="not exercised")
    elif finding.status is Status.VIOLATED:
        failure = ElementTree.SubElement(case, "failure", message=_clean(finding.sentence))
        told = ("\n".join([each.text, *each.lines]) for each in finding.breaches)
        failure.text = _clean("\n\n".join(told))


def _clean(text: str) -> str:
    """A text without characters that XML cannot have."""
    return _NO_XML.sub("\ufffd", text)

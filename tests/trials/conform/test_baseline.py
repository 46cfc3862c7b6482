"""Violations that are accepted: those of an earlier report, and allowed rules."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.__main__ import main
from ottla.trace.events import Request
from ottla.trials.conform.baseline import Baseline
from ottla.trials.conform.findings import Breach, Finding, Result, exit_status, in_all
from ottla.trials.conform.known_violations import ClientNames, with_known
from ottla.verdict.rules.rule import Status

from .traces import answer, request


def broken(rule_id: str, violated: int = 1) -> Finding:
    return Finding(rule_id, "S.", "", 0, violated, (Breach("text"),) * violated)


def result(name: str, *findings: Finding) -> Result:
    return Result(name, findings, sentence="Something happens.")


def test_a_violation_of_the_baseline_is_allowed_in_its_scenario_only() -> None:
    baseline = Baseline(frozenset({("a", "x")}))
    found = baseline.applied([result("a", broken("x")), result("b", broken("x"))])
    assert [each.findings[0].status for each in found] == [Status.ALLOWED, Status.VIOLATED]
    assert [each.verdict for each in found] == ["allowed", "violated"]
    assert exit_status(found) == 1
    assert exit_status(found[:1]) == 0
    for order in (found, found[::-1]):
        assert [each.status for each in in_all(order)] == [Status.VIOLATED]
    assert [each.status for each in in_all(found[:1])] == [Status.ALLOWED]


def test_a_violation_of_the_baseline_that_is_gone_is_named() -> None:
    baseline = Baseline(frozenset({("a", "x"), ("a", "y"), ("not run", "x"), ("a", "not judged")}))
    assert baseline.gone([result("a", broken("x"), broken("y", 0))]) == [("a", "y")]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two requests that wait, with the same correlation id."""
    events = [request(1, "c", 5), request(2, "c", 5), answer(3, 1), answer(4, 2)]
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in events))
    return file


def test_a_report_is_the_baseline_of_the_next_run(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = ["conform", "--trace", str(trace)]
    baseline, junit, html = tmp_path / "baseline.json", tmp_path / "r.xml", tmp_path / "r.html"
    assert main([*judge, "--json"]) == 1
    baseline.write_text(capsys.readouterr().out)
    files = ["--junit", str(junit), "--html", str(html)]
    assert main([*judge, "--baseline", str(baseline), *files]) == 0
    printed = capsys.readouterr().out
    assert "allowed (in the baseline): correlation-id-unique, 1 of 1" in printed
    assert ", 0 violated, " in printed
    assert ", 1 violated and allowed" in printed
    cases = ElementTree.parse(junit).iter("testcase")
    (case,) = [each for each in cases if each.get("name") == "correlation-id-unique"]
    assert [(each.tag, each.get("message")) for each in case] == [
        ("skipped", "allowed in the baseline")
    ]
    assert "allowed in the baseline" in html.read_text()
    trace.write_text(trace.read_text().replace('"correlation_id": 5', '"correlation_id": 6', 1))
    assert main([*judge, "--baseline", str(baseline)]) == 0
    gone = "in the baseline, and not violated any more: correlation-id-unique"
    assert gone in capsys.readouterr().out
    assert main([*judge, "--baseline", str(baseline), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gone"] == [
        {"scenario": "", "rule": "correlation-id-unique"}
    ]


def test_a_rule_is_allowed_by_a_pattern(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["conform", "--trace", str(trace)]
    assert main([*judge, "--allow", "retries-wait", "--allow", "correlation-*"]) == 0
    assert "allowed (by --allow): correlation-id-unique" in capsys.readouterr().out
    assert main([*judge, "--allow", "retries-wait"]) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--allow", "no-such"], "conform --allow no-such: there is no such rule"),
        (["--rule", "calm*"], "conform --rule calm*: there is no such rule"),
        (["--rule", "no-record-twice"], "a trace shows nothing about it"),
        (["--baseline", "gone.json"], "conform --baseline gone.json: No such file or directory"),
        (["--baseline", "{trace}"], "it is no report of ottla conform --json"),
    ],
)
def test_a_wrong_baseline_or_rule_is_status_2(
    options: list[str], complaint: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [str(trace) if each == "{trace}" else each for each in options]
    assert main(["conform", "--trace", str(trace), *options]) == 2
    assert complaint in capsys.readouterr().err


def test_a_known_violation_of_a_library_is_named() -> None:
    names = ClientNames()
    fields = {
        "client_software_name": "confluent-kafka-python",
        "client_software_version": "2.16.1-rdkafka-2.16.0",
    }
    event = Request(seq=1, client_id="orders", api="ApiVersions", version=3, fields=fields)
    assert list(names.noting([event])) == [event]
    assert names.clients == ["librdkafka"]
    (known,) = with_known(broken("throttle-obeyed"), names.clients).known
    assert known.startswith("librdkafka: librdkafka does not wait when it is throttled (https://")
    assert with_known(broken("sequence-without-gap"), names.clients).known == ()
    assert with_known(broken("throttle-obeyed"), []).known == ()
    assert with_known(broken("throttle-obeyed", 0), names.clients).known == ()


def test_a_file_with_two_traces_is_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace.write_text(2 * trace.read_text())
    assert main(["conform", "--trace", str(trace)]) == 2
    assert "another trace begins in it: seq 1 is behind 4" in capsys.readouterr().err

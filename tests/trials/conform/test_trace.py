"""`ottla conform --trace`, and its reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.__main__ import main

from .traces import answer, request

BAD = '<b>"client"</b>\u0001'


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A client that uses a correlation id twice, and one that does not."""
    events = [
        request(1, BAD, 5), request(2, BAD, 5), answer(3, 1), answer(4, 2),
        request(5, "good", 5), answer(6, 5), request(7, "good", 6), answer(8, 7),
    ]  # fmt: skip
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in events))
    return file


def test_a_trace_with_a_violation_is_status_1_with_its_lines(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", "--trace", str(trace)]) == 1
    printed = capsys.readouterr().out
    (row,) = [line for line in printed.splitlines() if line.startswith("  violated")]
    assert row.split()[:5] == ["violated", "1", "of", "1", "correlation-id-unique"]
    below = printed.partition("\ncorrelation-id-unique: ")[2].splitlines()
    assert below[1].startswith("  Metadata v12 at 1 has the id 5, too")
    assert [line.split()[0] for line in below[2:4]] == ["1", "2"]
    assert "Metadata v12" in below[2]
    assert printed.splitlines()[-1].endswith(" not exercised")


def test_a_client_may_be_chosen(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--trace", str(trace), "--client", "goo*", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rules = {each["rule"]: each for each in report["scenarios"][0]["rules"]}
    assert rules["request-readable"]["obeyed"] == 2
    assert main(["conform", "--trace", str(trace), "--client", "*b>*"]) == 1


def test_a_rule_may_be_chosen(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["conform", "--trace", str(trace), "--rule", "versions-*", "--json"]
    assert main(chosen) == 0
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert [each["rule"] for each in scenario["rules"]] == ["versions-announced"]


def test_a_trace_is_read_from_standard_input(trace: Path) -> None:
    command = [sys.executable, "-m", "ottla", "conform", "--trace", "-", "--json"]
    judged = subprocess.run(command, input=trace.read_bytes(), capture_output=True)
    assert judged.returncode == 1
    (scenario,) = json.loads(judged.stdout)["scenarios"]
    assert scenario["verdict"] == "violated"


@pytest.mark.parametrize(
    ("content", "more", "complaint"),
    [
        (None, [], "No such file"),
        ("nonsense\n", [], "line 1 is no event"),
        ("", [], "it has no request"),
        ("good", ["--client", "other"], "it has no request of a client other"),
        ("good", ["--rule", "other"], "there is no such rule"),
        ("good", ["--html", "no-such/page.html"], "its directory does not exist"),
    ],
)
def test_a_trace_that_cannot_be_judged_is_status_2(
    content: str | None, more: list[str], complaint: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "trace.jsonl"
    if content is not None:
        good = json.dumps(request(1, "good", 1)) + "\n"
        file.write_text(good if content == "good" else content)
    assert main(["conform", "--trace", str(file), *more]) == 2
    assert complaint in capsys.readouterr().err


def test_the_page_is_whole_and_escapes_texts_of_clients(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = trace.with_suffix(".html")
    assert main(["conform", "--trace", str(trace), "--html", str(page)]) == 1
    text = page.read_text()
    assert "&lt;b&gt;&quot;client&quot;&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "<script" not in text
    assert "src=" not in text
    assert "href=" not in text
    assert text.endswith("</body></html>\n")


def test_the_xml_has_a_case_for_each_rule(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = trace.with_suffix(".xml")
    assert main(["conform", "--trace", str(trace), "--junit", str(file), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (suite,) = ElementTree.parse(file).getroot()
    assert suite.get("failures") == "1"
    assert len(suite) == len(report["scenarios"][0]["rules"]) == int(suite.get("tests", ""))
    (failure,) = suite.iter("failure")
    assert failure.text is not None
    assert "Metadata v12 at 1 has the id 5, too" in failure.text
    assert len(list(suite.iter("skipped"))) == int(suite.get("skipped", ""))

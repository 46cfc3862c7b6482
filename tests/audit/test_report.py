"""The report's forms, and the rules in the documents."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import pytest
from rich.console import Console

from ottla.__main__ import main
from ottla.audit.rows import PartitionSummary
from ottla.audit.rules import RULES, Finding
from ottla.audit.rules_table import table
from ottla.audit.whole import Outcome, audit
from ottla.spark.audit import plots as audit_plots
from ottla.spark.audit import run as audit_run
from ottla.spark.audit.main import AuditFailed
from ottla.spark.audit.main import audit as run_audit
from ottla.spark.audit.report import as_html, as_json, show
from ottla.spark.audit.rows import logs_of
from ottla.spark.audit.run import Logs, Report
from tests.audit.planted import FAULTS, clean, planted
from tests.audit.world import World
from tests.project_files import ROOT


def report_of(outcome: Outcome) -> Report:
    counts: dict[str, int] = {}
    for each in outcome.findings:
        counts[each.rule] = counts.get(each.rule, 0) + 1
    return Report(
        "data",
        outcome.findings,
        counts,
        outcome.partitions,
        outcome.transactions,
        has_coordinators=True,
        is_whole=True,
    )


@pytest.fixture
def broken(tmp_path: Path) -> Report:
    """The report of a directory with every fault of the logs."""
    world = World()
    clean(world)
    for rule in FAULTS:
        planted(world, rule)
    return report_of(audit(logs_of(str(world.write(tmp_path)))))


def shown(report: Report, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    show(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_document_has_the_rules_of_the_code() -> None:
    assert table() in (ROOT / "docs/reference/audit.md").read_text()


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_names_each_rule_and_the_command(broken: Report, width: int) -> None:
    text = shown(broken, width)
    assert max(map(len, text.splitlines())) <= width
    assert "sequence-gap" in text
    assert "ottla txn abort" in text
    assert "not clean" in text


def test_a_clean_report_is_one_sentence(tmp_path: Path) -> None:
    world = World()
    clean(world)
    text = shown(report_of(audit(logs_of(str(world.write(tmp_path))))), 200)
    assert text.startswith("data: clean: no findings in ")
    assert text.count("\n") == 1


def test_the_json_has_all_findings_with_their_rows(broken: Report) -> None:
    content = json.loads(as_json(broken))
    assert content["clean"] is False
    assert content["coordinators_log"] == "whole"
    assert sum(content["counts"].values()) == len(content["findings"])
    gap = next(each for each in content["findings"] if each["rule"] == "sequence-gap")
    assert [row["base_sequence"] for row in gap["evidence"]] == [0, 3]
    assert (gap["severity"], gap["anomaly"]) == ("error", "lost-write")


def test_the_page_is_whole_and_loads_nothing(broken: Report) -> None:
    page = as_html(broken)
    assert not re.search(r"(src|href)=|@import|url\(", page)
    plots = re.findall(r"<svg.*?</svg>", page)
    assert len(plots) == 4
    for plot in plots:
        ElementTree.fromstring(plot)
    assert page.count("<details>") == len(broken.findings)
    assert all(f"<td>{rule}</td>" in page for rule in RULES)


def test_a_page_of_many_findings_is_small_and_has_every_rule() -> None:
    findings = [Finding(list(RULES)[at % 5], f"finding {at}") for at in range(10_000)]
    counts = dict.fromkeys(list(RULES)[:5], 40_000)
    page = as_html(Report("data", findings, counts))
    assert len(page) < 100_000
    assert page.count("<details>") == 100
    assert "100 of 200,000, at most 20 of each rule" in page


def test_a_page_of_many_partitions_counts_those_it_does_not_show() -> None:
    rows = [
        PartitionSummary("t", at, 0, 9, 9, True, -1, 1, 1, 1, 0, 0, 0, 1, 1) for at in range(1500)
    ]
    assert "500 more are in --json" in as_html(Report("data", partitions=rows))


def test_colours_of_text_have_contrast() -> None:
    """WCAG AA: 4.5 to 1, for text on the page, light and dark."""
    page = as_html(Report("data"))
    light, dark = re.findall(r":root\{(.*?)\}", page, re.DOTALL)
    for theme in (light, dark):
        colours = dict(re.findall(r"--(\w+):(#\w+)", theme))
        for name in ("ink", "bad", "warn", "note"):
            for paper in ("paper", "soft"):
                assert contrast(colours[name], colours[paper]) >= 4.5, (name, paper, theme)


def contrast(one: str, other: str) -> float:
    lights = sorted(map(luminance, (one, other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_of_the_logs_is_escaped_in_the_page() -> None:
    name = "<script>"
    row = PartitionSummary(name, 0, 0, 9, 1, True, -1, 1, 1, 1, 0, 0, 1, 1, 1)
    page = as_html(Report(name, partitions=[row]))
    assert "<script>" not in page


def test_plots_of_no_transactions_are_texts() -> None:
    assert "no transactions" in audit_plots.lanes([])
    assert "no ended transactions" in audit_plots.latencies([])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "expected one of DIR, --data-dir DIR and --bootstrap HOST:PORT"),
        (["a", "--data-dir", "b"], "expected one of DIR, --data-dir DIR and --bootstrap"),
        (["a", "--checkpoint", "b"], "it needs --input TOPIC and --output TOPIC"),
        (["--data-dir", "not-there"], "not-there: No such file or directory"),
        (["--data-dir", ".", "--input", "a"], "--input and --output belong together"),
        (["--bootstrap", "127.0.0.1:1"], "127.0.0.1:1"),
    ],
)
def test_an_audit_that_cannot_run_is_one_line_and_status_2(
    arguments: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ottla: audit: ")
    assert reason in line


def test_an_unexpected_error_is_status_2_and_not_1() -> None:
    """A traceback has status 1, which means findings."""

    def start(_master: str) -> NoReturn:
        raise RuntimeError("the JVM is gone")

    with pytest.raises(AuditFailed, match="RuntimeError: the JVM is gone"):
        run_audit(lambda: Logs("data", []), start=start)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("cast(key as string)", {"key"}),
        ("get_json_object(string(VALUE), '$.id')", {"value"}),
        ("concat(`key`, monkey, values)", {"key"}),
        ("offset", set[str]()),
    ],
)
def test_a_record_is_sent_without_the_columns_that_its_key_does_not_name(
    expression: str, names: set[str]
) -> None:
    assert {name for name in ("key", "value") if audit_run._names(expression, name)} == names

"""Programs in scenarios: right ones pass, and each mistake is found."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.__main__ import main
from ottla.trials.conform.copy_rules import OF_TRANSACTIONS
from ottla.trials.conform.scenario_run import not_fired
from ottla.trials.conform.scenarios import SCENARIOS, LabFault
from ottla.trials.program import Program, filled

ROOT = Path(__file__).parents[3]
COPIER = [sys.executable, str(Path(__file__).parent / "copier.py")]
LIBRDKAFKA = [sys.executable, str(ROOT / "examples/clients/copy_confluent_kafka.py")]


def violated(printed: str) -> set[str]:
    """The rules that a report in JSON has as violated."""
    (scenario,) = json.loads(printed)["scenarios"]
    return {each["rule"] for each in scenario["rules"] if each["status"] == "violated"}


def test_a_right_program_obeys_all_rules(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["conform", "--scenario", "aborted-data", "--json", "--", *COPIER, "none"])
    printed = capsys.readouterr().out
    assert (status, violated(printed)) == (0, set())


def test_the_page_links_a_picture_of_each_scenario(tmp_path: Path) -> None:
    page = tmp_path / "a page.html"
    words = ["conform", "--scenario", "aborted-data", "--html", str(page)]
    assert main([*words, "--", *COPIER, "none"]) == 0
    assert 'href="a%20page-scenarios/aborted-data.html"' in page.read_text()
    picture = tmp_path / "a page-scenarios/aborted-data.html"
    assert "<title>aborted-data</title>" in picture.read_text()
    assert {path.name for path in picture.parent.iterdir()} == {
        "aborted-data.html", "aborted-data.jsonl"
    }  # fmt: skip


@pytest.mark.clients
def test_librdkafka_obeys_all_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    chosen = ["calm", "produce-answer-lost", "trailing-marker"]
    scenarios = [word for each in chosen for word in ("--scenario", each)]
    files = ["--html", str(tmp_path / "page.html"), "--traces", str(tmp_path / "traces")]
    status = main(["conform", *scenarios, *files, "--", *LIBRDKAFKA])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert [line.split()[3] for line in printed.splitlines()[2:5]] == chosen
    assert ", 0 violated, " in printed
    assert "did not happen" not in printed
    page = (tmp_path / "page.html").read_text()
    assert all(each in page for each in chosen)
    assert {each.stem for each in (tmp_path / "traces").iterdir()} == set(chosen)


@pytest.mark.parametrize(
    ("mistake", "scenario", "rules"),
    [
        ("reads_uncommitted", "aborted-data", {"aborted-not-delivered"}),
        ("commits_beside", "calm", {"offsets-in-transactions"}),
        ("stays_at_marker", "trailing-marker", {"past-trailing-marker", "position-moves"}),
        (
            "exits_with_3",
            "coordinator-loads",
            {"program-ends", "every-record-copied", "offsets-committed"},
        ),
    ],
)
def test_a_mistake_is_found(
    mistake: str, scenario: str, rules: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--scenario", scenario, "--json", "--", *COPIER, mistake]
    assert main(["conform", *given]) == 1
    assert violated(capsys.readouterr().out) == rules


def test_a_program_without_transactions_is_not_judged_by_their_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["--scenario", "calm", "--at-least-once", "--json", "--", *COPIER, "commits_beside"]
    assert main(["conform", *given]) == 0
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    judged = {each["rule"] for each in scenario["rules"]}
    assert judged & {*OF_TRANSACTIONS} == set()
    assert "every-record-copied" in judged


def test_a_violation_is_printed_with_its_lines_of_the_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = ["--scenario", "trailing-marker", "--rule", "position-moves"]
    assert main(["conform", *chosen, "--", *COPIER, "stays_at_marker"]) == 1
    printed = capsys.readouterr().out
    below = printed.partition("\nposition-moves: ")[2].splitlines()
    assert below[1].startswith("  conform-input-0 is fetched at 30 again")
    assert "Fetch v12" in below[2]
    assert any(line.startswith("  and ") and line.endswith(" more") for line in below)


def test_a_program_that_hangs_is_ended_with_its_children(
    capsys: pytest.CaptureFixture[str],
) -> None:
    began_s = time.monotonic()
    given = ["--scenario", "coordinator-loads", "--timeout", "2", "--", *COPIER, "hangs"]
    assert main(["conform", *given]) == 2
    assert time.monotonic() < began_s + 30
    lines = capsys.readouterr().out.splitlines()
    assert "coordinator-loads: the program did not end within 2 s, and was ended" in lines


def test_the_end_of_a_program_is_the_end_of_its_process_group(tmp_path: Path) -> None:
    command = ["sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait"]
    with Program(command, {}, tmp_path / "output") as program:
        while not (printed := program.tail()):
            assert program.status is None
        sleeper = os.pidfd_open(int(printed[0]))
    assert program.status is not None
    ended, _, _ = select.select([sleeper], [], [], 20)  # readable when the process has ended
    os.close(sleeper)
    assert ended


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--scenario", "calm", "--", "./no-such-program"], "No such file or directory"),
        (["--scenario", "no-such", "--", "true"], "conform --scenario no-such: there is none"),
        (["--rule", "no-such", "--", "true"], "conform --rule no-such: there is no such rule"),
        (["--trace", "t", "--", "true"], "expected --trace FILE, or -- and a command"),
        ([], "expected --trace FILE, or -- and a command"),
        (["--trace", "gone.jsonl"], "conform --trace gone.jsonl: No such file or directory\n"),
    ],
)
def test_a_run_that_cannot_begin_is_status_2(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_a_rule_may_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--scenario", "calm", "--rule", "*-twice", "--json", "--", *COPIER, "none"]
    assert main(["conform", *given]) == 0
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert [each["rule"] for each in scenario["rules"]] == ["no-record-twice"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (["false"], "the program exited with status 1"),
        ([*COPIER, "exits_with_3"], "the program exited with status 3: it is broken"),
        (["true"], "'record-0' is missing, and 23 more"),
        ([*COPIER, "hangs"], "the program did not end within 2 s, and was ended"),
    ],
    ids=["false", "exits", "copies nothing", "hangs"],
)
def test_a_program_that_does_not_work_in_calm_is_one_line(
    program: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["--scenario", "calm", "--scenario", "rebalance", "--timeout", "2", "--json"]
    assert main(["conform", *given, "--", *program]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith(f"ottla: conform: the program does not work without faults: {why}")


def test_a_program_that_does_not_work_is_an_error_for_build_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, html = tmp_path / "conform.xml", tmp_path / "conform.html"
    files = ["--junit", str(junit), "--html", str(html)]
    assert main(["conform", "--scenario", "calm", *files, "--", *COPIER, "exits_with_3"]) == 2
    capsys.readouterr()
    (error,) = ElementTree.parse(junit).getroot().iter("error")
    assert error.attrib["message"].startswith("the program exited with status 3: it is broken")
    assert "it is broken" in html.read_text()


@pytest.mark.parametrize("option", ["--junit", "--html"])
def test_a_report_that_cannot_be_written_is_noticed_before_any_scenario(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--traces", str(tmp_path / "traces"), "--", "no-such-program"]
    for file, why in ((tmp_path / "no/r.xml", "its directory"), (tmp_path, "it is a directory")):
        assert main(["conform", option, str(file), *words]) == 2
        assert capsys.readouterr().err.startswith(f"ottla: conform {option} {file}: {why}")
    assert not (tmp_path / "traces").exists()


def test_rules_may_be_chosen_by_several_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    rules = ["--rule", "no-record-twice", "--rule", "sequence-*"]
    assert main(["conform", "--scenario", "calm", *rules, "--json", "--", *COPIER, "none"]) == 0
    (scenario,) = json.loads(capsys.readouterr().out)["scenarios"]
    judged = {each["rule"] for each in scenario["rules"]}
    assert judged == {"no-record-twice", "sequence-without-gap", "sequence-not-reused"}


@pytest.mark.parametrize(
    "scenario", [each.name for each in SCENARIOS if each.given or each.wrong_values]
)
def test_a_program_that_never_connects_obeys_nothing(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", "--scenario", scenario, "--json", "--", "false"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["scenarios"]
    assert [each["rule"] for each in found["rules"] if each["obeyed"]] == []


def test_placeholders_are_filled_and_other_braces_stay() -> None:
    command = ["sh", "-c", "run {input} {output}; x={}; echo ${HOME}", "{bootstrap}"]
    values = {"input": "a", "output": "b", "bootstrap": "h:1"}
    assert filled(command, values) == ["sh", "-c", "run a b; x={}; echo ${HOME}", "h:1"]


def test_faults_that_did_not_happen_are_notes() -> None:
    alone = LabFault("delay", {"api": "Fetch"})
    first, second = (LabFault("error", {"api": each}, one_of="a") for each in ("Produce", "EndTxn"))
    faults = [(alone, 1), (first, 2), (second, 3)]
    assert not_fired(faults, {1: 1, 3: 2}) == []
    assert not_fired(faults, {2: 1}) == ["delay did not happen: no such Fetch"]
    assert not_fired(faults, {1: 1}) == [
        "error did not happen: no such Produce", "error did not happen: no such EndTxn",
    ]  # fmt: skip

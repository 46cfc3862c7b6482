"""Applications under torture: right ones pass, and mistakes are found, shrunk and replayed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.__main__ import main
from ottla.trials.torture.scenario_file import read_scenario

APP = [sys.executable, str(Path(__file__).parent / "app.py")]
# The application is no member of a group.
ALONE = ["--copies", "1", *(word for each in ("start", "pause") for word in ("--without", each))]
SHARE_APP = [sys.executable, str(Path(__file__).parent / "share_app.py")]
SHARED = ["torture", "--consumer", "share", "--copies", "2", "--records", "4", "--jobs", "1"]
QUICK = ["torture", *ALONE, "--records", "4", "--jobs", "2"]


def test_a_right_application_passes(capsys: pytest.CaptureFixture[str]) -> None:
    status = main([*QUICK, "--runs", "4", "--seed", "3", "--json", "--", *APP, "none"])
    report = json.loads(capsys.readouterr().out)
    assert (status, report["runs"], report["failure"]) == (0, 4, None)
    assert report["steps"]


@pytest.mark.slow
def test_a_share_consumer_that_accepts_records_behind_the_output_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*SHARED, "--runs", "6", "--seed", "2", "--json", "--", *SHARE_APP, "none"]
    status = main(words)
    report = json.loads(capsys.readouterr().out)
    assert (status, report["runs"], report["failure"]) == (0, 6, None)
    assert report["steps"]


@pytest.mark.slow
def test_records_that_are_accepted_before_the_output_are_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lost.yaml"
    words = [*SHARED, "--runs", "40", "--shrink-time", "0", "--file", str(file)]
    assert main([*words, "--", *SHARE_APP, "accepts_first"]) == 1
    assert capsys.readouterr().out.startswith("lost-write: A record of the input is not in")
    scenario = read_scenario(file.read_text(), file.name)
    assert (scenario.application.consumer, scenario.found.kind) == ("share", "lost-write")


def test_offsets_before_the_output_lose_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, junit, page = (tmp_path / name for name in ("lost.yaml", "junit.xml", "page.html"))
    files = ["--file", str(file), "--junit", str(junit), "--html", str(page)]
    words = [*QUICK, "--runs", "40", "--shrink-time", "3", *files, "--", *APP, "offsets_first"]
    assert main(words) == 1
    assert "<title>ottla torture -- " in page.read_text()
    printed = capsys.readouterr()
    assert printed.out.startswith("lost-write: A record of the input is not in the output")
    assert "<-- commits offset" in printed.out
    assert "== step: " in printed.out
    assert f"ottla torture --replay {file}" in printed.out
    assert "violates: " in printed.err
    (failed,) = ElementTree.parse(junit).getroot().iter("failure")
    assert "its offset is committed" in failed.attrib["message"]

    scenario = read_scenario(file.read_text(), file.name)
    assert len(scenario.steps) == 1
    assert scenario.found.kind == "lost-write"
    assert scenario.found.failed == scenario.found.replays == 3

    assert main(["torture", "--replay", str(file)]) == 1
    assert capsys.readouterr().out.count("lost-write: ") == 1
    assert main(["torture", "--replay", str(file), "--json", "--", *APP, "none"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "torture: expected -- and a command, or --replay FILE"),
        (["--check", "cpoy", "--", "true"], "--check cpoy: expected copy, key, count,"),
        (["--guarantee", "once", "--", "true"], "--guarantee once: it is none of exactly-once,"),
        (["--consumer", "queue", "--", "true"], "--consumer queue: it is none of group, share"),
        (["--without", "kil", "--", "true"], "--without kil: it is none of kill, pause,"),
        (["--set", "a", "--", "true"], "--set a: NAME=VALUE was expected"),
        (["--", "no-such-program"], "no-such-program cannot be run: No such file"),
        (
            ["--copies", "1", "--", sys.executable, "-c", "import no_such_module"],
            "the application does not work without faults: the copies have exited 6 times;",
        ),
        (["--junit", "no/r.xml", "--", "true"], "--junit no/r.xml: its directory does not exist"),
        (["--file", ".", "--", "true"], "torture --file .: it is a directory"),
        (["--replay", "a.yaml", "--junit", "r.xml"], "--junit is for runs, not for --replay"),
        (["--replay", "gone.yaml"], "--replay gone.yaml: No such file or directory\n"),
    ],
)
def test_a_command_that_cannot_run_has_status_2(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["torture", *words]) == 2
    assert text in capsys.readouterr().err


def test_an_application_that_is_wrong_without_faults_is_status_2_and_not_shrunk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "torture.yaml"
    file.write_text("earlier")
    words = [*QUICK, "--runs", "9", "--file", str(file), "--", *APP, "twice"]
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("duplicate: ")
    assert "the first run, without faults: there is nothing to shrink" in printed.out
    assert "1 of 9 runs in " in printed.out
    assert f"the scenario that was in {file} is in {file}.before now" in printed.out
    assert Path(f"{file}.before").read_text() == "earlier"
    (line,) = [line for line in printed.err.splitlines() if line.startswith("ottla: ")]
    assert line.startswith(
        "ottla: torture: the application does not work without faults: duplicate: "
    )
    assert main([*words[: words.index("--")], "--json", "--", *APP, "twice"]) == 2
    assert json.loads(capsys.readouterr().out)["status"] == 2


def test_an_application_that_does_not_work_is_an_error_for_build_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "torture.xml"
    says = [sys.executable, "-c", r"print('\x1b[31mno config\x00')"]
    assert main(["torture", "--copies", "1", "--junit", str(junit), "--", *says]) == 2
    capsys.readouterr()
    (error,) = ElementTree.parse(junit).getroot().iter("error")
    assert "the application does not work without faults" in error.attrib["message"]
    assert "no config" in (error.text or "")


def test_a_wrong_scenario_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("steps: [{do: hit, at: {api: EndTxn}}]")
    assert main(["torture", "--replay", str(file), "--", "true"]) == 2
    assert f"{file}: steps[0].do: hit is none of kill," in capsys.readouterr().err

"""`ottla museum run`: statuses, output, and the cache, without a registry.

In place of clients the cache has programs that behave as the two versions do.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.trials.museum.collection import EXHIBITS
from ottla.trials.museum.exhibit import Shows, Verdict
from ottla.trials.museum.exhibit_replay import replay
from ottla.trials.museum.install import NotInstalled, cache_directory, launch
from ottla.trials.museum.replay_trial import ReplayTrial
from ottla.trials.museum.seen import said

NAME = "aiokafka-storage-error"
EXHIBIT = next(each for each in EXHIBITS if each.name == NAME)
PROGRAM = f"""#!{sys.executable} -u
import os, sys
from pathlib import Path
from ottla.client import Client, ErrorAnswer
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
has_bug = "0.12.0" in sys.argv[0]
print("noise of a client")
with Client.to(os.environ["KAFKA_BOOTSTRAP_SERVERS"], client_id="shown") as client:
    for attempt in range(2):
        try:
            produce(client, "museum", [OutgoingRecord(b"a")])
            print("seen: sent 0")
        except ErrorAnswer:
            if has_bug:
                print("seen: failed KafkaStorageError")
                break
if "DEAF" in os.environ:
    sys.stdin.readline()
"""


def made_client(version: str, text: str = PROGRAM) -> None:
    """A version of aiokafka in the cache."""
    name = f"aiokafka-{version}-py{sys.version_info[0]}{sys.version_info[1]}"
    python = cache_directory() / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(text)
    python.chmod(0o755)
    (python.parents[1] / "complete").touch()


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # No registry answers.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


def test_a_bug_that_shows_with_one_version_alone_is_status_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made_client("0.12.0")
    made_client("0.13.0")
    traces, pages = tmp_path / "traces", tmp_path / "pages"
    kept = ["--traces", str(traces), "--html", str(pages)]
    assert main(["museum", "run", NAME, "--json", *kept]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["shows"] for each in found["replays"]] == ["bug", "no_bug"]
    (line,) = found["replays"][0]["lines"]
    assert "Produce" in line
    assert "KAFKA_STORAGE_ERROR" in line
    assert {each.name for each in traces.iterdir()} == {
        f"{NAME}-0.12.0.jsonl",
        f"{NAME}-0.13.0.jsonl",
    }
    files = [Path(each["page"]) for each in found["replays"]]
    assert files == [pages / f"{NAME}-0.12.0.html", pages / f"{NAME}-0.13.0.html"]
    assert all("data-kind" in each.read_text() for each in files)


def test_one_version_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    made_client("0.12.0")
    made_client("9.9")
    assert main(["museum", "run", NAME, "--client-version", "0.12.0"]) == 0
    assert "aiokafka 0.12.0: the bug: " in capsys.readouterr().out
    assert main(["museum", "run", NAME, "--client-version", "9.9"]) == 1
    assert "aiokafka 9.9: no bug: " in capsys.readouterr().out


def test_a_replay_that_cannot_run_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "run", NAME, "--client-version", "0"]) == 2
    assert "aiokafka==0" in capsys.readouterr().err
    assert main(["museum", "run", "no-such"]) == 2
    assert "no-such" in capsys.readouterr().err


def test_a_result_that_is_neither_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("0.12.0", "0.13.0"):
        made_client(version, "#!/bin/sh\necho it broke\nexit 3\n")
    assert main(["museum", "run", NAME]) == 1
    text = capsys.readouterr().out
    assert text.count("neither the bug nor the right result: the program ended with status 3") == 2
    assert "it broke" in text


def test_a_program_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEAF", "1")
    made_client("0.12.0")
    verdict = replay(EXHIBIT._replace(check=lambda seen: None), "0.12.0", timeout_s=2).verdict
    assert verdict.shows is Shows.NEITHER
    assert "did not end in time" in verdict.text


def test_the_lab_waits_for_words_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(trial: ReplayTrial) -> None:
        trial.wait_said("failed")
        trial.tell("go on")

    def ended_by_itself(seen: object) -> Verdict | None:
        return Verdict(Shows.BUG, "") if getattr(seen, "status", None) == 0 else None

    monkeypatch.setenv("DEAF", "1")
    made_client("0.12.0")
    told = EXHIBIT._replace(during=go_on, check=ended_by_itself)
    assert replay(told, "0.12.0").verdict.shows is Shows.BUG


def test_words_of_a_program_are_found_by_their_whole_name() -> None:
    output = ["seen: sent 1", "seen: sent-again 2", "sent 3", "seen: sent"]
    assert said(output, "sent") == ["1", ""]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({"XDG_CACHE_HOME": "/x"}, "/x/ottla/museum"), ({"HOME": "/h"}, "/h/.cache/ottla/museum")],
)
def test_the_cache_is_where_caches_are(
    variables: Mapping[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_directory() == Path(expected)


def test_the_cache_is_cleared_of_clients_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["museum", "clear"]) == 0
    cache, elsewhere = tmp_path / "ottla" / "museum", tmp_path / "elsewhere"
    for each in ("kafkajs-2.2.4", "kafka-python-2.0.2-py311", "notes"):
        (cache / each / "lib").mkdir(parents=True)
    elsewhere.mkdir()
    (cache / "aiokafka-link").symlink_to(elsewhere)
    (cache / "kafkajs-file").touch()
    capsys.readouterr()
    assert main(["museum", "clear", "--json"]) == 0
    removed = json.loads(capsys.readouterr().out)["removed"]
    assert removed == ["kafka-python-2.0.2-py311", "kafkajs-2.2.4"]
    left = {each.name for each in cache.iterdir()}
    assert left == {"notes", "aiokafka-link", "kafkajs-file"}
    assert elsewhere.exists()


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotInstalled, match="kafkajs needs node and npm: not installed"):
        launch("kafkajs", "2.0.0", "any.js")


def test_a_package_that_cannot_be_had_is_no_client_of_the_cache() -> None:
    for _ in range(2):
        with pytest.raises(NotInstalled, match="aiokafka==0"):
            launch("aiokafka", "0", "any.py")
    assert not [*cache_directory().glob("*/complete")]


def test_serve_does_not_import_the_museum() -> None:
    code = "import sys, ottla.serving.serve; print([n for n in sys.modules if 'museum' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""`ottla museum run`: statuses, output, and the cache, without a registry."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.museum import collection, stage
from ottla.museum.exhibit import Exhibit, Seen, Shows, Verdict, bug, no_bug, said
from ottla.museum.install import Launch, NotInstalled, cache_directory, launch
from ottla.museum.stage import TOPIC, Stage, replay

PROGRAM = """
import os, sys
from ottla.client import Client
from ottla.record_batch import OutgoingRecord
from ottla.record_producer import produce
print("noise of a client")
with Client.to(os.environ["KAFKA_BOOTSTRAP_SERVERS"], client_id="shown") as client:
    produce(client, "museum", [OutgoingRecord(b"a")])
print("seen: sent", os.environ["VERSION"], flush=True)
print("seen: told", sys.stdin.readline(), flush=True)
"""


def tell(stage: Stage) -> None:
    stage.wait_said("sent")
    stage.tell("go on")


def version_one_has_it(seen: Seen) -> Verdict | None:
    if seen.said("told") != ["go on"] or seen.records != {0: ["a"]} or seen.status != 0:
        return None
    has_it = seen.said("sent") == ["1"]
    return (bug if has_it else no_bug)("it sent", *seen.requests("Produce"))


EXHIBIT = Exhibit(
    name="shown",
    client="aiokafka",
    title="it sends",
    issue="https://github.com/aio-libs/aiokafka/issues/1",
    story="It sends.",
    affected="1",
    fixed="2",
    program="shown.py",
    check=version_one_has_it,
    during=tell,
)


@pytest.fixture(autouse=True)
def _shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only exhibit, whose client is this process's Python."""

    def launched(client: str, version: str, program: str) -> Launch:
        assert (client, program) == ("aiokafka", "shown.py")
        if version == "3":
            raise NotInstalled("there is no version 3")
        return Launch([sys.executable, "-u", "-c", PROGRAM], {"VERSION": version})

    monkeypatch.setattr(stage, "launch", launched)
    monkeypatch.setattr("ottla.commands.museum.EXHIBITS", (EXHIBIT,))


def test_a_bug_that_shows_with_one_version_alone_is_status_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["museum", "run", "sho*", "--json", "--traces", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["shows"] for each in found["replays"]] == ["bug", "no_bug"]
    (line,) = found["replays"][0]["lines"]
    assert "Produce" in line
    assert {each.name for each in tmp_path.iterdir()} == {"shown-1.jsonl", "shown-2.jsonl"}


def test_one_version_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "run", "shown", "--client-version", "1"]) == 0
    assert "aiokafka 1: the bug: it sent" in capsys.readouterr().out
    assert main(["museum", "run", "shown", "--client-version", "2"]) == 1
    assert "aiokafka 2: no bug: it sent" in capsys.readouterr().out


def test_a_replay_that_cannot_run_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "run", "shown", "--client-version", "3"]) == 2
    assert "there is no version 3" in capsys.readouterr().err
    assert main(["museum", "run", "no-such"]) == 2
    assert "no-such" in capsys.readouterr().err


def test_a_result_that_is_neither_is_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = EXHIBIT._replace(check=lambda seen: None)
    monkeypatch.setattr("ottla.commands.museum.EXHIBITS", (shown,))
    assert main(["museum", "run", "shown"]) == 1
    assert "neither the bug nor the right result" in capsys.readouterr().out


def test_a_program_that_does_not_end_is_ended() -> None:
    silent = EXHIBIT._replace(during=lambda stage: stage.wait_said("sent"))
    verdict = replay(silent, "1", timeout_s=3).verdict
    assert verdict.shows is Shows.NEITHER
    assert "did not end in time" in verdict.text


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


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotInstalled, match="kafkajs needs node and npm: not installed"):
        launch("kafkajs", "2.0.0", "any.js")


def test_a_package_that_cannot_be_had_leaves_nothing_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for _ in range(2):
        with pytest.raises(NotInstalled, match="aiokafka==0"):
            launch("aiokafka", "0", "any.py")
    assert not [*cache_directory().glob("*/complete")]


def test_serve_does_not_import_the_museum() -> None:
    assert collection.EXHIBITS
    code = "import sys, ottla.serve; print([n for n in sys.modules if 'museum' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert TOPIC == "museum"

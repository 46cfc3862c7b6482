"""`ottla diff` finds planted differences of two Ottlas and names them; equal ones have none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.cli.app import run
from ottla.client import Client
from ottla.console.options import address
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.trials.diff.report import FENCE

from .comparing import diff, program

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Ottla, Ottla]]:
    """Two brokers; faults of the first are removed after each test."""
    with Ottla(settings=SETTINGS) as first, Ottla(settings=SETTINGS) as second:
        yield first, second


@pytest.fixture(autouse=True)
def _no_faults(pair: tuple[Ottla, Ottla]) -> Iterator[None]:
    yield
    pair[0].faults.clear()


@pytest.mark.parametrize("answers", ["ottla", "kafka"])
def test_equal_brokers_have_no_difference(
    pair: tuple[Ottla, Ottla], tmp_path: Path, answers: str
) -> None:
    report = tmp_path / "report.json"
    steps = ("admin", "produce", "transactions", "classic", "consumer")
    status = diff(pair, report, "--answers", answers, *program(f"same-{answers}", *steps))
    found = json.loads(report.read_text())
    assert status == 0, found["differences"]
    assert not [note for note in found["notes"] if "program" in note["text"]]
    asked = {text.split()[0] for text in found["apis"]}
    assert asked >= {"EndTxn", "JoinGroup", "ConsumerGroupHeartbeat", "CreateTopics", "Fetch"}


def test_an_ottla_of_a_release_is_compared_with_a_broker_of_it(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with Ottla(as_kafka="3.9") as other:
        words = ["diff", "--with", other.bootstrap, "--json", "--out", str(tmp_path / "r.json")]
        words += ["--html", str(page)]
        steps = program("of-release", "admin", "produce", "transactions")
        status = run([*words, "--as", "3.9.2", *steps])
    found = json.loads((tmp_path / "r.json").read_text())
    assert status == 0, found["differences"]
    assert not [note for note in found["notes"] if "serves" in note["text"]]
    assert "as Kafka 3.9.2" in found["facts"]["Ottla"]
    assert "<title>ottla diff: " in page.read_text()  # of what the started Ottla saw


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--as", "9.9"], "diff --as 9.9: there is no release 9.9; the releases are 2.8"),
        (["--as", "3.9", "--ottla", "127.0.0.1:1"], "expected one of --as and --ottla"),
        (["--html", "p.html", "--ottla", "127.0.0.1:1"], "expected one of --html and --ottla"),
    ],
)
def test_a_release_that_cannot_be_had_says_why(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", "--with", "127.0.0.1:1", *words]) == 2
    assert why in capsys.readouterr().err


PLANTED: list[tuple[str, dict[str, Any], list[str], str, str]] = [
    ("error", {"api": "EndTxn", "times": 1, "code": "INVALID_TXN_STATE"},
     ["admin", "transactions"], "EndTxn", "error_code"),
    ("close_before", {"api": "InitProducerId", "times": 1},
     ["admin", "produce"], "InitProducerId", "(answer)"),
    ("corrupt", {"api": "Fetch", "what": "bit_flip", "seed": 3, "times": 1},
     ["admin", "produce", "classic"], "Fetch", "responses.partitions.records"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fault", "steps", "api", "field"), PLANTED)
def test_a_planted_difference_is_found_and_named(
    pair: tuple[Ottla, Ottla],
    tmp_path: Path,
    kind: str,
    fault: dict[str, Any],
    steps: list[str],
    api: str,
    field: str,
) -> None:
    plant(pair[0], kind, **fault)
    report = tmp_path / "report.json"
    assert diff(pair, report, *program(f"{api}-{kind}", *steps)) == 1
    found = json.loads(report.read_text())["differences"]
    assert (api, field) in [(each["api"], each["fields"][0]["kind"]) for each in found]


def plant(broker: Ottla, kind: str, **fault: Any) -> None:
    names = ("code", "what", "seed")
    given = {name: fault[name] for name in names if name in fault}
    match = {name: value for name, value in fault.items() if name not in names}
    broker.faults.add(kind, match=match, **given)


def test_a_report_is_replayed_and_has_no_values(pair: tuple[Ottla, Ottla], tmp_path: Path) -> None:
    plant(pair[0], "error", api="EndTxn", code="INVALID_TXN_STATE")
    report = tmp_path / "report.md"
    words = program("replayed", "admin", "transactions", "password=hunter2")
    assert diff(pair, report, *words) == 1
    text = report.read_text()
    assert "| `error_code` | INVALID_TXN_STATE | NONE |" in text
    assert "hunter2" not in text
    assert b"committed".hex() not in text
    json_block = text.partition(f"{FENCE}\n")[2].partition("\n```")[0]
    value = json.loads(json_block)
    apis = [each["api"] for each in value["exchanges"]]
    numbers = {each["api"]: each["number"] for each in value["exchanges"]}
    assert numbers["CreateTopics"] in value["differences"][0]["before"]  # a replay needs the topic
    assert apis.index("CreateTopics") < apis.index("InitProducerId") < apis.index("EndTxn")

    with Ottla(settings=SETTINGS) as first, Ottla(settings=SETTINGS) as second:
        again = tmp_path / "again.json"
        assert diff((first, second), again, "--replay", str(report)) == 0
        assert "EndTxn v1" in json.loads(again.read_text())["apis"]
    with Ottla(settings=SETTINGS) as first, Ottla(settings=SETTINGS) as second:
        plant(first, "error", api="EndTxn", code="INVALID_TXN_STATE")
        assert diff((first, second), again, "--replay", str(report)) == 1
        found = json.loads(again.read_text())["differences"]
        assert found[0]["fields"][0]["ottla"] == "INVALID_TXN_STATE"


def test_a_trace_is_replayed(pair: tuple[Ottla, Ottla], tmp_path: Path) -> None:
    trace, report = tmp_path / "trace.jsonl", tmp_path / "report.json"
    with Ottla(settings=SETTINGS) as traced:
        traced.trace.start(file=trace)
        environment = {**os.environ, "OTTLA_BOOTSTRAP": traced.bootstrap}
        steps = ("admin", "produce", "transactions", "classic", "consumer")
        done = subprocess.run(program("traced", *steps)[1:], env=environment, timeout=60)
        assert done.returncode == 0
    assert diff(pair, report, "--trace", str(trace)) == 0
    found = json.loads(report.read_text())
    assert not [note for note in found["notes"] if note["text"].startswith("Not sent")]
    asked = {text.split()[0] for text in found["apis"]}
    assert asked >= {"EndTxn", "SyncGroup", "ConsumerGroupHeartbeat", "Produce", "Fetch"}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--with", "127.0.0.1:1", "--", "true"], "Kafka at 127.0.0.1:1: Connection refused"),
        (["--", "true"], "expected --with HOST:PORT"),
        (["--with", "KAFKA", "--ottla", "OTTLA", "--", "true"], "no client has sent a request"),
        (["--with", "KAFKA", "--ottla", "OTTLA", "--", "/no/such"], "/no/such cannot be run"),
        (["--with", "KAFKA", "--replay", "/no/such"], "/no/such: No such file"),
        (["--with", "KAFKA", "--answers", "both", "--", "true"], "expected kafka or ottla"),
        (["--with", "KAFKA", "--out", "/no/such", "--", "true"], "--out /no/such: its directory"),
    ],
)
def test_a_comparison_that_cannot_run_says_why(
    pair: tuple[Ottla, Ottla], capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    places = {"OTTLA": pair[0].bootstrap, "KAFKA": pair[1].bootstrap}
    assert run(["diff", *(places.get(word, word) for word in words)]) == 2
    assert reason in capsys.readouterr().err


def running(pair: tuple[Ottla, Ottla], *words: str) -> subprocess.Popen[str]:
    """The command, which prints to pipes."""
    first, second = (broker.bootstrap for broker in pair)
    command = [sys.executable, "-m", "ottla", "diff", "--with", second, "--ottla", first, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_sigterm_ends_the_program_too_and_the_report_says_so(pair: tuple[Ottla, Ottla]) -> None:
    asking = (
        "import os, sys, time; from ottla.cli.app import run; "
        "run(['topics', 'list']); "
        "print('pid', os.getpid(), file=sys.stderr, flush=True); time.sleep(600)"
    )
    with running(pair, "--", sys.executable, "-c", asking) as command:
        assert command.stderr is not None
        pid = next(int(line.split()[1]) for line in command.stderr if line.startswith("pid "))
        command.terminate()
        report, _ = command.communicate(timeout=30)
    assert command.returncode == 0
    assert "The program was ended by SIGTERM." in report
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_mirror_on_ipv6_is_found(pair: tuple[Ottla, Ottla], tmp_path: Path) -> None:
    with running(pair, "--listen", "[::1]:0") as command:
        assert command.stderr is not None
        address = command.stderr.readline().split()[4].rstrip(";")
        assert address.startswith("[::1]:")
        assert run(["topics", "list", "--bootstrap", address]) == 0
        command.send_signal(signal.SIGINT)
        report, _ = command.communicate(timeout=30)
    assert command.returncode == 0
    assert "gave the same answers" in report


def test_a_trace_with_requests_that_cannot_be_read_is_sent_without_them(
    pair: tuple[Ottla, Ottla], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {
        "seq": 1, "kind": "request", "at_ms": 1, "connection": "a", "api": "Metadata",
        "version": 12, "correlation_id": 1, "client_id": "c", "request": {},
        "undecoded": "broken: it ends too early",
    }  # fmt: skip
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps(event) + "\n")
    assert diff(pair, tmp_path / "report.md", "--trace", str(trace)) == 2
    assert "Metadata: the trace has no fields: broken: it ends" in capsys.readouterr().err


def test_a_program_that_takes_too_long_is_ended(
    pair: tuple[Ottla, Ottla], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert diff(pair, tmp_path / "report.md", "--timeout", "0.1", "--", *command) == 2
    expected = "no client has sent a request to the mirror. The program was ended after 0.1 s."
    assert expected in capsys.readouterr().err


def test_a_client_sees_the_versions_that_both_sides_have(pair: tuple[Ottla, Ottla]) -> None:
    def versions(bootstrap: str) -> dict[int, int]:
        with Client(*address(bootstrap)) as client:
            asked = {"client_software_name": "test", "client_software_version": "0"}
            found = client.ask(ApiKey.API_VERSIONS, asked).api_keys
            return {each.api_key: each.max_version for each in found}

    unstable = {**SETTINGS, "unstable.api.versions.enable": "true"}
    with (
        Ottla(settings=unstable) as newer,
        running((newer, pair[1]), "--answers", "ottla") as command,
    ):
        assert command.stderr is not None
        mirror = command.stderr.readline().split()[4].rstrip(";")
        both = versions(mirror)
        assert both == versions(pair[1].bootstrap)
        assert both != versions(newer.bootstrap)
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=30)

"""Exit statuses and streams of all commands, as docs/reference/cli.md has them.

0: fine. 1: refused, no broker, something is wrong. 2: it cannot run. An error is one line on
standard error, `ottla: REASON`, and nothing on standard output. A new command needs its rows here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from ottla.__main__ import main
from ottla.testing import Ottla
from tests.project_files import ROOT

from .command_names import commands, with_option

NOWHERE: Final = "127.0.0.1:1"
ARGUMENTS: Final = {
    "topics describe": "t", "topics create": "t", "topics alter": "t -p 2", "topics delete": "t",
    "topics configs": "t", "produce": "t x", "consume": "t", "groups describe": "g",
    "groups reset": "g t", "groups delete": "g", "txn describe": "x", "txn abort": "x",
    "txn complete": "x --commit", "acls add": "User:a read --topic t",
    "acls remove": "User:a --topic t", "quotas set": "--user a producer_byte_rate=1",
    "quotas remove": "--user a producer_byte_rate", "oracle": "--history {ledger}",
}  # fmt: skip
"""The arguments that a command needs to get as far as its broker."""
OTHERWISE: Final = {"audit": "audit/test_report.py"}
"""Commands that take --bootstrap, and do not talk to a broker at first, and where their exit
statuses are."""


class Ended(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str


def ended(words: list[str], capfd: pytest.CaptureFixture[str]) -> Ended:
    capfd.readouterr()
    try:
        status = main(words)
    except SystemExit as exited:  # argparse
        status = int(str(exited.code))
    return Ended(status, *capfd.readouterr())


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with Ottla(settings=settings) as started:
        started.create_topic("t")
        started.produce("t", ["a", "b"], transactional_id="x")
        yield started


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Files that commands read."""
    sent = {"process": "p", "op": "send", "type": "ok", "records": {"t-0": [[0, "a"], [1, "b"]]}}
    read = {"process": "c", "op": "poll", "type": "ok", "records": {"t-0": [[0, "a"], [1, "b"]]}}
    request = {
        "seq": 1, "at_ms": 1, "kind": "request", "node_id": 1, "connection": "c",
        "client_id": "c", "api": "Metadata", "version": 12, "correlation_id": 1, "request": {},
    }  # fmt: skip
    contents: dict[str, list[dict[str, Any]]] = {
        "ledger": [sent, read],
        "anomalies": [sent, {**read, "records": {"t-0": [[0, "z"]]}}],
        "trace": [request],
        "violation": [request, {**request, "seq": 2}],
    }
    paths = {"missing": str(tmp_path / "missing"), "directory": str(tmp_path), "long": "9" * 5000}
    texts = {
        "deep": "[" * 100_000 + "\n",
        "digits": f"seed: {'9' * 5000}\n",
        "garbage": f"{json.dumps(request)}\nno event, and whole\n",
    }
    for name, text in texts.items():
        paths[name] = str(tmp_path / name)
        Path(paths[name]).write_text(text)
    for name, lines in contents.items():
        paths[name] = str(tmp_path / f"{name}.jsonl")
        Path(paths[name]).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return paths


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_wrong_option_has_status_2_and_writes_to_standard_error(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    needed = ["--socket", "s"] if words == ("template",) else []  # argparse asks for it first
    found = ended([*words, *needed, "--no-such-option"], capfd)
    assert (found.status, found.out) == (2, "")
    assert "--no-such-option" in found.err


@pytest.mark.parametrize("command", sorted({*with_option("--bootstrap")} - OTHERWISE.keys()))
def test_a_command_without_a_broker_is_one_line_and_status_1(
    command: str, files: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ARGUMENTS.get(command, "").format(**files)
    found = ended([*command.split(), *arguments.split(), "-b", NOWHERE], capfd)
    assert (found.status, found.out) == (1, "")
    (line,) = found.err.splitlines()
    assert line == f"ottla: {NOWHERE}: Connection refused"


def test_the_arguments_are_of_commands_that_talk_to_a_broker() -> None:
    known = set(with_option("--bootstrap"))
    assert ARGUMENTS.keys() <= known
    assert OTHERWISE.keys() <= known


GOOD: Final = [
    "topics list", "topics describe t", "topics create new", "topics alter new -p 3",
    "topics configs new --set retention.ms=60000", "topics delete new", "produce t x",
    "produce t y --transactional-id x", "consume t", "consume t --json", "groups list",
    "groups reset g t --execute", "groups describe g", "groups lag", "groups delete g",
    "txn list", "txn describe x", "acls add User:a read --topic t", "acls list",
    "acls remove User:a --topic t", "quotas set --user a producer_byte_rate=1", "quotas list",
    "quotas remove --user a producer_byte_rate", "health", "config", "version",
    "oracle --history {ledger}", "conform --trace {trace}", "conform --list",
    "trace show {trace}", "trace export {trace} --format otlp", "why", "why t", "why t:0 --json",
    "museum list", "certs {missing} --json",
]  # fmt: skip
GOOD_ELSEWHERE: Final = {
    "serve": "serving/test_main.py", "template": "serving/test_template.py",
    "demo": "serving/test_main.py", "bench": "cli/test_commands.py",
    "console": "cli/test_console_command.py", "log": "cli/test_log_command.py",
    "audit": "audit/test_report.py", "fault": "lab/test_shell.py", "clock": "lab/test_shell.py",
    "torture": "trials/torture/test_torture.py", "diff": "trials/diff/test_diff.py",
    "trace start": "lab/test_shell.py", "trace stop": "lab/test_shell.py",
    "trace pcap": "trace/test_trace_files.py", "trace parquet": "trace/test_trace_files.py",
    "trace view": "cli/test_trace_pictures.py",
    "txn abort": "cli/test_transactions_command.py",
    "txn complete": "cli/test_transactions_command.py",
    "txn watch": "cli/test_transactions_command.py",
    "museum run": "trials/museum/test_command.py",
    "museum clear": "trials/museum/test_command.py",
}  # fmt: skip
"""Commands and the files of their tests."""


def test_commands_that_succeed_have_status_0_and_no_errors(
    broker: Ottla,
    files: dict[str, str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTTLA_BOOTSTRAP", broker.bootstrap)
    for words in GOOD:  # in this order: a topic is created before it is described
        found = ended(words.format(**files).split(), capfd)
        assert (words, found.status, found.err) == (words, 0, "")
        assert found.out, words


def test_each_command_has_a_call_that_succeeds() -> None:
    called = [*GOOD, *GOOD_ELSEWHERE]
    missing = [
        name
        for name in map(" ".join, commands())
        if not any(each == name or each.startswith(f"{name} ") for each in called)
        and name.split()[0] not in GOOD_ELSEWHERE
    ]
    assert missing == []


@pytest.mark.parametrize(("command", "file"), [*GOOD_ELSEWHERE.items(), *OTHERWISE.items()])
def test_the_test_elsewhere_calls_the_command(command: str, file: str) -> None:
    source = (ROOT / "tests" / file).read_text()
    assert all(re.search(rf"\b{word}\b", source) for word in command.split())


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("topics create t", 1), ("topics describe gone", 1), ("topics delete gone", 1),
        ("topics alter t -p 1", 1), ("topics alter gone -p 2", 1),
        ("topics configs t --set no.such=1", 1), ("consume gone", 1), ("produce t x -p 9", 1),
        ("groups describe gone", 1), ("groups delete gone", 1), ("txn describe gone", 1),
        ("txn abort gone", 1), ("acls list -b 127.0.0.1:1", 1),
        ("quotas set --user a no_such=1", 1), ("topics list -b nowhere", 2),
        ("groups reset g t -p 9", 2), ("produce t --file {missing}", 2),
        ("produce t --file {directory}", 2), ("oracle --history {missing}", 2),
        ("oracle --history {directory}", 2), ("oracle --trace {missing} -b 127.0.0.1:1", 2),
        ("conform --trace {missing}", 2), ("conform --trace {directory}", 2),
        ("conform --trace {trace} --baseline {missing}", 2), ("torture --replay {missing}", 2),
        ("trace show {missing}", 2), ("trace view {missing}", 2),
        ("trace export {missing} --format otlp", 2), ("trace show {trace} --html a --json", 2),
        ("trace show {trace} --html {directory}", 2), ("trace show {trace} --api Metdata", 2),
        ("trace parquet {missing} --out {missing}.parquet", 2),
        ("trace pcap {missing} --out {missing}.jsonl", 2), ("log {missing}", 2),
        ("museum run no-such", 2), ("diff --replay {missing} --with 127.0.0.1:1", 2),
        ("conform --trace {trace} --scenario calm", 2), ("conform --client a -- true", 2),
        ("torture --replay {missing} --set a=b", 2), ("torture --replay {missing} --timeout 5", 2),
        ("log verify {directory} --topic t", 2), ("trace show {trace} --lanes --api Fetch", 2),
        ("why --command-config {missing}", 2), ("console --command-config {directory}", 2),
        ("diff --trace {missing} --with 127.0.0.1:1", 2), ("conform --trace {garbage}", 2),
        ("trace show {garbage}", 2), ("oracle --trace {garbage} -b 127.0.0.1:1", 2),
        ("conform --trace {deep}", 2), ("oracle --history {deep}", 2), ("trace show {deep}", 2),
        ("trace export {deep} --format otlp", 2), ("torture --replay {deep}", 2),
        ("conform --trace {trace} --baseline {deep}", 2), ("torture --replay {digits}", 2),
        ("diff --replay {deep} --with 127.0.0.1:1", 2), ("produce t --json-lines --file {deep}", 2),
        ("fault list --control {broker}", 1), ("config --config {missing}", 2),
        ("conform -- {missing}", 2), ("torture -- {missing}", 2),
        ("topics create u -p 99999999999", 2), ("produce t x --timestamp 99999999999999999999", 2),
        ("produce t x --timestamp {long}", 2), ("groups reset g t --to {long}", 2),
        ("consume t --from {long}", 2), ("consume t --from {long}d", 2), ("clock {long}d", 2),
        ("serve --clock manual:{long}", 2), ("serve --listen 127.0.0.1:{long}", 2),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_one_line_on_standard_error(
    words: str,
    status: int,
    broker: Ottla,
    files: dict[str, str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "-b " not in words:
        monkeypatch.setenv("OTTLA_BOOTSTRAP", broker.bootstrap)
    found = ended(words.format(**files, broker=broker.bootstrap).split(), capfd)
    assert (found.status, found.out) == (status, ""), found.err
    (line,) = found.err.splitlines()
    assert line.startswith("ottla: ")
    assert "Errno" not in line


@pytest.mark.parametrize("words", ["oracle --history {anomalies}", "conform --trace {violation}"])
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_findings_have_status_1_and_are_printed(
    words: str, as_json: list[str], files: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    found = ended([*words.format(**files).split(), *as_json], capfd)
    assert (found.status, found.err) == (1, "")
    assert json.loads(found.out) if as_json else found.out


@pytest.mark.parametrize(
    ("path", "said"),
    [("/opt/bitnami/scripts/kafka/run.sh", "no such file"), (__file__, "it is no command")],
)
def test_a_path_instead_of_a_command_is_no_misspelt_command(
    path: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the command of another image, which is a program there."""
    assert main([path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ottla: {path}: {said}")
    assert len(err.splitlines()) == 1

"""What `ottla produce` sends and `ottla consume` prints: tombstones, files, JSON, formats."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.cli.record_format import format_of
from ottla.client.fates import Fate
from ottla.client.record_reader import ReadRecord
from ottla.testing import Ottla

Run = Callable[..., str]


@pytest.fixture
def topic(broker: Ottla) -> str:
    name = f"orders-{time.monotonic_ns()}"
    broker.create_topic(name)
    return name


def test_an_empty_value_is_a_tombstone_with_the_option(run: Run, broker: Ottla, topic: str) -> None:
    run("produce", topic, "--key-separator", ":", "--tombstones", "a:", "b:1")
    run("produce", topic, "--key-separator", ":", "c:")
    assert [(each.key, each.value) for each in broker.read(topic)] == [
        (b"a", None), (b"b", b"1"), (b"c", b""),
    ]  # fmt: skip


def test_lines_of_a_file_are_records(run: Run, broker: Ottla, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(b"one\ntwo \xff\n\nlast")
    run("produce", topic, "--file", str(file))
    run("produce", topic, "--file", str(file), "--count", "1")
    values = [each.value for each in broker.read(topic)]
    assert values == [b"one", b"two \xff", b"", b"last", b"one"]


def test_json_lines_of_consume_are_produced_again(
    run: Run, broker: Ottla, topic: str, tmp_path: Path
) -> None:
    run("produce", topic, "--key-separator", ":", "--tombstones", "--header", "h=1", "a:", "b:\xe9")
    run("produce", topic, "--timestamp", "1700000000000", "with time")
    run("produce", topic, "--timestamp", "2026-01-31T12:00:00", "with a date")
    broker.produce(topic, [(b"\xff\xfe", b"\x00\xff")])
    printed = run("consume", topic, "--json")
    file, copy, other = tmp_path / "dump.jsonl", f"{topic}-copy", f"{topic}-other"
    file.write_text(printed)
    run("produce", copy, "--json-lines", "--file", str(file))
    command = [sys.executable, "-m", "ottla", "produce", other, "--json-lines"]
    subprocess.run(command, input=printed.encode(), check=True, capture_output=True)
    wanted = [each[3:7] for each in broker.read(topic)]
    assert wanted[2][0] == 1_700_000_000_000
    assert [each[3:7] for each in broker.read(copy)] == wanted
    assert [each[3:7] for each in broker.read(other)] == wanted


def test_a_format_is_that_of_kcat(run: Run, topic: str) -> None:
    run("produce", topic, "--key-separator", ":", "--header", "h=1", "--header", "i=2", "a:x", "b:")
    assert run("consume", topic, "--format", r"%k %s\n") == "a x\nb \n"
    form = r"%t %p@%o %K:%S %h %f 100%%\t\x41\\|"
    assert run("consume", topic, "--format", form) == (
        f"{topic} 0@0 1:1 h=1,i=2 plain 100%\tA\\|{topic} 0@1 1:0 h=1,i=2 plain 100%\tA\\|"
    )


def test_a_null_has_the_size_minus_1() -> None:
    record = ReadRecord("t", 0, 0, 5, None, None, (), Fate.PLAIN, -1, -1)
    assert format_of("%k|%K|%s|%S|%T")(record) == b"|-1||-1|5"


def test_following_ends_after_a_time_without_records(run: Run, topic: str) -> None:
    run("produce", topic, "x")
    assert run("consume", topic, "--follow", "--timeout", "0.2", "--values") == "x\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("consume T --format %q", r"--format: %q is none of"),
        (r"consume T --format \q", r"--format: \q is none of"),
        ("consume T --format %", "--format: % is none of"),
        ("consume T --format %s --json", "--values, --format and --json exclude each other"),
        ("consume T --timeout 1", "--timeout needs --follow"),
        ("produce T --timestamp soon x", "--timestamp soon: Unix time in ms, a time such as"),
        ("produce T --json-lines --key k", "--json-lines excludes --key"),
        ("produce T --file f x", "values exclude --file"),
        ("produce T --file missing.txt", "produce --file missing.txt: No such file"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(
    words: str, complaint: str, run: Run, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.replace(" T ", f" {topic} ").split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line


@pytest.mark.parametrize(
    "line",
    [
        "junk",
        "[]",
        "{}",
        '{"value": 1}',
        '{"value": {"base64": "!"}}',
        '{"value": "x", "timestamp_ms": "y"}',
    ],
)
def test_a_line_that_is_no_record_is_refused(
    line: str, run: Run, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump").write_text(line)
    assert main(["produce", topic, "--json-lines", "--file", str(tmp_path / "dump")]) == 2
    assert "no record as `ottla consume --json` prints it" in capsys.readouterr().err


@pytest.mark.parametrize("close", [False, True])
def test_a_commit_whose_answer_is_lost_is_asked_for_again(
    close: bool, run: Run, broker: Ottla, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTTLA_TIMEOUT", "0.5")
    transactional_id = f"{topic}-id"
    rule = broker.faults.add("drop_answer", match={"api": "EndTxn", "times": 2}, close=close)
    assert "committed" in run("produce", topic, "--transactional-id", transactional_id, "x")
    assert rule.fired == 2
    rule.remove()
    assert [each.value for each in broker.read(topic)] == [b"x"]


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "inf", "nan"])
def test_a_wrong_timeout_is_refused(
    seconds: str, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTTLA_TIMEOUT", seconds)
    assert main(["topics", "list"]) == 2
    assert f"OTTLA_TIMEOUT={seconds}: a number of seconds above 0" in capsys.readouterr().err


def test_the_time_limit_holds_for_a_listener_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTTLA_TIMEOUT", "0.1")
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["topics", "list", "-b", address]) == 1
    assert f"ottla: {address}: " in capsys.readouterr().err


def test_json_of_groups_has_the_same_names_in_each_command(run: Run, topic: str) -> None:
    run("produce", topic, "--count", "3")
    group = f"{topic}-group"
    reset = json.loads(run("groups", "reset", group, topic, "--to", "2", "--execute", "--json"))
    (listed,) = [
        each for each in json.loads(run("groups", "list", "--json")) if each["group_id"] == group
    ]
    described = json.loads(run("groups", "describe", group, "--json"))
    assert reset["group_id"] == described["group_id"] == group
    assert {name: described[name] for name in ("type", "state")} == {
        name: listed[name] for name in ("type", "state")
    }


def test_the_lag_of_all_groups_is_one_table(run: Run, topic: str) -> None:
    run("produce", topic, "--count", "3")
    for number in range(2):
        run("groups", "reset", f"{topic}-{number}", topic, "--to", str(number), "--execute")
    rows = json.loads(run("groups", "lag", f"{topic}-*", "--json"))
    assert [(each["group_id"], each["committed"], each["lag"]) for each in rows] == [
        (f"{topic}-0", 0, 3), (f"{topic}-1", 1, 2),
    ]  # fmt: skip
    table = run("groups", "lag", f"{topic}-*").splitlines()
    assert table[2].split() == [f"{topic}-0", f"{topic}-0", "0", "3", "3", "-"]
    assert len(run("groups", "lag").splitlines()) >= len(table)


def test_partitions_are_added(run: Run, broker: Ottla, topic: str) -> None:
    assert run("topics", "alter", topic, "--partitions", "4") == f"{topic} has 4 partitions\n"
    assert main(["topics", "alter", topic, "-p", "2", "-b", broker.bootstrap]) == 1

"""The commands on a running broker: their output, their JSON, and their exit statuses."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.__main__ import main
from ottla.kafka_tools.options import VERSION as KAFKA_VERSION

TIMEOUT_S = 10.0
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
Run = Callable[..., str]
"""Runs a command; returns its standard output if the exit status is 0."""


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic with one partition."""
    name = f"orders-{time.monotonic_ns()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1)])[name].result(TIMEOUT_S)
    return name


def plain(text: str) -> str:
    """A text with a mask instead of each time."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)


def rows(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_produced_records_are_consumed_with_key_and_headers(run: Run, topic: str) -> None:
    words = ["--key-separator", ":", "-H", "trace=7", "a:1", "b:two"]
    assert run("produce", topic, *words) == f"2 records to {topic}: partition 0 at 0-1\n"
    assert plain(run("consume", topic)).splitlines() == [
        f"{topic}-0@0  TIME  plain      'a' = '1' {{trace: '7'}}",
        f"{topic}-0@1  TIME  plain      'b' = 'two' {{trace: '7'}}",
    ]
    first, _ = rows(run("consume", topic, "--json"))
    assert first.pop("timestamp_ms") > 1_600_000_000_000
    assert first == {
        "topic": topic, "partition": 0, "offset": 0, "key": "a", "value": "1",
        "headers": [["trace", "7"]], "fate": "plain", "producer_id": -1, "producer_epoch": -1,
    }  # fmt: skip
    assert run("consume", topic, "--values") == "1\ntwo\n"


def test_the_version_names_the_kafka_that_is_the_specification(run: Run) -> None:
    (found,) = rows(run("version", "--json"))
    assert f"{found['kafka']}.0" == KAFKA_VERSION
    assert found["kafka"] in found["data_directory"]


def test_the_fate_of_each_record_is_shown(run: Run, topic: str) -> None:
    run("produce", topic, "kept", "--transactional-id", f"{topic}-a")
    text = run("produce", topic, "dropped", "--transactional-id", f"{topic}-a", "--abort")
    assert text.endswith(", aborted\n")
    fates = {each["value"]: each["fate"] for each in rows(run("consume", topic, "--json"))}
    assert fates == {"kept": "committed", "dropped": "aborted"}
    committed = run("consume", topic, "--isolation", "read_committed", "--values")
    assert committed == "kept\n"


def test_a_terminal_shows_fates_in_colour(
    run: Run, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("produce", topic, "x", "--transactional-id", topic, "--abort")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[31maborted  \x1b[0m" in run("consume", topic)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("consume", topic)


def test_lines_of_standard_input_are_produced(
    run: Run, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n\nlast"))
    assert [each["offset"] for each in rows(run("produce", topic, "--json"))] == [0, 1, 2, 3]
    assert run("consume", topic, "--values") == "one\ntwo\n\nlast\n"


def test_a_number_of_records_is_made_up(run: Run, topic: str) -> None:
    run("produce", topic, "--count", "1200", "--compression", "zstd")
    assert run("consume", topic, "--values").split() == [str(n) for n in range(1200)]
    run("produce", topic, "--count", "3", "x", "y")
    assert run("consume", topic, "--values", "--from", "-3").split() == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("--from 2", "2 3 4"),
        ("--from beginning -n 2", "0 1"),
        ("--from end", ""),
        ("--from -1", "4"),
        ("--from 1h", "0 1 2 3 4"),
        ("--from 2999-01-01", ""),
        ("--partition 0 --from 4", "4"),
    ],
)
def test_consume_starts_where_it_should(run: Run, topic: str, words: str, values: str) -> None:
    run("produce", topic, "--count", "5")
    assert run("consume", topic, "--values", *words.split()).split() == values.split()


def test_a_group_gives_the_start_and_stays_unchanged(run: Run, topic: str, bootstrap: str) -> None:
    run("produce", topic, "--count", "3")
    group = f"{topic}-group"
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
    for _ in range(2):
        assert run("consume", topic, "--values", "--group", group).split() == ["1", "2"]


def process(bootstrap: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "ottla", *words, "--bootstrap", bootstrap]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )


def test_followed_records_come_until_ctrl_c(run: Run, topic: str, bootstrap: str) -> None:
    with process(bootstrap, "consume", topic, "--follow", "--values") as following:
        assert following.stdout is not None
        assert following.stderr is not None
        for value in ("one", "two"):
            run("produce", topic, value)
            assert following.stdout.readline() == f"{value}\n"
        following.send_signal(signal.SIGINT)
        assert following.wait(TIMEOUT_S) == 130
        assert following.stderr.read() == ""


def test_a_closed_pipe_ends_a_command_quietly(run: Run, topic: str, bootstrap: str) -> None:
    run("produce", topic, "--count", "20000")
    command = f"{sys.executable} -P -m ottla consume {topic} -b {bootstrap} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_transactions_are_printed_as_json(run: Run, topic: str) -> None:
    run("produce", topic, "x", "--transactional-id", topic)
    (listed,) = json.loads(run("txn", "list", "--pattern", topic, "--json"))
    assert listed["transactional_id"] == topic
    assert json.loads(run("txn", "describe", topic, "--json")) == listed


def test_a_narrow_terminal_cuts_no_cell(
    run: Run, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("produce", topic, "x", "--transactional-id", "narrow")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    text = re.sub(r"\x1b\[\d*m", "", run("txn", "list", "--pattern", "^narrow$"))
    assert "CompleteCommit" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_health_says_which_cluster_answers(run: Run, topic: str, bootstrap: str) -> None:
    text = run("health", f"127.0.0.1:1,{bootstrap}")
    pattern = rf"{bootstrap} is healthy: cluster \S+, 1 node \(1 at {bootstrap}\), \d+ topics?, "
    assert re.match(pattern, text)
    found = json.loads(run("health", "--json"))
    assert found["healthy"] is True
    assert found["address"] == bootstrap
    assert found["topics"] >= 1


def test_config_and_features_are_json(run: Run, bootstrap: str) -> None:
    words = ["--set", "num.partitions=3", "num.partitions", "log.segment.bytes", "--json"]
    assert json.loads(run("config", *words)) == {
        "log.segment.bytes": {"value": "1073741824", "is_default": True},
        "num.partitions": {"value": "3", "is_default": False},
    }
    found = json.loads(run("config", "--bootstrap", bootstrap, "--json"))
    assert "transaction.version" in found["features"]


def test_config_explains_its_number_sign(run: Run) -> None:
    first = run("config").splitlines()[0]
    assert first.startswith("# A line that begins with # is a default")


def test_a_topic_is_created_described_changed_and_deleted(run: Run) -> None:
    name = f"made-{time.monotonic_ns()}"
    words = ["-p", "2", "--config", "retention.ms=60000"]
    assert run("topics", "create", name, *words) == f"{name} is created: 2 partitions\n"
    again = run("topics", "create", name, "--if-not-exists", "--json")
    assert json.loads(again) == {"topic": name, "partitions": 2, "is_new": False}
    run("produce", name, "x", "--partition", "1")
    found = json.loads(run("topics", "describe", name, "--json"))
    assert found["configs"] == {"retention.ms": "60000"}
    assert found["partitions"][1] == {
        "partition": 1, "leader": 1, "replicas": [1], "isr": [1],
        "first_offset": 0, "last_stable_offset": 1, "end_offset": 1,
    }  # fmt: skip
    assert "configs: retention.ms=60000" in run("topics", "describe", name)
    changes = ["--set", "segment.ms=1000", "--unset", "retention.ms"]
    assert run("topics", "configs", name, *changes).splitlines() == [
        "# retention.ms=604800000",
        "segment.ms=1000",
    ]
    assert {"topic": name, "partitions": 2} in json.loads(run("topics", "list", "--json"))
    assert run("topics", "delete", name) == f"{name} is deleted\n"
    assert name not in run("topics", "list")


def test_a_group_is_described_reset_and_deleted(run: Run, topic: str) -> None:
    run("produce", topic, "--count", "5")
    group = f"{topic}-group"
    words = ["groups", "reset", group, topic, "--to", "2"]
    assert "not changed" in run(*words)
    assert group not in run("groups", "list")
    run(*words, "--execute")
    found = json.loads(run("groups", "describe", group, "--json"))
    assert found["state"] == "Empty"
    assert found["partitions"] == [
        {"partition": f"{topic}-0", "committed": 2, "end": 5, "lag": 3, "member": None}
    ]
    for to, offset in {"beginning": 0, "end": 5, "-1": 4, "99": 5, "1h": 0}.items():
        reset = json.loads(run("groups", "reset", group, topic, "--to", to, "--json"))
        assert reset["offsets"] == {f"{topic}-0": offset}
    assert f"{topic}-0  2          5    3" in run("groups", "describe", group)
    assert run("groups", "delete", group) == f"{group} is deleted\n"
    assert group not in run("groups", "list", "--json")


def test_a_share_group_is_reset_described_and_deleted(run: Run, topic: str) -> None:
    run("produce", topic, "--count", "5")
    group = f"{topic}-shares"
    words = ["groups", "reset", group, topic, "--to", "2"]
    assert "not changed" in run(*words, "--share")
    assert group not in run("groups", "list")
    run(*words, "--share", "--execute")
    listed = [
        each for each in json.loads(run("groups", "list", "--json")) if each["group_id"] == group
    ]
    assert [(each["type"], each["state"]) for each in listed] == [("Share", "Empty")]
    expected = {"partition": f"{topic}-0", "committed": 2, "end": 5, "lag": 3, "member": None}
    found = json.loads(run("groups", "describe", group, "--json"))
    assert (found["type"], found["partitions"]) == ("Share", [expected])
    assert json.loads(run("groups", "lag", group, "--json")) == [{"group_id": group, **expected}]
    run("groups", "reset", group, topic, "--to", "end", "--execute")
    assert f"{topic}-0  5          5    0" in run("groups", "describe", group)
    assert run("groups", "delete", group) == f"{group} is deleted\n"
    assert group not in run("groups", "list", "--json")


def test_a_bench_measures_three_loads_and_leaves_no_topic(run: Run) -> None:
    found = json.loads(run("bench", "--seconds", "0.2", "--json"))
    assert [each["load"] for each in found] == ["produce", "consume", "transactions"]
    assert all(each["records_per_s"] > 0 for each in found)
    assert "ottla-bench" not in run("topics", "list")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ("topics describe not-there", 1, "not-there: UNKNOWN_TOPIC_OR_PARTITION"),
        ("topics create {topic}", 1, "{topic}: TOPIC_ALREADY_EXISTS"),
        ("topics create x --config a", 2, "NAME=VALUE"),
        ("topics configs {topic} --set no.such=1", 1, "INVALID_CONFIG"),
        ("topics delete not-there", 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("groups describe not-there", 1, "GROUP_ID_NOT_FOUND"),
        ("groups delete not-there", 1, "GROUP_ID_NOT_FOUND"),
        ("groups reset g {topic} --partition 4", 2, "has no partition 4"),
        ("groups reset g {topic} --to yesterday", 2, "--to yesterday: "),
        ("consume not-there", 1, "not-there: UNKNOWN_TOPIC_OR_PARTITION"),
        ("consume {topic} --partition 9", 1, "-9: UNKNOWN_TOPIC_OR_PARTITION"),
        ("consume {topic} --from yesterday", 2, "--from yesterday: "),
        ("consume {topic} --from end --group g", 2, "exclude each other"),
        ("consume {topic} -b nowhere", 2, "nowhere: HOST:PORT was expected"),
        ("consume {topic} -b 127.0.0.1:1", 1, "127.0.0.1:1: Connection refused"),
        ("produce {topic} x --abort", 2, "--abort needs --transactional-id"),
        ("produce {topic} x --key-separator :", 2, "no ':' ends the key"),
        ("produce {topic} x --header x", 2, "NAME=VALUE"),
        ("produce {topic} x --compression zip", 2, "none, gzip"),
        ("produce {topic} x --partition 7", 1, "-7: UNKNOWN_TOPIC_OR_PARTITION"),
        ("demo --bootstrap 127.0.0.1:1", 1, "127.0.0.1:1: Connection refused"),
        ("demo --bootstrap 127.0.0.1:1 --html p.html", 2, "--html needs the demo's own broker"),
        ("demo --html no-such-folder/p.html", 2, "its directory does not exist"),
        ("health 127.0.0.1:1,127.0.0.1:2", 1, "127.0.0.1:2: Connection refused"),
        ("health nowhere", 2, "nowhere: HOST:PORT was expected"),
    ],
)
def test_a_failure_is_one_line_and_a_status(
    run: Run,
    topic: str,
    capsys: pytest.CaptureFixture[str],
    words: str,
    status: int,
    text: str,
) -> None:
    assert main(shlex.split(words.format(topic=topic))) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ottla: ")
    assert text.format(topic=topic) in line

"""The lab from the shell: each command on a broker of `ottla serve --control HOST:PORT`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import Ottla


class Shell:
    """Runs commands on a control.

    Args:
        broker: is what they act on.
    """

    def __init__(self, broker: Ottla) -> None:
        self.broker = broker
        self._environment = os.environ | {"OTTLA_CONTROL": broker.order("control")}

    def __call__(self, *words: str, status: int = 0) -> str:
        """Standard output, or with another status than 0 the line on standard error."""
        done = subprocess.run(
            [sys.executable, "-m", "ottla", *words],
            env=self._environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        return (done.stderr if status else done.stdout).strip()


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with Ottla(clock="manual") as broker:
        yield Shell(broker)


def test_a_rule_is_added_listed_released_and_removed(shell: Shell) -> None:
    match = '{"api": "EndTxn", "times": 1}'
    number = shell("fault", "add", "hold", match, "point=after", "--name", "pause", "--continue")
    (shown,) = json.loads(shell("fault", "list", "--json"))
    assert shown == {
        "id": int(number), "name": "pause", "match": json.loads(match),
        "action": {"kind": "hold", "point": "after"}, "continue": True,
        "added_by": "ottla fault add", "matched": 0, "fired": 0, "held": 0,
    }  # fmt: skip
    assert "pause" in shell("fault", "list")
    assert shell("fault", "release", number) == "0 released"
    assert shell("fault", "remove", number) == "removed; it had fired 0 times"
    shell("fault", "add", "delay", "ms=0")
    assert shell("fault", "clear") == "1 removed"
    assert json.loads(shell("fault", "list", "--json")) == []


def test_a_wrong_rule_is_refused_with_a_line(shell: Shell) -> None:
    refused = shell("fault", "add", "hold", '{"topc": "t"}', status=2)
    assert "unknown field `topc`; the fields are api, versions" in refused
    assert "the match is no JSON" in shell("fault", "add", "hold", "{", status=2)
    assert "or NAME=VALUE, was expected" in shell("fault", "add", "hold", "{}", "after", status=2)
    assert "error has code, message" in shell("fault", "add", "error", status=2)
    assert "it is one of before, after" in shell("fault", "add", "hold", "point=x", status=2)
    assert "before_swap, swap" in shell("fault", "add", "crash", "point=x", status=2)
    assert "close_before has no parameters" in shell(
        "fault", "add", "close_before", "x=1", status=2
    )


def test_a_refusal_of_the_broker_has_another_status_than_a_wrong_command(shell: Shell) -> None:
    refused = shell("fault", "remove", "77", status=1)
    assert refused == "ottla: there is no rule 77; rules end with the process of the broker"
    number = shell("fault", "add", "delay", "ms=0")
    assert "holds nothing" in shell("fault", "release", number, status=1)
    shell("fault", "remove", number)


def test_an_unusual_rule_is_added_with_a_warning(broker: Ottla) -> None:
    command = [sys.executable, "-P", "-m", "ottla", "fault", "add", "error", '{"api": "EndTxn"}']
    environment = {**os.environ, "OTTLA_CONTROL": broker.order("control")}
    done = subprocess.run(
        [*command, "code=NOT_LEADER_OR_FOLLOWER"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip().isdecimal()
    assert "ottla: warning: Kafka never gives NOT_LEADER_OR_FOLLOWER to EndTxn" in done.stderr
    broker.faults.clear()


def test_the_clock_is_printed_and_moved(shell: Shell) -> None:
    before_ms = json.loads(shell("clock", "--json"))["now_ms"]
    assert json.loads(shell("clock", "15m", "--json"))["now_ms"] == before_ms + 900_000
    assert json.loads(shell("clock", "1.5h", "--back", "--json"))["now_ms"] == before_ms - 4_500_000
    assert shell("clock")[10] == "T"
    assert "a time such as" in shell("clock", "15", status=2)


def test_time_does_not_pass_without_a_manual_clock() -> None:
    with Ottla() as broker:
        assert "start with --clock manual" in Shell(broker)("clock", "1s", status=1)


def test_a_trace_is_started_shown_and_stopped(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    shell("trace", "start", "--file", str(file))
    shell.broker.create_topic("traced")
    of_memory = shell("trace", "show", "--api", "CreateTopics")
    stopped = json.loads(shell("trace", "stop", "--json"))
    assert stopped["on"] is False
    of_file = shell("trace", "show", str(file), "--api", "CreateTopics")
    assert of_file == of_memory
    assert "traced" in of_file
    assert json.loads(shell("trace", "show", str(file), "--json").splitlines()[0])["seq"]


def test_a_command_without_a_control_is_refused() -> None:
    environment = {name: text for name, text in os.environ.items() if name != "OTTLA_CONTROL"}
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "clock"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, "ottla: --control HOST:PORT (or OTTLA_CONTROL) was expected\n",
    )  # fmt: skip

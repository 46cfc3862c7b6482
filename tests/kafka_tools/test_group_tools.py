"""The tools of share groups and Streams groups print what Kafka's tools printed on a Kafka 4.4.0.

group_transcripts.json has the exit status, the output and the first error line of Kafka's tool for
each command of group_scripts.py. Addresses and epochs become words; the rest is compared byte by
byte.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.client.cluster_client import Client
from ottla.kafka_tools.__main__ import main

from .group_scripts import (
    FILES,
    OPTION_SCRIPTS,
    SHARE_SCRIPTS,
    STREAMS_SCRIPTS,
    Act,
    Command,
    Members,
    Step,
)
from .tool_outputs import filled

# Any: the values of JSON.
TRANSCRIPTS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("group_transcripts.json").read_text()
)
SETTINGS = {f"group.{kind}.assignment.interval.ms": "0" for kind in ("share", "streams")} | {
    "group.streams.initial.rebalance.delay.ms": "0"
}
NO_BROKER = "127.0.0.1:1"
# Texts that differ between brokers and runs, and the words for them.
WORDS = (
    (re.compile(r"127\.0\.0\.1:\d+"), "BROKER"),
    (re.compile(r"\{bootstrap\}"), "BROKER"),
    (re.compile(r"^\[[^]]+\] (WARN|ERROR) "), r"\1 "),
    (re.compile(r" \(org\.apache\.kafka\.tools\.\w+\)$"), ""),
    (re.compile(r"(?<=Valid states are: ).*"), "in the order of a hash table"),
    (re.compile(r"\.?$"), ""),  # of a sentence
    (re.compile(r"^((joptsimple|java)\.[\w.]+: )+"), ""),
)


def play(
    name: str,
    bootstrap: str,
    directory: Path,
    capfd: pytest.CaptureFixture[str],
) -> list[tuple[Command, Any, Any]]:
    """The commands of a script whose results differ from those of Kafka's tools, with both."""
    scripts: dict[str, list[Step]] = SHARE_SCRIPTS | STREAMS_SCRIPTS | OPTION_SCRIPTS
    topic = f"transcript{list(scripts).index(name)}".ljust(14, "x")
    words = {"{bootstrap}": bootstrap, "{t}": topic}
    for file_name, content in FILES.items():
        (directory / file_name).write_text(filled(content, words))
    words |= {f"{{{each}}}": str(directory / each) for each in FILES}
    client = Client.to(bootstrap, connects=False)
    members = Members(client, topic)
    expected = iter(TRANSCRIPTS[name])
    differences = []
    for step in scripts[name]:
        if isinstance(step, Act):
            members.act(step.what, streams=name in STREAMS_SCRIPTS)
            continue
        status = main([step.tool, *(filled(each, words) for each in step.arguments)])
        printed = capfd.readouterr()
        theirs = next(expected)
        out, err = (text.replace(topic, "{t}") for text in printed)
        mine: list[Any] = [status, output_of(out, step)]
        his: list[Any] = [theirs["status"], output_of(theirs["output"], step)]
        if not step.only:
            mine.append(first_error(err.splitlines()))
            his.append(first_error(theirs["first_error"]))
        if mine != his:
            differences.append((step, mine, his))
    client.close()
    return differences


def output_of(text: str, command: Command) -> list[str]:
    lines = [line for line in text.splitlines() if command.only in line]
    if command.has_epochs:  # how often a group was assigned depends on moments
        lines = [re.sub(r" \d+ +", " N ", line) for line in lines]
    lines = [WORDS[1][0].sub("BROKER", WORDS[0][0].sub("BROKER", line)) for line in lines]
    return sorted(lines) if command.is_unordered else lines


def first_error(lines: list[str]) -> list[str]:
    found = [line for line in lines if line][:1]
    for pattern, word in WORDS:
        found = [pattern.sub(word, line) for line in found]
    return found


@pytest.mark.parametrize("name", OPTION_SCRIPTS)
def test_a_tool_refuses_wrong_options_as_kafkas_does(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(name, NO_BROKER, tmp_path, capfd) == []


@pytest.mark.parametrize("name", [*SHARE_SCRIPTS, *STREAMS_SCRIPTS])
def test_a_tool_of_groups_has_the_output_of_kafkas(
    name: str, bootstrap: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(name, bootstrap, tmp_path, capfd) == []

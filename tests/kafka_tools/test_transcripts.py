"""Every tool prints what Kafka's tool printed on an Apache Kafka 4.4.0.

transcripts.json has the commands of each script with the exit status, the standard output and the
first error line of Kafka's tool. `{t}` stands for a topic, `{bootstrap}` for the broker. Ids become
words; everything else is compared byte by byte.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.kafka_tools.__main__ import main

from .tool_outputs import filled

# Any: the values of JSON.
SCRIPTS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("transcripts.json").read_text()
)
SETTINGS = {
    "auto.create.topics.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
# Of the topic that Kafka's tool was given: columns are as wide as their cells.
WITH_ERRORS = ("offsets of groups", "settings of users")
LENGTHS = {"records": 11}
# They print sets in the order of Java's hash codes.
UNORDERED = {"kafka-acls"}
WORDS = (
    (re.compile(r"TopicId: \S{22}"), "TopicId: ID"),
    (re.compile(r"127\.0\.0\.1:\d+"), "BROKER"),
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_tool_has_the_output_of_kafkas(
    name: str,
    bootstrap: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = f"transcript{list(SCRIPTS).index(name)}".ljust(LENGTHS.get(name, 14), "x")
    words = {"{bootstrap}": bootstrap, "{t}": topic}
    differences = []
    for command in SCRIPTS[name]:
        arguments = [filled(each, words) for each in command["arguments"]]
        text = io.TextIOWrapper(io.BytesIO(command["stdin"].encode()))
        monkeypatch.setattr("sys.stdin", text)
        status = main([command["tool"], *arguments])
        printed = capfd.readouterr()
        ours: list[Any] = [status, output_of(printed.out.replace(topic, "{t}"), command)]
        theirs: list[Any] = [command["status"], output_of(command["output"], command)]
        if name in WITH_ERRORS and not "".join(command["first_error"]).startswith("WARN"):
            ours.append(first_error(printed.err.replace(topic, "{t}").splitlines()))
            theirs.append(first_error(command["first_error"]))
        if ours != theirs:
            differences.append((command["tool"], command["arguments"], ours, theirs))
    assert differences == []


def first_error(lines: list[str]) -> list[str]:
    """The first line, without warnings, which Kafka's tools write at other moments."""
    found = [line for line in lines if line and not line.startswith("WARN")][:1]
    return [WORDS[-1][0].sub(WORDS[-1][1], line) for line in found]


def output_of(text: str, command: dict[str, Any]) -> list[str]:
    for pattern, word in WORDS:
        text = pattern.sub(word, text)
    lines = [line for line in text.splitlines() if command["only"] in line]
    return sorted(lines) if command["tool"] in UNORDERED else lines

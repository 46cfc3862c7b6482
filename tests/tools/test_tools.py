"""Every script gives the same output and exit status on Ottla and on Apache Kafka.

Ids, times, ports, hosts and directories become words, and columns are one blank apart.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections.abc import Iterator
from difflib import unified_diff
from itertools import count
from pathlib import Path

import pytest

from ottla.testing import running_broker

from ..kafka.node import running_kafka
from ..kafka_tools.tool_outputs import filled
from .scripts import FILES, GUARDED_SCRIPTS, SCRIPTS, Command
from .tool_runner import Ran, ToolRunner

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

# Settings of a single Apache Kafka, which Ottla gets too.
SETTINGS = {
    "auto.create.topics.enable": "true",
    "delete.topic.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
}
# Apache Kafka answers before its broker knows the controller's decision.
PAUSE_S = 0.2
NUMBERS = count()
NAMES = "".join(random.choice(string.ascii_lowercase) for _ in range(8))

# Texts that differ between brokers and runs, and the words for them.
WORDS = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r" +", " "),
        (r" +(?=[\n\t])", ""),
        (r"\[\d{4}-\d\d-\d\d [\d:,]+\] (WARN|INFO|ERROR) .*\n", ""),  # the tool's own log
        (r"\n\s+at [\w.$]+[(/].*", ""),
        (r"[\w-]{8}-[\w-]{4}-[\w-]{4}-[\w-]{4}-[\w-]{12}", "UUID"),
        (r"TopicId: \S{22}", "TopicId: ID"),
        (r"(?i)cluster ?id: +\S{22}", "ClusterId: ID"),
        (r"127\.0\.0\.1:\d+|127\.0\.0\.1, \d+", "BROKER"),
        (r"(?<=[^\d.])127\.0\.0\.1 +\d{4,5}", "BROKER"),
        (r"1[678]\d{11}\b", "TIME"),
        (r'(?<="logDir":")[^"]+', "DIRECTORY"),
        (r'(?<="log_dirs":\[")/[^"]+', "DIRECTORY"),
        (r'(?<="offset":)\d+(?=,"exception")', "N"),
        (r'(?<="avg_throughput":)[\d.]+', "N"),
        (r"(?<=\{t\}\t)\d+\t", "N\t"),  # a producer id after a transactional id
        (r"(?<=TIME\t)\d+\t", "N\t"),  # duration of the state
        (r"Epoch: \d+", "Epoch: N"),
    )
]


@pytest.fixture(scope="session")
def ottla() -> Iterator[str]:
    """HOST:PORT of an Ottla."""
    with running_broker(settings=SETTINGS) as broker:
        yield broker.bootstrap


def play(
    script: list[Command],
    bootstrap: str,
    runner: ToolRunner,
    directory: Path,
    *,
    pause_s: float = 0,
) -> list[Ran]:
    """The normalized results of the commands of a script on a broker."""
    name = f"tools-{NAMES}-{next(NUMBERS):03}"
    words = {"{bootstrap}": bootstrap, "{t}": name}
    for file_name, content in FILES.items():
        path = directory / file_name
        path.write_text(filled(content, words))
        words[f"{{{file_name}}}"] = str(path)
    answers = []
    for command in script:
        arguments = [filled(each, words) for each in command.arguments]
        ran = runner.run(command.tool, *arguments, stdin=command.stdin)
        assert ran.code >= 0, f"{command} did not start, or did not end: {ran.err}"
        if command.changes and pause_s:
            time.sleep(pause_s)
        out, err = (output_of(text, command, words) for text in (ran.out, ran.err))
        answers.append(Ran(ran.code, out, err))
    return answers


def output_of(text: str, command: Command, words: dict[str, str]) -> str:
    """The output, without parts that depend on the broker and its other users."""
    text = text.replace(words["{bootstrap}"], "BROKER").replace(words["{t}"], "{t}")
    for pattern, word in WORDS:
        text = pattern.sub(word, text)
    if command.has_ids:
        text = re.sub(r"\b\d+\b", "N", text)
    lines = [
        line
        for line in text.splitlines()
        if command.only in line and not any(each in line for each in command.without)
    ]
    return "\n".join(sorted(lines) if command.is_unordered else lines)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_tools_print_the_same(
    script: str, runner: ToolRunner, ottla: str, apache_kafka: str, tmp_path: Path
) -> None:
    different = differences(SCRIPTS[script], (apache_kafka, ottla), runner, tmp_path)
    assert not different, "\n".join(different)


def test_the_tools_print_the_same_with_an_authorizer(
    runner: ToolRunner, apache_kafka: str, tmp_path: Path
) -> None:
    authorizer = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with (
        running_broker(settings=SETTINGS | authorizer) as ottla,
        running_kafka(authorizer) as guarded,
    ):
        pair = guarded, ottla.bootstrap
        different = [
            difference
            for script in GUARDED_SCRIPTS.values()
            for difference in differences(script, pair, runner, tmp_path)
        ]
    assert not different, "\n".join(different)


def differences(
    script: list[Command], pair: tuple[str, str], runner: ToolRunner, directory: Path
) -> list[str]:
    """The lines that differ between Apache Kafka and Ottla."""
    for name in ("kafka", "ottla"):
        (directory / name).mkdir(exist_ok=True)
    theirs = play(script, pair[0], runner, directory / "kafka", pause_s=PAUSE_S)
    ours = play(script, pair[1], runner, directory / "ottla")
    return [
        f"{command.tool} {' '.join(command.arguments)}\n{_difference(their, our)}"
        for command, our, their in zip(script, ours, theirs, strict=True)
        if our != their
    ]


def _difference(theirs: Ran, ours: Ran) -> str:
    """The lines that only one of them printed."""
    their, our = (
        f"ends with {ran.code}\n{ran.out}\n{ran.err}".splitlines() for ran in (theirs, ours)
    )
    return "\n".join(unified_diff(their, our, "Kafka", "Ottla", n=0, lineterm=""))

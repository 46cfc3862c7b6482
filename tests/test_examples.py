"""Every example in the documents runs: Python blocks, pytest blocks and shell blocks.

A block is an example of its own: it imports what it uses. A broker at 127.0.0.1:9092 stands for the
reader's; here it is a broker of the session. Blocks of other languages are tested elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.testing import RunningBroker, running_broker

from .document_examples import BLOCK, DOCUMENTS, Example, example_of, examples, needs_spark_kafka
from .lab.traces import missing_step
from .project_files import name

READERS_BROKER = re.compile(r"\b(?:127\.0\.0\.1|localhost):9092\b")
TIMEOUT_S = 60
SPARK_TIMEOUT_S = 180
# Languages whose blocks have tests of their own, or are pictures and data.
NOT_RUN = {"", "mermaid", "properties", "text", "json", "console"}
# Programs of a reader's machine that are not part of Ottla.
FOREIGN = {"docker", "git", "make", "pip", "podman", "uv", "uvx"}


@pytest.fixture(scope="session")
def readers_broker() -> Iterator[RunningBroker]:
    """The broker that stands for the reader's at 127.0.0.1:9092."""
    with running_broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker


def run(command: list[str], directory: Path, timeout_s: float) -> str:
    """Run a program; return what it printed, or fail with it and its complaints."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    printed = f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
    assert done.returncode == 0, f"{shlex.join(command)}:\n{printed}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(SPARK_TIMEOUT_S + 20)
@pytest.mark.parametrize(
    "example",
    [each for each in examples("python") if not needs_spark_kafka(example_of(each))],
)
def test_a_python_example_runs(
    example: Example, readers_broker: RunningBroker, tmp_path: Path
) -> None:
    file = tmp_path / "test_example.py"
    file.write_text(READERS_BROKER.sub(readers_broker.bootstrap, example.text))
    command = [sys.executable, "-P"]
    if example.is_for_pytest:
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", "scratch"]
    limit_s = SPARK_TIMEOUT_S if "spark" in example.text.lower() else TIMEOUT_S
    printed = run([*command, str(file)], tmp_path, limit_s)
    if example.output is not None:
        assert missing_step(printed, example.output) is None, printed


@pytest.mark.slow
@pytest.mark.parametrize("example", examples("sh"))
def test_the_commands_of_a_shell_example_run(
    example: Example, readers_broker: RunningBroker, tmp_path: Path
) -> None:
    """`ottla serve` and `template` must get ready and stop; every other command must succeed."""
    for line in commands(example.text):
        words = shlex.split(line, comments=True)
        if not words or words[0] in FOREIGN:
            continue
        if words[:2] == ["ottla", "serve"]:
            serve_until_ready(words, tmp_path)
        elif words[:2] == ["ottla", "template"]:
            run_until_it_listens(words, tmp_path)
        else:
            reader = f"export OTTLA_BOOTSTRAP={readers_broker.bootstrap}\n"
            if {"fault", "trace", "clock"} & set(words):
                reader += f"export OTTLA_CONTROL={readers_broker.order('control')}\n"
            line = READERS_BROKER.sub(readers_broker.bootstrap, line)
            run(["bash", "-euc", reader + line], tmp_path, 60)


def run_until_it_listens(words: list[str], directory: Path) -> None:
    """Run `ottla template`; stop it when it has printed its line."""
    program = [sys.executable, "-P", "-m", *words]
    with subprocess.Popen(program, cwd=directory, stdout=subprocess.PIPE, text=True) as template:
        assert template.stdout is not None
        line = template.stdout.readline()
        template.terminate()
    assert "listens on" in line
    assert template.returncode == 0


def commands(text: str) -> list[str]:
    """The command lines of a block; a backslash at the end joins two lines."""
    joined = text.replace("\\\n", " ")
    return [line.removeprefix("$ ").strip() for line in joined.splitlines()]


def serve_until_ready(words: list[str], directory: Path) -> None:
    """Run a broker command as printed, but on free ports; stop it when it is ready."""
    ready = directory / "ready"
    ready.unlink(missing_ok=True)
    program = [sys.executable, "-P", "-m", *words, "--ready-file", str(ready)]
    if "--listen" not in words:
        program += ["--listen", "127.0.0.1:0"]
    with (directory / "serve.log").open("w+") as log:
        broker = subprocess.Popen(program, cwd=directory, stdout=log, stderr=log)
        try:
            ends = time.monotonic() + TIMEOUT_S
            while not ready.exists() and broker.poll() is None and time.monotonic() < ends:
                time.sleep(0.01)
            assert ready.exists(), (directory / "serve.log").read_text()
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.wait(TIMEOUT_S)


@pytest.mark.parametrize("example", examples("yaml"))
def test_a_compose_example_has_settings_of_a_broker(
    example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An action's inputs are tested with the action."""
    if "services:" not in example.text:
        pytest.skip("no compose file")
    for variable, value in re.findall(
        r'^ +(KAFKA_\w+): "?([^"\n]+)"?$', example.text, re.MULTILINE
    ):
        if not variable.endswith("_FILENAME"):  # the start of the image makes a path of it
            monkeypatch.setenv(variable, value)
    assert main(["config", "--environment", "advertised.listeners"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    advertised = re.findall(
        r'KAFKA_ADVERTISED_LISTENERS: "?([^"\n]+)"?$', example.text, re.MULTILINE
    )
    assert all(value in output.out for value in advertised), output.out
    assert bool(advertised) == ("ADVERTISED" in example.text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_block_has_a_language_that_is_known(path: Path) -> None:
    """A misspelt language would hide an example from these tests."""
    known = NOT_RUN | {"python", "sh", "java", "go", "javascript", "yaml"}
    found = {block[1] for block in BLOCK.finditer(path.read_text())}
    assert found <= known

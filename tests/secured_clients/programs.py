"""The programs of the clients: command lines that take the fields of a job."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.kafka.installation import libraries

from .job import Job

_HERE: Final = Path(__file__).resolve().parent
_BUILT: Final = _HERE.parents[1] / ".cache/secured-clients"
_PYTHON: Final = {
    "confluent-kafka": "librdkafka", "kafka-python": "pure_python", "aiokafka": "asynchronous",
}  # fmt: skip
_GO: Final = ("franz-go", "sarama")
_JAVA: Final = ("java-client-3.9.2", "java-client-4.1.1")
_TIMEOUT_S: Final = 90.0
_FLAGS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
CLIENTS: Final = (*_PYTHON, *_GO, "kafkajs", *_JAVA)


def outcome_of(client: str, job: Job) -> str:
    """Let a client do a job: "ok" with what it did, or its error."""
    command = [*program(client), *map(str, job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        said = (late.stderr or b"").decode(errors="replace")  # bytes, although the output is text
        return f"failed: no end within {_TIMEOUT_S:.0f} s; last words: {_last_line(said)}"
    if done.returncode == 0:
        return f"ok {done.stdout.strip()}"
    return f"failed: {_last_line(done.stderr or done.stdout)}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["none"])[-1][:200]


@functools.cache
def program(client: str) -> tuple[str, ...]:
    """The command line of a client, without a job. It is built first, if it is not in Python."""
    if client in _PYTHON:
        module = "tests.secured_clients.python_client"
        return sys.executable, "-m", module, _PYTHON[client]
    directory = _BUILT / client
    directory.mkdir(parents=True, exist_ok=True)
    if client in _GO:
        _run(_HERE / "go", "go", "build", "-o", str(directory / client), f"./{client}")
        return (str(directory / client),)
    if client in _JAVA:
        return _java(client)
    for name in ("package.json", "main.js"):
        shutil.copy(_HERE / "node" / name, directory)
    _run(directory, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent")
    return "node", str(directory / "main.js")


def _java(client: str) -> tuple[str, ...]:
    """The program is compiled with the jar of the oldest client, and runs with each."""
    jars = {name: f"{libraries(_HERE / f'java/{name}.xml')}/*" for name in (_JAVA[0], client)}
    classes = str(_BUILT / "java")
    _run(_HERE / "java", "javac", "-d", classes, "-cp", jars[_JAVA[0]], "SecuredClient.java")
    path = os.pathsep.join((classes, jars[client]))
    return "java", *_FLAGS, "-cp", path, "SecuredClient"


def _run(directory: Path, *command: str) -> None:
    subprocess.run(command, cwd=directory, check=True)

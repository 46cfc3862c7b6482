"""The programs of examples/clients, and the commands that run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..kafka.installation import NotInstalled, cache_directory, libraries

EXAMPLES = Path(__file__).parents[2] / "examples/clients"


class NotThere(Exception):
    """What a client needs is not installed; the text says what."""


def python(name: str) -> list[str]:
    """A program in Python."""
    return [sys.executable, str(EXAMPLES / f"copy_{name}.py")]


def java() -> list[str]:
    """The program of the Java client, compiled. Raises NotThere."""
    compiler = _program("javac")
    try:
        jars = f"{libraries()}/*"
    except NotInstalled as missing:
        raise NotThere(str(missing)) from None
    classes = str(cache_directory() / "copy-topic")
    source = str(EXAMPLES / "CopyTopic.java")
    subprocess.run([compiler, "-d", classes, "-cp", jars, source], check=True)
    flags = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return ["java", *flags, "-cp", os.pathsep.join((classes, jars)), "CopyTopic"]


def franz_go() -> list[str]:
    """The program of franz-go, built. Raises NotThere."""
    built = cache_directory() / "copy-franz-go"
    built.parent.mkdir(parents=True, exist_ok=True)
    command = [_program("go"), "build", "-o", str(built), "."]
    done = subprocess.run(command, cwd=EXAMPLES / "franz-go", capture_output=True, text=True)
    if done.returncode:
        raise NotThere(done.stderr.strip())
    return [str(built)]


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotThere(f"{name} is not installed")
    return found


CLIENTS: dict[str, Callable[[], list[str]]] = {
    "confluent-kafka": lambda: python("confluent_kafka"),
    "aiokafka": lambda: python("aiokafka"),
    "kafka-python": lambda: python("kafka_python"),
    "java": java,
    "franz-go": franz_go,
}
"""The command of each client by its name; it raises NotThere."""

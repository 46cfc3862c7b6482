"""The clients, and the commands that run their programs of examples/clients.

What they need beside the virtual environment is installed below the cache of tests/kafka at first.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ottla.trials.conform.copy_rules import OF_TRANSACTIONS

from ..kafka.installation import NotInstalled, cache_directory, libraries

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples/clients"
_POMS: Final = {
    "3.9.2": ROOT / "tests/secured_clients/java/java-client-3.9.2.xml",
    "4.1.1": ROOT / "tests/secured_clients/java/java-client-4.1.1.xml",
    "4.4.0": ROOT / "tests/conform/java-client-4.4.0.xml",
}
_FLAGS: Final = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_GROUP_PROTOCOL: Final = "COPY_GROUP_PROTOCOL"


class NotThere(Exception):
    """What a client needs is not installed; the text says what."""


class Client(NamedTuple):
    """A client and its program.

    Attributes:
        title: its name and version, for pages.
        program: the file or directory below examples/clients.
        command: builds the program, and returns its command line; it raises NotThere.
        left_out: rules of the runner that it does not promise to obey.
        group_protocol: `consumer` for KIP-848.
    """

    title: str
    program: str
    command: Callable[[], list[str]]
    left_out: tuple[str, ...] = ()
    group_protocol: str = ""

    def line(self) -> list[str]:
        """The command line with its environment. Raises NotThere."""
        command = self.command()
        if not self.group_protocol:
            return command
        return ["env", f"{_GROUP_PROTOCOL}={self.group_protocol}", *command]


def python(name: str) -> list[str]:
    """A program in Python, with the library of the virtual environment."""
    return [sys.executable, str(EXAMPLES / f"copy_{name}.py")]


def old_librdkafka() -> list[str]:
    """The program of confluent-kafka with an old library. Raises NotThere."""
    with _built("confluent-kafka-2.0.2") as directory:
        if not (directory / "confluent_kafka").exists():
            install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(directory)]
            _run(directory, *install, "--no-deps", "confluent-kafka==2.0.2")
    return ["env", f"PYTHONPATH={directory}", *python("confluent_kafka")]


def java(version: str = "4.1.1", source: Path = EXAMPLES / "CopyTopic.java") -> list[str]:
    """A program of a Java client, compiled with the jar of the oldest. Raises NotThere."""
    try:
        oldest, jars = (f"{libraries(_POMS[each])}/*" for each in ("3.9.2", version))
    except NotInstalled as missing:
        raise NotThere(str(missing)) from None
    with _built("copy-topic") as classes:
        _run(EXAMPLES, "javac", "-d", str(classes), "-cp", oldest, str(source))
    path = os.pathsep.join((str(classes), jars))
    return ["java", *_FLAGS, "-cp", path, source.stem]


def java_share_consumer() -> list[str]:
    """The program of Java's share consumer, with Kafka's client 4.4. Raises NotThere."""
    source = Path(__file__).parent / "ShareRecords.java"
    try:
        jars = f"{libraries(_POMS['4.4.0'])}/*"
    except NotInstalled as missing:
        raise NotThere(str(missing)) from None
    with _built("share-records") as classes:
        _run(source.parent, "javac", "-d", str(classes), "-cp", jars, str(source))
    return ["java", *_FLAGS, "-cp", os.pathsep.join((str(classes), jars)), source.stem]


def go(name: str, programs: Path = EXAMPLES) -> list[str]:
    """A program in Go, built. Raises NotThere."""
    with _built("copy-go") as directory:
        _run(programs / name, "go", "build", "-o", str(directory / name), ".")
    return [str(directory / name)]


def node(name: str) -> list[str]:
    """A program in JavaScript, with its packages installed. Raises NotThere."""
    with _built(f"copy-{name}") as directory:
        for each in ("package.json", "main.js"):
            shutil.copy(EXAMPLES / name / each, directory)
        quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--silent")
        _run(directory, "npm", "install", *quiet)
    return [_program("node"), str(directory / "main.js")]


def rust(name: str) -> list[str]:
    """A program in Rust, built. Raises NotThere."""
    with _built(f"copy-{name}") as directory:
        build = ("cargo", "build", "--release", "--locked", "-q")
        _run(EXAMPLES / name, *build, "--target-dir", str(directory))
    return [str(directory / "release" / f"copy-{name}")]


@contextmanager
def _built(name: str) -> Iterator[Path]:
    """A directory for what is built; one process at a time."""
    directory = cache_directory() / name
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield directory


def _run(directory: Path, program: str, *arguments: str) -> None:
    command = [_program(program), *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        raise NotThere(done.stderr.strip() or done.stdout.strip())


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotThere(f"{name} is not installed")
    return found


CLIENTS: Final[Mapping[str, Client]] = {
    "librdkafka-1.8": Client(
        "librdkafka 1.8.2 (confluent-kafka-go 1.8.2)",
        "librdkafka-go",
        partial(go, "librdkafka-go"),
    ),
    "librdkafka-2.0": Client(
        "librdkafka 2.0.2 (confluent-kafka 2.0.2)", "copy_confluent_kafka.py", old_librdkafka
    ),
    "confluent-kafka": Client(
        "librdkafka 2.16.0 (confluent-kafka 2.16.1)",
        "copy_confluent_kafka.py",
        partial(python, "confluent_kafka"),
    ),
    "confluent-kafka-consumer": Client(
        "librdkafka 2.16.0, KIP-848",
        "copy_confluent_kafka.py",
        partial(python, "confluent_kafka"),
        group_protocol="consumer",
    ),
    "java-3.9": Client("Java 3.9.2", "CopyTopic.java", partial(java, "3.9.2")),
    "java": Client("Java 4.1.1", "CopyTopic.java", java),
    "java-4.4": Client("Java 4.4.0", "CopyTopic.java", partial(java, "4.4.0")),
    "java-4.4-consumer": Client(
        "Java 4.4.0, KIP-848",
        "CopyTopic.java",
        partial(java, "4.4.0"),
        group_protocol="consumer",
    ),
    "franz-go": Client("franz-go 1.22.2", "franz-go", partial(go, "franz-go")),
    "franz-go-consumer": Client(
        "franz-go 1.22.2, KIP-848",
        "franz-go",
        partial(go, "franz-go"),
        group_protocol="consumer",
    ),
    "sarama": Client("sarama 1.61.1", "sarama", partial(go, "sarama")),
    "kafka-go": Client(
        "kafka-go 0.4.51, no transactions",
        "kafka-go",
        partial(go, "kafka-go"),
        left_out=OF_TRANSACTIONS,
    ),
    "kafkajs": Client("kafkajs 2.2.4", "kafkajs", partial(node, "kafkajs")),
    "platformatic-kafka": Client(
        "@platformatic/kafka 2.12.1", "platformatic-kafka", partial(node, "platformatic-kafka")
    ),
    "platformatic-kafka-consumer": Client(
        "@platformatic/kafka 2.12.1, KIP-848",
        "platformatic-kafka",
        partial(node, "platformatic-kafka"),
        group_protocol="consumer",
    ),
    "aiokafka": Client("aiokafka 0.14.0", "copy_aiokafka.py", partial(python, "aiokafka")),
    "kafka-python": Client(
        "kafka-python 3.0.12", "copy_kafka_python.py", partial(python, "kafka_python")
    ),
    "rskafka": Client(
        "rskafka 0.6.0, neither groups nor transactions",
        "rskafka",
        partial(rust, "rskafka"),
        left_out=(*OF_TRANSACTIONS, "offsets-committed"),
    ),
}
"""The clients by their names, in the order of the page."""

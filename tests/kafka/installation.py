"""Kafka's jars from Maven, cached outside of the checkout, and their command lines.

They are in `${OTTLA_CACHE:-~/.cache/ottla}/kafka-VERSION/libs`, and those of Kafka Streams and of
other files for Maven beside them. The first download takes a minute.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
STREAMS = HERE / "kafka-streams.xml"
VERSION = "4.4.0"
MAVEN_TIMEOUT_S = 600
TOOL_TIMEOUT_S = 60

# Packages of tools by their short names; the default is org.apache.kafka.tools.
PACKAGES = {
    "Kafka": "kafka",
    "StorageTool": "kafka.tools",
    "ConsoleConsumer": "org.apache.kafka.tools.consumer",
    "ConsoleShareConsumer": "org.apache.kafka.tools.consumer",
    "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group",
    "ShareGroupCommand": "org.apache.kafka.tools.consumer.group",
    "StreamsGroupCommand": "org.apache.kafka.tools.streams",
    "ReassignPartitionsCommand": "org.apache.kafka.tools.reassign",
}


class NotInstalled(Exception):
    """Java or Maven is missing, or Maven could not get the jars."""


def cache_directory() -> Path:
    """The directory of large downloads."""
    return Path(os.environ.get("OTTLA_CACHE") or Path.home() / ".cache/ottla")


def libraries(pom: Path = POM) -> Path:
    """The directory of the jars; Maven downloads them the first time. Raises NotInstalled."""
    directory = cache_directory() / _name_of(pom) / "libs"
    complete = directory / ".complete"
    if complete.exists() and complete.read_text() == pom.read_text():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != pom.read_text():
            _install(pom, directory)
            complete.write_text(pom.read_text())
    return directory


def _name_of(pom: Path) -> str:
    """A name with the version of the jars: VERSION, or that of the file's own name."""
    own = {POM: f"kafka-{VERSION}", STREAMS: f"{STREAMS.stem}-{VERSION}"}
    return own.get(pom, pom.stem)


def _install(pom: Path, directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    command = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
    command.append(f"-DoutputDirectory={directory}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"Maven: {error}") from None
    if done.returncode != 0:
        raise NotInstalled(f"Maven: {done.stdout[-2000:]}")


def java(*arguments: str, logging: str = "log4j2-tools.xml", pom: Path = POM) -> list[str]:
    """A command line of the JVM with Kafka's classes. Raises NotInstalled."""
    executable = shutil.which("java")
    if executable is None:
        raise NotInstalled("there is no java")
    settings = f"-Dlog4j2.configurationFile={HERE / logging}"
    return [executable, "-cp", f"{libraries(pom)}/*", settings, *arguments]


def tool_class(name: str) -> str:
    """The full name of a tool's class, also from a short name (`TopicCommand`)."""
    return name if "." in name else f"{PACKAGES.get(name, 'org.apache.kafka.tools')}.{name}"


def tool(
    name: str, *arguments: str, stdin: str = "", timeout_s: float = TOOL_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run a tool of Kafka by the short (`TopicCommand`) or full name of its class."""
    flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return subprocess.run(
        java(*flags, tool_class(name), *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )

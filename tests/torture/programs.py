"""The applications: planted bugs in tests/torture/planted, right ones in examples/clients."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from ottla.testing import Ottla

from ..conform.clients import CLIENTS, EXAMPLES, ROOT, go, java

_ENVIRONMENT: Final = "COPY_HEARTBEAT_INTERVAL_MS=300"

PLANTED_DIRECTORY: Final = ROOT / "tests/torture/planted"

PLANTED: Final = (
    "abortable_ignored",
    "AbortableIgnored.java",
    "fire_and_forget",
    "no_abort",
    "offsets_outside_transaction",
    "offsets_outside_transaction_go",
    "one_id_for_all_copies",
    "read_uncommitted",
    "rebalance_ignored",
    "used_after_fencing",
)
"""The modules and programs of tests/torture/planted."""

RIGHT: Final = ("confluent-kafka", "franz-go", "java")
"""The names of clients in tests/conform/clients.py."""


def planted(name: str) -> list[str]:
    """The command of an application with a bug, built. Raises NotThere."""
    if name.endswith(".java"):
        return java(source=PLANTED_DIRECTORY / name)
    if name.endswith("_go"):
        return go(name, PLANTED_DIRECTORY)
    return ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", f"tests.torture.planted.{name}"]


def right(name: str) -> list[str]:
    """The command of a right application, built. Raises NotThere."""
    command = CLIENTS[name].command()
    if name == "java":
        command = _quick_java(command)
    return ["env", _ENVIRONMENT, *command]


def _quick_java(command: list[str]) -> list[str]:
    """The command with an archive of loaded classes, which saves a third of the start's CPU time.

    The archive takes jars only, so the class of the program becomes one. Both are named by the
    source, because a changed class does not fit its archive.
    """
    *program, path, main = command
    classes, libraries = path.split(os.pathsep)
    source = sha256((EXAMPLES / f"{main}.java").read_bytes()).hexdigest()[:16]
    jar = Path(classes, f"{main}-{source}.jar")
    archive = jar.with_suffix(".jsa")
    path = f"{jar}{os.pathsep}{libraries}"
    if not archive.exists():
        make = ["jar", "--create", "--file", str(jar), "-C", classes, f"{main}.class"]
        subprocess.run(make, check=True)
        fresh = archive.with_suffix(f".{os.getpid()}")
        _copy_one([*program[:-1], f"-XX:ArchiveClassesAtExit={fresh}", "-cp", path, main])
        fresh.rename(archive)
    return [*program[:-1], f"-XX:SharedArchiveFile={archive}", "-cp", path, main]


def _copy_one(command: list[str]) -> None:
    """Run a right application until it has copied a record."""
    with Ottla() as broker:
        broker.create_topic("input")
        broker.create_topic("output")
        broker.produce("input", [("key", "value")])
        variables = {
            "OTTLA_BOOTSTRAP": broker.bootstrap_servers,
            "OTTLA_INPUT": "input",
            "OTTLA_OUTPUT": "output",
            "OTTLA_GROUP": "copiers",
            "OTTLA_TRANSACTIONAL_ID": "copier",
            "OTTLA_RECORDS": "1",
        }
        environment = os.environ | variables
        subprocess.run(command, env=environment, check=True, capture_output=True)

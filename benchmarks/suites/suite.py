"""What a suite is, and its outcome."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kafka.installation import NotInstalled

INSTALL_TIMEOUT_S = 600
RUN_TIMEOUT_S = 300


class SuiteFailed(Exception):
    """A test of the suite failed, or the suite did not end in time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run of a suite happens.

    Attributes:
        broker: its name: "ottla", "kafka" or "kfake".
        bootstrap: HOST:PORT; empty for a suite that starts its own brokers.
        scratch: an empty directory of this run.
    """

    broker: str
    bootstrap: str
    scratch: Path


@dataclass(frozen=True, slots=True)
class Suite:
    """A test suite.

    Attributes:
        install: bring the suite into this directory, if it is not there yet. Raises NotInstalled.
        command: the words that run it, the environment's additions, and the working directory.
        settings: of the broker.
        starts_brokers: the suite starts its own brokers, and its time has their starts.
        units: the tests of one run, by the broker; the table shows the time of so many tests.
    """

    name: str
    install: Callable[[Path], None]
    command: Callable[[Path, Place], tuple[Sequence[str], Mapping[str, str], Path]]
    settings: Mapping[str, str] = field(default_factory=dict)
    starts_brokers: bool = False
    units: Mapping[str, int] = field(default_factory=dict)


def run_suite(suite: Suite, installed: Path, place: Place) -> float:
    """Run a suite once; the seconds that it took. Raises SuiteFailed."""
    words, additions, directory = suite.command(installed, place)
    began_s = time.monotonic()
    try:
        done = subprocess.run(
            list(words), cwd=directory, env={**os.environ, **additions}, timeout=RUN_TIMEOUT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SuiteFailed(f"it did not end in {RUN_TIMEOUT_S} s") from None
    seconds = time.monotonic() - began_s
    if done.returncode:
        failed = re.findall(r"^(?:--- FAIL|FAILED|ERROR|panic:).*$", done.stdout, re.MULTILINE)
        raise SuiteFailed("; ".join(failed[:4]) or done.stdout[-400:])
    return seconds


def call(words: Sequence[str], directory: Path, additions: Mapping[str, str] | None = None) -> str:
    """Run a command of an installation; its output. Raises NotInstalled."""
    program = shutil.which(words[0])
    if program is None:
        raise NotInstalled(f"there is no {words[0]}")
    try:
        done = subprocess.run(
            [program, *words[1:]], cwd=directory, env={**os.environ, **(additions or {})},
            capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise NotInstalled(f"{words[0]}: {late}") from None
    if done.returncode:
        raise NotInstalled(f"{' '.join(words[:3])}: {done.stderr[-800:]}")
    return done.stdout

"""Runs `ottla diff` on two brokers, with the program of these tests."""

from __future__ import annotations

import sys
from pathlib import Path

from ottla.cli.app import run
from ottla.testing import Ottla

PROGRAM = str(Path(__file__).with_name("program.py"))


def diff(pair: tuple[Ottla, Ottla], report: Path, *words: str) -> int:
    """The exit status of the command; the report is JSON if its name says so."""
    first, second = (broker.bootstrap for broker in pair)
    kind = ["--json"] if report.suffix == ".json" else []
    return run(["diff", "--with", second, "--ottla", first, "--out", str(report), *kind, *words])


def program(topic: str, *steps: str) -> list[str]:
    return ["--", sys.executable, PROGRAM, topic, *steps]

"""Tests with a fresh broker each: it starts, a record is written and read by a group, it ends."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .suite import Place, Suite

TESTS = 200
TESTS_OF_KAFKA = 10  # each takes seconds
PROGRAM = Path(__file__).resolve().parent / "programs/fresh_broker_tests.py"
ROOT = PROGRAM.parents[3]


def _command(directory: Path, place: Place) -> tuple[Sequence[str], Mapping[str, str], Path]:
    words = [
        sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(place.scratch),
        "-p", "no:cacheprovider", "-p", "no:asyncio", "--basetemp", str(place.scratch / "pytest"),
        str(PROGRAM),
    ]  # fmt: skip
    variables = {
        "BENCH_BROKER": place.broker,
        "BENCH_TESTS": str(SUITE.units.get(place.broker, TESTS)),
        "PYTHONPATH": str(ROOT),
    }
    return words, variables, place.scratch


SUITE = Suite(
    f"{TESTS} tests of pytest with a fresh broker each",
    lambda directory: None,
    _command,
    starts_brokers=True,
    units={"ottla": TESTS, "kfake": TESTS, "kafka": TESTS_OF_KAFKA},
)

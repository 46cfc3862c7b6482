"""Ten queries of Spark's structured streaming, each from a topic to a topic."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .suite import Place, Suite

QUERIES = 10
PROGRAM = Path(__file__).resolve().parent / "programs/spark_queries.py"


def _command(directory: Path, place: Place) -> tuple[Sequence[str], Mapping[str, str], Path]:
    words = [sys.executable, str(PROGRAM), place.bootstrap, str(place.scratch), str(QUERIES)]
    return words, {"PYTHONPATH": str(PROGRAM.parents[3])}, place.scratch


SUITE = Suite(
    f"{QUERIES} streaming queries of Spark",
    lambda directory: None,
    _command,
)

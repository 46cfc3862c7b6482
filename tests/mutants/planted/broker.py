"""Bugs of the outside: connections, dispatch, shards, flushes, markers, quotas, sessions."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-flush-succeeds-after-that-of-the-metadata-failed",
        "broker/flushes.py",
        "                failure = failed\n        failures.append(failure)",
        "                failures.append(failed)\n                continue\n"
        "        failures.append(failure)",
        "a record is acknowledged whose topic is gone after a loss of power",
        ("tests/broker/test_flushes.py",),
    ),
)

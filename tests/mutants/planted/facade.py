"""Bugs of what people import and type, and of the pipeline's audit."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-broker-that-ended-by-sigterm-is-unnoticed",
        "facade/testing.py",
        "if gone_before or status not in (0, -signal.SIGTERM):",
        "if status not in (0, -signal.SIGTERM):",
        "a test passes whose broker was stopped in its middle",
        ("tests/facade/test_testing.py",),
    ),
    Mutant(
        "a-failing-body-leaves-the-broker-running",
        "facade/testing.py",
        "broker.kill()  # the error of the body is what matters",
        "pass",
        "brokers of failed tests stay behind and hold their ports",
        ("tests/facade/test_testing.py",),
    ),
    Mutant(
        "the-garbage-collector-stays-off",
        "facade/__main__.py",
        "gc.enable()  # the process may go on after `main`",
        "pass",
        "a process that called `main` grows without bound",
        ("tests/facade/test_main.py",),
    ),
    Mutant(
        "one-visible-order-is-not-torn",
        "spark/audit.py",
        "if 0 < seen < len(entry.ids()):",
        "if 1 < seen < len(entry.ids()):",
        "the demo says that all is well when a transaction is seen in part",
        ("tests/spark/test_audit.py",),
    ),
    Mutant(
        "all-orders-but-one-are-not-torn",
        "spark/audit.py",
        "if 0 < seen < len(entry.ids()):",
        "if 0 < seen < len(entry.ids()) - 1:",
        "the demo says that all is well when a transaction is seen in part",
        ("tests/spark/test_audit.py",),
    ),
)

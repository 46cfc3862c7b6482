"""Bugs of the command line and the testing API, and of the pipeline's audit."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-broker-that-ended-by-sigterm-is-unnoticed",
        "testing/broker.py",
        "if gone_before or status not in (0, -signal.SIGTERM, None):",
        "if status not in (0, -signal.SIGTERM, None):",
        "a test passes although its broker stopped during the test",
        ("tests/testing/test_testing.py",),
    ),
    Mutant(
        "a-forked-broker-holds-the-connections-of-others",
        "serving/template_process.py",
        "for each in (self._listening, self._wake, self._waking, *self._brokers.values()):",
        "for each in (self._listening, self._wake, self._waking):",
        "a client does not see that its broker and the template ended",
        ("tests/serving/test_template.py",),
    ),
    Mutant(
        "a-failing-body-leaves-the-broker-running",
        "testing/broker.py",
        "        self.kill()\n        self._ports.release()",
        "        self._ports.release()",
        "brokers of failed tests keep running and hold their ports",
        ("tests/testing/test_testing.py",),
    ),
    Mutant(
        "the-garbage-collector-stays-off",
        "serving/serve.py",
        "gc.enable()  # the process may go on after `main`",
        "pass",
        "the memory of a process that called `main` grows without bound",
        ("tests/serving/test_main.py",),
    ),
    Mutant(
        "one-visible-order-is-not-torn",
        "spark/audit/ledger_audit.py",
        "if 0 < seen < len(entry.ids()):",
        "if 1 < seen < len(entry.ids()):",
        "the demo reports success although a transaction is partly visible",
        ("tests/spark/test_audit.py",),
    ),
    Mutant(
        "all-orders-but-one-are-not-torn",
        "spark/audit/ledger_audit.py",
        "if 0 < seen < len(entry.ids()):",
        "if 0 < seen < len(entry.ids()) - 1:",
        "the demo reports success although a transaction is partly visible",
        ("tests/spark/test_audit.py",),
    ),
)

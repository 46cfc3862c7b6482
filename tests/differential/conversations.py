"""The number and length of random conversations with both brokers.

OTTLA_CONVERSATIONS is their number (25).
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .conftest import Pair


def hold(machine: Any, pair: Pair) -> None:
    """Run conversations; one with different answers is shrunk to the shortest such one."""
    run_state_machine_as_test(
        type(machine.__name__, (machine,), {"pair": pair}),
        settings=settings(
            max_examples=int(os.environ.get("OTTLA_CONVERSATIONS", "25")),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            print_blob=True,
        ),
    )

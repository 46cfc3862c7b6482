"""Random conversations with both brokers: how many, and how long.

OTTLA_CONVERSATIONS says how many to hold (25).
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .conftest import Pair


def hold(machine: Any, pair: Pair) -> None:
    """Hold them; one that goes different ways is shrunk to the shortest that still does."""
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

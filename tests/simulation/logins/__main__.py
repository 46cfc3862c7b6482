"""Replay a seed with its trace, or run many seeds: `python -m tests.simulation.logins SEED`."""

from __future__ import annotations

import sys

from ..command import Simulation, run
from .mutations import MUTATIONS
from .world import LoginsSimulationError, World, simulate

if __name__ == "__main__":
    sys.exit(
        run(
            Simulation("tests.simulation.logins", World, simulate, LoginsSimulationError, MUTATIONS)
        )
    )

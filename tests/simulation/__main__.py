"""Replay a seed with its trace, or run many seeds: `python -m tests.simulation SEED`."""

from __future__ import annotations

import sys

from .command import Simulation, run
from .mutations import MUTATIONS
from .world import SimulationError, World, simulate

if __name__ == "__main__":
    sys.exit(run(Simulation("tests.simulation", World, simulate, SimulationError, MUTATIONS)))

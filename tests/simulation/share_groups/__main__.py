"""Replay a seed with its trace, or run many: `python -m tests.simulation.share_groups SEED`."""

from __future__ import annotations

import sys

from ..command import Simulation, run
from .mutations import MUTATIONS
from .world import ShareGroupsSimulationError, World, simulate

NAME = "tests.simulation.share_groups"

if __name__ == "__main__":
    sys.exit(run(Simulation(NAME, World, simulate, ShareGroupsSimulationError, MUTATIONS)))

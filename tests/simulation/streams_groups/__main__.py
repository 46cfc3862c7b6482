"""Replay a seed with its trace, or run many: `python -m tests.simulation.streams_groups SEED`."""

from __future__ import annotations

import sys

from ..command import Simulation, run
from .mutations import MUTATIONS
from .world import StreamsGroupsSimulationError, World, simulate

NAME = "tests.simulation.streams_groups"

if __name__ == "__main__":
    sys.exit(run(Simulation(NAME, World, simulate, StreamsGroupsSimulationError, MUTATIONS)))

"""A simulation: runs a seed of its world, and says how a failure is replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .planting import Plants
from .scheduler import Ran, Scheduler


class SimulationError(AssertionError):
    """A broken invariant, with the command that replays the run."""


class World(Protocol):
    """A simulated world; its scheduler has the trace."""

    scheduler: Scheduler

    def run(self) -> Ran:
        """Run to the end. Raises AssertionError if an invariant is broken."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulation.

    Attributes:
        name: names it on the command line.
        promise: what holds in each run.
        world: makes the world of a seed.
        mutations: bugs that its seeds must find.
        happens: the least number of each event in the first hundred seeds.
    """

    name: str
    promise: str
    world: Callable[[int], World]
    mutations: Plants
    happens: Mapping[str, int]

    def run(self, seed: int) -> Ran:
        """Run a seed. Raises SimulationError if an invariant is broken."""
        world = self.world(seed)
        try:
            return world.run()
        except Exception as failed:
            raise SimulationError(
                f"seed {seed}: {type(failed).__name__}: {failed}\n"
                f"replay it with its trace: python -m tests.simulation {self.name} {seed}"
            ) from failed

    def count_events(self, seeds: Iterable[int]) -> Counter[str]:
        """Run seeds; the number of events of each kind. Raises SimulationError."""
        happened: Counter[str] = Counter()
        for seed in seeds:
            happened.update(self.run(seed).happened)
        return happened

"""One run: a world from a seed, its faults, its end, and the checks.

After the faults all clients are stopped and all brokers run. Then every transaction must end by
itself, and new processes of the same programs must be able to commit.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from ottla.coordinator.outcome import Outcome
from ottla.coordinator.transactions.states import LAST_EPOCH, NO_PARTITIONS, State, Transaction

from . import checks
from .application import Habits, Program
from .cluster import Cluster, Durability
from .consumer import Watcher
from .faults import Faults, Plan
from .history import History
from .loop import running
from .network import Chances, Network
from .scheduler import START_MS, Ran, Scheduler

_TROUBLE_MS: Final = 5_000
_FIRST_OF_THE_PAST: Final = 1_000_000  # producer ids that are never allocated
_BEAT_MS: Final = 30
_LATEST_MS: Final = 2_500  # the latest messages have arrived by then
_LONGEST_TIMEOUT_MS: Final = 3_000
_LOOKS_AGAIN_MS: Final = 10_000  # for coordinators whose wall clock may have been corrected
_NO_LIMIT: Final = 1 << 20
_FOR_ONE_DECISION: Final = 400
"""A batch size that fits any decision of a program, but few of them."""

_CHANCES: Final = (
    Chances(),
    Chances(usual_ms=30),
    Chances(lost=0.02, doubled=0.05, late=0.05),
    Chances(lost=0.03, doubled=0.1, late=0.25),
    Chances(lost=0.08, doubled=0.15, late=0.2, usual_ms=20),
)
_OF_MARKERS: Final = (
    Chances(),
    Chances(lost=0.1, doubled=0.2, late=0.4),
    Chances(lost=0.3, doubled=0.2, late=0.4),
)


_IN_TWO_PHASES: Final = 0.25
"""The share of the runs with two-phase commit."""


class World:
    """The brokers, clients and faults of one run."""

    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        random = scheduler.random
        self._late_ms = random.choice([0, 0, 40, 400])
        network = Network(scheduler, random.choice(_CHANCES), random.choice(_OF_MARKERS))
        orders = tuple(("orders", index) for index in range(random.randint(1, 3)))
        results = ("results", 0)
        self.cluster = Cluster(
            scheduler,
            network,
            brokers=random.randint(1, 3),
            partitions=(*orders, results),
            coordinators=random.randint(1, 2),
            durability=random.choice(list(Durability)),
            segment_bytes=random.choice([1 << 30, 1_500]),
            flush_ms=random.choice([5, 60]),
            batch_bytes=random.choice([_NO_LIMIT, _FOR_ONE_DECISION]),
            has_own_channel=random.random() < 0.5,
        )
        scheduler.note("world", self.cluster.durability.name, bool(self.cluster.nodes))
        self.history = History()
        habits = Habits(
            bumps=random.choice([0.0, 0.0, 0.5, 1.0, 1.0]),
            timeout_ms=random.choice([1_000, _LONGEST_TIMEOUT_MS]),
            longest_sleep_ms=random.choice([10, 30, 200]),
            patience=random.choice([1.0, 0.3]),
            in_two_phases=Random(f"two phases {seed}").random() < _IN_TWO_PHASES,
        )
        self.programs = [
            Program(self.cluster, self.history, name, habits, targets=(*orders, results))
            for name in ("shop", "bank")[: random.randint(1, 2)]
        ]
        self.mover = Program(
            self.cluster, self.history, "books", habits, targets=(results,), source=orders[0]
        )
        self.programs.append(self.mover)
        with running(scheduler, self.cluster.loop):
            for number, program in enumerate(self.programs):
                self._give_a_past(program.transactional_id, _FIRST_OF_THE_PAST + number, random)
        self.cluster.refused = random.choice([0, 0, 0.05])
        self.watcher = Watcher(self.cluster, max_bytes=random.choice([1, 300, 2_000]))
        self.faults = Faults(
            self.cluster, self.programs, Plan(every_ms=random.choice([100, 250, 600]))
        )
        self._beat()

    def _give_a_past(self, transactional_id: str, producer_id: int, random: Random) -> None:
        """Give some transactional ids epochs near the last one."""
        epoch = random.choice([None, None, LAST_EPOCH - 4, LAST_EPOCH - 2, LAST_EPOCH - 1])
        if epoch is None:
            return
        past = Transaction(
            transactional_id, producer_id, epoch, 1_000,
            State.COMPLETE_COMMIT, NO_PARTITIONS, START_MS, START_MS,
        )  # fmt: skip
        hosted = self.cluster.hosted[self.cluster.coordinator_of(transactional_id)]
        self.cluster.run(hosted, lambda machine, now: Outcome(None, (past,)))

    def _beat(self) -> None:
        """Tick the coordinators at their deadlines, with the delay of this seed."""
        self.cluster.tick(self._late_ms)
        self.scheduler.after(_BEAT_MS, self._beat)

    def run(self) -> Ran:
        """Run faults, wait for the end of all transactions, commit one more of each program."""
        with running(self.scheduler, self.cluster.loop):
            self._run()
        return Ran(self.scheduler.trace, self.scheduler.happened)

    def _run(self) -> None:
        for program in self.programs:
            program.start()
        self._run_for(_TROUBLE_MS)
        self._calm_down()
        for program in self.programs:
            program.stop()
        self._complete_prepared()
        looks_again_ms = _LOOKS_AGAIN_MS if self.cluster.clock.has_stepped else 0
        self._run_for(_LATEST_MS + _LONGEST_TIMEOUT_MS + looks_again_ms)
        checks.check_all_ended(self.cluster)
        for program in self.programs:
            program.start()
        self._run_until(self._all_committed, "new processes of the programs cannot commit")
        for program in self.programs:
            program.stop()
        self._complete_prepared()
        self._run_for(_LONGEST_TIMEOUT_MS + 500)
        self._run_until_all_was_read()
        checks.check_all_ended(self.cluster)
        checks.check_acknowledged(self.cluster, self.history, self.watcher)
        checks.check_exactly_once(self.cluster, self.mover)

    def _complete_prepared(self) -> None:
        """No timeout ends a transaction in two phases: a new process completes what is left."""
        if not self.programs[0].habits.in_two_phases:
            return
        for program in self.programs:
            program.complete()
        self._run_until(
            lambda: not any(program.process.is_alive for program in self.programs),
            "a new process cannot complete a prepared transaction",
        )

    def _all_committed(self) -> bool:
        return all(
            program.committed or (program.source is not None and program.has_read_all)
            for program in self.programs
        )

    def _all_was_read(self) -> bool:
        return all(
            reader.position == self.cluster.hosted[reader.partition].open_log.log_end_offset
            for reader in self.watcher.readers
        )

    def _run_until_all_was_read(self) -> None:
        """Let the readers read on. Raises AssertionError after ten seconds without progress."""
        silent_s, before = 0, 0
        while not self._all_was_read():
            self._run_for(1000)
            read = sum(reader.position for reader in self.watcher.readers)
            silent_s = silent_s + 1 if read == before else 0
            before = read
            assert silent_s < 10, "a reader does not reach the end"

    def _run_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Run events until the condition is true. Raises AssertionError if it never is."""
        for _ in range(400):
            if is_so():
                return
            self._run_for(100)
        raise AssertionError(otherwise)

    def _run_for(self, duration_ms: int) -> None:
        self.scheduler.run(self.scheduler.now_ms + duration_ms)

    def _calm_down(self) -> None:
        self.scheduler.note("calm")
        self.faults.stop()
        self.cluster.network.calm_down()
        self.cluster.is_calm = True
        self.cluster.clock.catch_up()
        if self.cluster.refused_for_good:
            self.cluster.reload()
        self._late_ms = 0

"""Measures how the CPU of one request grows with partitions and with connections.

Each row has the same requests for every size: one after the other, each to the next partition, or
over the next connection. Each size has its own broker, and all sizes take turns in every round, so
that a change of the machine's speed meets all of them. The table shows the median of the rounds and
its ratio to the first size; the goal is less than 1.5 for the last.

The second table is the restart after SIGKILL with 1 GB of log: seconds from exec to the first
answer to Metadata and to Fetch; the goal is 1 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_partitions import Serving, create
from benchmarks.restart_load import Restart, restarted
from benchmarks.scale_load import (
    ConsumerOfMany,
    Load,
    ManyConsumers,
    ManyProducers,
    Place,
    ProducerToMany,
    Transactions,
)
from tests.kafka.processes import schedule_seconds
from tests.wire.broker import Broker

GOAL = 1.5
GOAL_S = 1.0
PARTITIONS = (10, 100, 1_000, 10_000)
CONNECTIONS = (10, 100, 1_000)
PARTITIONS_OF_CONNECTIONS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a load, and the sizes that it is measured with.

    Attributes:
        begin: starts the load; its argument is the size.
        requests: the number of units in a round.
        partitions: the partitions of the topics, by the size.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    begin: Callable[[Broker, list[Place], int], Load]
    requests: int
    partitions: Callable[[int], int]


def _same(size: int) -> int:
    return size


def _few(size: int) -> int:
    return PARTITIONS_OF_CONNECTIONS


ROWS = (
    Row(
        "produce, by partitions", "record", PARTITIONS,
        lambda broker, places, size: ProducerToMany(broker, places), 5_000, _same,
    ),
    Row(
        "produce and long poll, by partitions", "record", PARTITIONS,
        lambda broker, places, size: ConsumerOfMany(broker, places), 1_000, _same,
    ),
    Row(
        "transaction, by partitions", "transaction", PARTITIONS,
        lambda broker, places, size: Transactions(broker, places, 1), 1_000, _same,
    ),
    Row(
        "produce, by connections", "record", (1, *CONNECTIONS),
        ManyProducers, 5_000, _few,
    ),
    Row(
        "produce and long poll, by connections", "record", (1, *CONNECTIONS),
        ManyConsumers, 3_000, _same,
    ),
    Row(
        "transaction, by connections", "transaction", (1, *CONNECTIONS),
        Transactions, 1_000, _few,
    ),
)  # fmt: skip


def main() -> int:
    """Measure and print; exit status 1 if --check is given and a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    parser.add_argument("--sizes", type=int, nargs="*", help="only these sizes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a goal is missed")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"CPU of the broker in µs, {given.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    table: dict[str, dict[int, float]] = {}
    for row in ROWS:
        if given.only in row.name:
            sizes = [size for size in row.sizes if not given.sizes or size in given.sizes]
            table[row.name] = measured(row, sizes, given.rounds)
            print_row(row, table[row.name])
    restarts = [
        restarted(name, partitions, batch_bytes)
        for name, partitions, batch_bytes in RESTARTS
        if given.only in name
    ]
    print_restarts(restarts)
    if given.json:
        print(json.dumps({"cpu_us": table, "restarts": [one.as_dict() for one in restarts]}))
    grows = any(ratio_of(costs) >= GOAL for costs in table.values())
    is_slow = any(max(one.metadata_s, one.fetch_s) > GOAL_S for one in restarts)
    return 1 if given.check and (grows or is_slow) else 0


RESTARTS = (
    ("restart, 1 partition, batches of 16 KB", 1, 16_000),
    ("restart, 100 partitions, batches of 16 KB", 100, 16_000),
    ("restart, 1 partition, batches of 1 MB", 1, 1_000_000),
    ("restart, 1 partition, batches of 1 KB", 1, 1_000),
)


def measured(row: Row, sizes: list[int], rounds: int) -> dict[int, float]:
    """The median CPU of one unit in µs, by size."""
    costs: dict[int, list[float]] = {size: [] for size in sizes}
    with ExitStack() as stack:
        loads = {}
        for size in sizes:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="ottla-scale-"))
            serving = Serving(Path(directory))
            stack.callback(serving.kill)
            topics = create(serving.broker, row.partitions(size))
            places = [(name, index) for name, count in topics.items() for index in range(count)]
            load = row.begin(serving.broker, places, size)
            stack.callback(load.close)
            load.run(max(size, row.requests // 5))  # the first use of each partition is not counted
            loads[size] = (serving.pid, load)
        for number in range(rounds):
            for size in sizes[:: 1 if number % 2 == 0 else -1]:
                pid, load = loads[size]
                before_s = schedule_seconds(pid)
                load.run(row.requests)
                costs[size].append((schedule_seconds(pid) - before_s) * 1e6 / row.requests)
    return {size: statistics.median(found) for size, found in costs.items()}


def ratio_of(costs: dict[int, float]) -> float:
    """The CPU at the last size divided by that at the first."""
    sizes = list(costs)
    return costs[sizes[-1]] / costs[sizes[0]]


def print_row(row: Row, costs: dict[int, float]) -> None:
    """A line of the table."""
    first = costs[next(iter(costs))]
    cells = [f"{size:,}: {cost:.0f} ({cost / first:.2f})" for size, cost in costs.items()]
    met = "met" if ratio_of(costs) < GOAL else "NOT MET"
    print(f"{row.name + ', per ' + row.unit:52}{'  '.join(cells)}  {met}", flush=True)


def print_restarts(restarts: list[Restart]) -> None:
    """The table of restarts."""
    for one in restarts:
        met = "met" if max(one.metadata_s, one.fetch_s) <= GOAL_S else "NOT MET"
        print(
            f"{one.name:52}Metadata {one.metadata_s:.2f} s, Fetch {one.fetch_s:.2f} s, "
            f"CPU {one.cpu_s:.2f} s, {one.resident_mb:.0f} MB  {met}"
        )


if __name__ == "__main__":
    sys.exit(main())

"""Measures the data source `kafka-log` inside Spark: bytes of segments per second and core.

It writes the segments once, reads them at the levels batches and records with one task at a time
and with two, and deletes them. The goals: 150 MB/s a core at level batches, 30 MB/s a core at level
records, Python workers below 512 MiB, and time in proportion to bytes. The rows go to Spark's sink
`noop`, so each row with all its columns reaches the JVM. CPU is that of the Python workers and of
the JVM together: unlike the rate it hardly changes with the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.log_load import KINDS, MB, Usage, measured, write_hard, write_mix
from ottla.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOALS_MB_PER_S = {"batches": 150, "headers": 150, "records": 30}
GOAL_MIB = 512
# The time per byte of the largest size, divided by that of the smallest.
GOAL_PROPORTION = 1.25
SIZES_GB = (1, 2, 4, 8)
HEADERS = "topic,partition,base_offset,last_offset,producer_id,producer_epoch,base_sequence,records"
OPTIONS: dict[str, dict[str, str]] = {
    "batches": {"level": "batches"},
    "headers": {"level": "batches", "columns": HEADERS},
    "records": {"level": "records"},
}


@dataclass(slots=True)
class Bench:
    """The session, the directory, and the goals that were missed."""

    spark: SparkSession
    directory: Path
    cores: int
    missed: list[str]

    def read(self, what: str, **options: str) -> tuple[Usage, int]:
        """Read once; the usage and the bytes of the segments."""
        given = {**OPTIONS[what], **options}
        with measured() as usage:
            frame = self.spark.read.format("kafka-log").options(**given).load(str(self.directory))
            frame.write.format("noop").mode("overwrite").save()
        return usage, _size_bytes(self.directory, options)

    def rate(self, what: str, name: str, *, has_goal: bool = True, **options: str) -> Usage:
        """Read once and print a line of the table.

        Args:
            has_goal: of its rate; all reads have that of memory.
        """
        usage, size = self.read(what, **options)
        rate = size / MB / usage.wall_s / self.cores
        cpu_s = usage.worker_cpu_s + usage.jvm_cpu_s
        is_met = rate >= GOALS_MB_PER_S[what] or not has_goal
        if not is_met:
            self.missed.append(f"{what} of {name} with {self.cores} tasks: {rate:.0f} MB/s a core")
        self._memory(f"{what} of {name}", usage)
        python_s, jvm_s = (each / size * 1e9 for each in (usage.worker_cpu_s, usage.jvm_cpu_s))
        print(
            f"{what:8} {name:14} {self.cores:5} {size / MB / 1000:6.1f} {usage.wall_s:7.1f} "
            f"{rate:9.0f} {python_s:9.2f} {jvm_s:7.2f} "
            f"{size / MB / cpu_s:9.0f} {usage.peak_mb:6.0f} {usage.growth_mb:6.0f}"
            f"  {'' if is_met else 'missed'}",
            flush=True,
        )
        return usage

    def _memory(self, what: str, usage: Usage) -> None:
        if usage.peak_mb * 1000 > GOAL_MIB * 1024:
            self.missed.append(f"{what}: a worker of {usage.peak_mb:.0f} MB")


HEADING = (
    f"{'level':8} {'segments':14} {'tasks':>5} {'GB':>6} {'s':>7} {'MB/s/core':>9} "
    f"{'Python s':>9} {'JVM s':>7} {'MB/CPU s':>9} {'peak':>6} {'rise':>6}\n"
    f"{'':8} {'':14} {'':5} {'':6} {'':7} {'':9} {'per GB':>9} {'per GB':>7} {'':9} "
    f"{'MB':>6} {'MB':>6}"
)


def _size_bytes(directory: Path, options: dict[str, str]) -> int:
    """The bytes of the segments that the options select."""
    topics = options["topic"].split(",")
    low, _, high = options.get("partition", "0-1000").partition("-")
    return sum(
        path.stat().st_size
        for path in directory.glob("*/*.log")
        for topic, _, partition in (path.parent.name.rpartition("-"),)
        if topic in topics and int(low) <= int(partition) <= int(high or low)
    )


MIX = ",".join(kind.topic for kind in KINDS)


def main() -> int:
    """Print the tables; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=int, default=10, help="of segments; default 10")
    parser.add_argument("--directory", type=Path, help="where to write them; a temporary one")
    parser.add_argument("--skip-memory", action="store_true", help="no large segments and batches")
    given = parser.parse_args()
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-log-", dir=given.directory) as name:
        directory = Path(name)
        write_mix(directory, given.gigabytes)
        if not given.skip_memory:
            write_hard(directory)
        print(f"load of the machine: {os.getloadavg()[0]:.1f}\n{HEADING}", flush=True)
        for cores in (1, 2):
            made = session(
                "bench-log",
                master=f"local[{cores}]",
                log_path=Path(os.devnull),
                with_connector=False,
                settings={"spark.driver.memory": "1g"},
            )
            bench = Bench(made, directory, cores, missed)
            try:
                _measure(bench, given.gigabytes)
                if cores == 1 and not given.skip_memory:
                    _hard(bench)
            finally:
                made.stop()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    for each in missed:
        print(f"missed: {each}")
    print(f"goals: {'missed' if missed else 'met'}")
    return 1 if missed else 0


def _measure(bench: Bench, gigabytes: int) -> None:
    bench.read("records", topic="lz4", partition="0")  # starts the workers
    for what in OPTIONS:
        bench.rate(what, "all", topic=MIX)
    if bench.cores > 1:
        return
    for kind in KINDS:
        bench.rate("records", kind.topic, topic=kind.topic, partition="0-1")
    for what in ("batches", "records"):
        sizes = [size for size in SIZES_GB if size <= gigabytes]
        each = [bench.rate(what, f"{n} GB", topic=MIX, partition=f"0-{n - 1}") for n in sizes]
        first, last = ((n.worker_cpu_s + n.jvm_cpu_s) for n in (each[0], each[-1]))
        proportion = last / first / (sizes[-1] / sizes[0])
        print(
            f"{what}: CPU per byte of {sizes[-1]} GB is {proportion:.2f} of that of {sizes[0]} GB"
        )
        if proportion > GOAL_PROPORTION:
            bench.missed.append(f"{what}: time per byte grows by {proportion:.2f}")


def _hard(bench: Bench) -> None:
    for what in ("batches", "records"):
        bench.rate(what, "1 GB, split", topic="whole")
        bench.rate(what, "1 GB, whole", topic="whole", minSplitBytes=str(1 << 31))
        for topic in ("largesmall", "largekb"):
            bench.rate(what, topic, topic=topic)
        # Some MB that decompress to hundreds: the rate of these bytes says little.
        bench.rate(what, "largezstd", has_goal=False, topic="largezstd")


if __name__ == "__main__":
    sys.exit(main())

"""Compares throughput, latency and CPU of Ottla and Apache Kafka, in alternating rounds.

Each workload runs in its own process (load.py), one round on each broker in turn. The table shows
the medians over the rounds and their ratio: more than 1 is better for Ottla. CPU is the broker's
time for a thousand units. OTTLA_KAFKA=HOST:PORT names a running, warm Kafka on this machine;
otherwise the benchmark starts one, which needs Maven's jars and is slow at first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import WORKLOADS
from ottla.testing import running_broker
from tests.kafka.installation import NotInstalled
from tests.kafka.node import running_kafka
from tests.kafka.processes import cpu_seconds, listener

HERE = Path(__file__).resolve().parent
LOAD_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a workload on one broker."""

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms_per_1000: float


def measure(
    bootstrap: str, workload: str, seconds: float, load: str = "load.py"
) -> tuple[str, Run]:
    """Run a workload of a load generator; returns its unit and its numbers."""
    process_id = listener(int(bootstrap.rsplit(":", 1)[1]))
    assert process_id is not None, f"no process listens at {bootstrap}"
    before = cpu_seconds(process_id)
    command = [sys.executable, str(HERE / load), bootstrap, workload, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LOAD_TIMEOUT_S)
    if done.returncode != 0:
        raise SystemExit(f"{workload} on {bootstrap}:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout)
    cpu_ms = (cpu_seconds(process_id) - before) * 1000
    cost = cpu_ms * 1000 / max(found["count"], 1)
    return found["unit"], Run(found["per_s"], found["p50_ms"], found["p99_ms"], cost)


def median(runs: list[Run]) -> Run:
    """The median of each number."""
    return Run(
        *(
            statistics.median(getattr(run, name) for run in runs)
            for name in ("per_s", "p50_ms", "p99_ms", "cpu_ms_per_1000")
        )
    )


def rounds(
    brokers: Mapping[str, str], workload: str, count: int, seconds: float, *, load: str = "load.py"
) -> tuple[str, dict[str, Run]]:
    """Run a workload on both brokers alternately, in changing order; returns unit and medians."""
    runs: dict[str, list[Run]] = {name: [] for name in brokers}
    unit = ""
    for i in range(count):
        for name in list(brokers)[:: 1 if i % 2 == 0 else -1]:
            unit, run = measure(brokers[name], workload, seconds, load)
            runs[name].append(run)
    return unit, {name: median(found) for name, found in runs.items()}


def row(workload: str, unit: str, medians: Mapping[str, Run]) -> str:
    """A row of the table."""
    ottla = medians["ottla"]
    line = f"{workload:17}{ottla.per_s:11,.0f} {unit + '/s':15}"
    for latency_ms in (ottla.p50_ms, ottla.p99_ms):
        line += f"{latency_ms:8.2f}" if latency_ms > 0 else f"{'-':>8}"
    line += f"{ottla.cpu_ms_per_1000:13.2f}"
    kafka = medians.get("kafka")
    if kafka is None:
        return line
    line += f"{ottla.per_s / kafka.per_s:9.2f}"
    for name in ("p50_ms", "p99_ms", "cpu_ms_per_1000"):
        mine, other = getattr(ottla, name), getattr(kafka, name)
        line += f"{other / mine:8.2f}" if mine > 0 else f"{'-':>8}"
    return line


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one load")
    parser.add_argument("--quick", action="store_true", help="two rounds of a second")
    parser.add_argument("--only", default="", help="only workloads with this prefix")
    parser.add_argument("--json", type=Path, help="write the medians to this file too")
    given = parser.parse_args()
    count, seconds = (2, 1.0) if given.quick else (given.rounds, given.seconds)
    with ExitStack() as stack:
        settings = {"group.initial.rebalance.delay.ms": "0"}
        brokers = {"ottla": stack.enter_context(running_broker(settings=settings)).bootstrap}
        kafka = os.environ.get("OTTLA_KAFKA")
        try:
            brokers["kafka"] = kafka or stack.enter_context(running_kafka())
        except NotInstalled as missing:
            print(f"without Kafka: {missing}", file=sys.stderr)
        print(f"{count} rounds of {seconds} s, load {os.getloadavg()[0]:.1f}", end="")
        print(f"; Kafka {'as found' if kafka else 'just started'}; a ratio over 1: Ottla is faster")
        print(f"{'':17}{'Ottla':>11} {'':15}{'p50 ms':>8}{'p99 ms':>8}{'CPU ms/1000':>13}", end="")
        print(f"{'ratio':>9}{'p50':>8}{'p99':>8}{'CPU':>8}")
        table = {}
        for workload in WORKLOADS:
            if not workload.startswith(given.only):
                continue
            unit, table[workload] = rounds(brokers, workload, count, seconds)
            print(row(workload, unit, table[workload]), flush=True)
    if given.json:
        plain = {w: {b: vars_of(run) for b, run in runs.items()} for w, runs in table.items()}
        given.json.write_text(json.dumps(plain, indent=1))
    return 0


def vars_of(run: Run) -> dict[str, float]:
    """A run as a JSON object."""
    return {name: getattr(run, name) for name in Run.__slots__}


if __name__ == "__main__":
    sys.exit(main())

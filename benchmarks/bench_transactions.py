"""Compares transactions per second of Ottla and a warm Apache Kafka, in alternating rounds.

Workloads: one producer with one record, and with 100 records on 10 partitions; eight producers; and
a loop that commits its offsets with each transaction. Each runs with raw requests
(raw_transactions.py), with librdkafka, which itself needs more than a millisecond per transaction,
and with Kafka's Java client. The table shows medians over the rounds, latencies of whole
transactions, and the ratio of the rates: more than 1 is better for Ottla. OTTLA_KAFKA=HOST:PORT
names a running Kafka on this machine; otherwise the benchmark starts one. Both are warmed up first.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_quick import Run, measure, rounds
from benchmarks.load_transactions import WORKLOADS
from ottla.testing import running_broker
from tests.kafka.installation import NotInstalled
from tests.kafka.node import running_kafka

LOAD = "load_transactions.py"
WARM_UP = "8 x 100 on 10"
# The printed numbers of a run, with width and digits.
COLUMNS = (("per_s", 12, 0), ("p50_ms", 10, 2), ("p99_ms", 10, 2), ("cpu_ms_per_1000", 10, 0))


def row(workload: str, medians: Mapping[str, Run]) -> str:
    """A row of the table: each number of Ottla and of Kafka, and the ratio of the rates."""
    ottla, kafka = medians["ottla"], medians.get("kafka")
    line = f"{workload:18}"
    for name, width, digits in COLUMNS:
        line += f"{getattr(ottla, name):{width + 2}.{digits}f}"
        line += f"{getattr(kafka, name):{width - 2}.{digits}f}" if kafka else f"{'-':>{width - 2}}"
    return line + (f"{ottla.per_s / kafka.per_s:9.1f}" if kafka else "")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one load")
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds for each broker")
    parser.add_argument("--only", default="", help="only workloads with this prefix")
    given = parser.parse_args()
    with ExitStack() as stack:
        settings = {"group.initial.rebalance.delay.ms": "0"}
        brokers = {"ottla": stack.enter_context(running_broker(settings=settings)).bootstrap}
        try:
            brokers["kafka"] = os.environ.get("OTTLA_KAFKA") or stack.enter_context(running_kafka())
        except NotInstalled as missing:
            print(f"without Kafka: {missing}", file=sys.stderr)
        for bootstrap in brokers.values():
            for workload in (WARM_UP, "1 record"):
                measure(bootstrap, workload, given.warm_up / 2, LOAD)
        print(
            f"{given.rounds} rounds of {given.seconds} s after {given.warm_up} s of warming up, ",
            end="",
        )
        print(f"load {os.getloadavg()[0]:.1f}; a ratio over 1: Ottla is faster")
        print(
            f"{'':18}{'commits/s':>24}{'p50 ms':>20}{'p99 ms':>20}{'CPU ms/1000':>20}{'ratio':>9}"
        )
        print(f"{'':18}{'Ottla':>14}{'Kafka':>10}" + f"{'Ottla':>12}{'Kafka':>8}" * 3)
        for workload in WORKLOADS:
            if workload.startswith(given.only):
                _, medians = rounds(brokers, workload, given.rounds, given.seconds, load=LOAD)
                print(row(workload, medians), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

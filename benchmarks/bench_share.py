"""Compares the share consumer of Kafka's Java client on Ottla and on a warm Apache Kafka.

Each broker has a topic of 1 KB records, in batches of 16 KB as by the Java producer's defaults, or
of 1 MB. A new share group reads it from the beginning (ShareConsumption.java), on one broker after
the other in the order A B B A. Only the time from the first records to the last counts. The table
shows medians over the rounds: records per second, user CPU of the broker's process for a record,
the share of the machine that other processes used, and the ratios Ottla / Kafka. The goals are for
batches of 16 KB; with those of 1 MB, of which a fetch gets one, the client sets the rate.
OTTLA_KAFKA=HOST:PORT names a running Kafka on this machine; otherwise the benchmark starts one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Producer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load_transactions import new_topic
from benchmarks.peers import Peer, running_peers
from benchmarks.processor import CORES, busy_s
from tests.kafka.installation import java, libraries
from tests.kafka.processes import cpu_seconds, user_seconds

PROGRAM = Path(__file__).resolve().parent / "ShareConsumption.java"
RECORD_BYTES = 1000
BATCH_BYTES = {"16 KB": 16_384, "1 MB": 1_000_000}
JUDGED = "16 KB"  # the batches to which the goals apply
GOAL_RATE = 1.5
GOAL_USER_CPU = 0.5
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One consumption of a topic.

    Attributes:
        per_s: records per second.
        user_us: user CPU of the broker for a record, in microseconds.
        others_share: share of all cores that neither broker nor consumer used, 0 to 1.
    """

    per_s: float
    user_us: float
    others_share: float


def filled_topic(peer: Peer, batch_bytes: int, count: int) -> str:
    """A new topic of one partition with records of 1 KB."""
    topic = new_topic(peer.bootstrap, 1)
    settings = {
        "bootstrap.servers": peer.bootstrap,
        "acks": "all",
        "batch.size": batch_bytes,
        "linger.ms": 50,
        "queue.buffering.max.messages": count,
        "queue.buffering.max.kbytes": 1 << 20,
    }
    producer = Producer(settings)
    for _ in range(count):
        producer.produce(topic, b"x" * RECORD_BYTES, partition=0)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0, "not all records were acknowledged"
    return topic


def compiled(classes: Path) -> list[str]:
    """Compile the consumer into a directory; returns its command line without arguments."""
    command = ["javac", "-d", str(classes), "-cp", f"{libraries()}/*", str(PROGRAM)]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
    run = java("-Xmx512m")
    run[run.index("-cp") + 1] += f"{os.pathsep}{classes}"
    return [*run, PROGRAM.stem]


def consumed(peer: Peer, consumer: list[str], topic: str, count: int) -> Sample:
    """Read a topic once, with a share group of its own."""
    group = f"share-{uuid.uuid4().hex[:12]}"
    command = [*consumer, peer.bootstrap, topic, group, str(count)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        seen = []
        for word in ("began", "ended"):
            line = run.stdout.readline().split()
            if not line or line[0] != word:
                run.kill()
                raise SystemExit(f"the consumer on {peer.name}: {run.stderr.read()[-2000:]}")
            broker_s, client_s = cpu_seconds(peer.process_id), cpu_seconds(run.pid)
            user_s = user_seconds(peer.process_id)
            seen.append((user_s, busy_s() - broker_s - client_s, time.perf_counter()))
        records, took_s = int(line[1]), int(line[2]) / 1e9
    user_s, others_s, wall_s = (late - early for early, late in zip(*seen, strict=True))
    others = max(0.0, others_s) / (wall_s * CORES)
    return Sample(records / took_s, user_s * 1e6 / records, others)


def compare(peers: list[Peer], consumer: list[str], shape: str, *, rounds: int, count: int) -> bool:
    """Measure records in batches of one size, and print; return whether their goals are met."""
    topics = {peer.name: filled_topic(peer, BATCH_BYTES[shape], count) for peer in peers}
    samples: dict[str, list[Sample]] = {peer.name: [] for peer in peers}
    for number in range(-1, rounds):  # the first round warms up
        for peer in (*peers, *reversed(peers)):
            sample = consumed(peer, consumer, topics[peer.name], count)
            if number >= 0:
                samples[peer.name].append(sample)
    line = f"{shape:8}"
    for figure, width in (("per_s", 12), ("user_us", 10), ("others_share", 10)):
        for peer in peers:
            line += f"{_median(samples[peer.name], figure):{width}.{2 if width < 12 else 0}f}"
    if len(peers) < 2:
        print(line, flush=True)
        return True
    ours, kafka = (samples[peer.name] for peer in peers)
    rate, user_cpu = (_median(ours, each) / _median(kafka, each) for each in ("per_s", "user_us"))
    print(f"{line}{rate:10.2f}{user_cpu:10.2f}", flush=True)
    return shape != JUDGED or (rate >= GOAL_RATE and user_cpu <= GOAL_USER_CPU)


def _median(samples: list[Sample], figure: str) -> float:
    figures: list[float] = [getattr(sample, figure) for sample in samples]
    return statistics.median(figures)


def main() -> int:
    """Measure and print; the status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="each has two runs on each broker")
    parser.add_argument("--records", type=int, default=200_000, help="in each run")
    parser.add_argument("--only", choices=list(BATCH_BYTES), help="batches of this size alone")
    given = parser.parse_args()
    with TemporaryDirectory() as classes, running_peers(["ottla", "kafka"]) as peers:
        consumer = compiled(Path(classes))
        load = os.getloadavg()[0]
        print(
            f"{given.rounds} x 2 runs of {given.records} records of 1 KB, load {load:.1f};", end=" "
        )
        print(f"goals: rate >= {GOAL_RATE}, user CPU <= {GOAL_USER_CPU}")
        print(f"{'batches':8}{'records/s':>24}{'user us/record':>20}{'others':>20}", end="")
        print(f"{'rate':>10}{'user CPU':>10}")
        print(f"{'':8}{'Ottla':>12}{'Kafka':>12}" + f"{'Ottla':>10}{'Kafka':>10}" * 2)
        shapes = [given.only] if given.only else list(BATCH_BYTES)
        met = [
            compare(peers, consumer, shape, rounds=given.rounds, count=given.records)
            for shape in shapes
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())

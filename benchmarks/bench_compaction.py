"""Measures the cost of compaction: its duration for 1 KB records, and the latency of other
requests.

Fills a compacted topic and measures the latency of small Produce requests to another topic, first
without the cleaner, then while it works: two rows of the table. The target is a 99th percentile
that does not double.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import Result, Wire, produce_body, result
from ottla.testing import running_broker
from tests.kafka.processes import cpu_seconds
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import encode

RECORD_BYTES = 1000
RECORDS_IN_A_BATCH = 100
KEYS = 20_000
PAUSES_S = {"one after the other": 0.0, "one a millisecond": 0.001}


def fill(broker: Broker, topic: str, size_bytes: int) -> None:
    """Write records of random keys, a similar number for each."""
    chance, wire, value = random.Random(1), Wire(broker), os.urandom(RECORD_BYTES)
    for _ in range(size_bytes // (RECORD_BYTES * RECORDS_IN_A_BATCH)):
        keys = [b"key-%06d" % chance.randrange(KEYS) for _ in range(RECORDS_IN_A_BATCH)]
        records = batch([value] * RECORDS_IN_A_BATCH, keys=keys)
        wire.exchange(encode("Produce", 11, produce_body(topic, records), correlation_id=1))


def small_requests(
    broker: Broker, topic: str, pause_s: float, is_over: Callable[[float], bool]
) -> Result:
    """Send requests of one record until `is_over`."""
    frame = encode("Produce", 11, produce_body(topic, batch([b"x" * 100])), correlation_id=1)
    wire = Wire(broker)
    latencies_s: list[float] = []
    started = time.perf_counter()
    while not is_over(time.perf_counter() - started):
        sent = time.perf_counter()
        wire.exchange(frame)
        latencies_s.append(time.perf_counter() - sent)
        time.sleep(pause_s)
    took_s = time.perf_counter() - started
    return result("requests", len(latencies_s), took_s, latencies_s)


def let_compact(broker: Broker, topic: str) -> None:
    policy = {"name": "cleanup.policy", "config_operation": 0, "value": "compact"}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [policy]}
    broker.call("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})


def measure(pause_s: float, size_bytes: int) -> tuple[Result, Result, float, float]:
    """Results before and during compaction; its duration, and its broker's CPU time."""
    settings = {"log.cleaner.backoff.ms": "100"}
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
        checkpoint = Path(directory, "cleaner-offset-checkpoint")
        with running_broker(data_dir=Path(directory), settings=settings) as running:
            host, port = running.bootstrap.rsplit(":", 1)
            broker = Broker((host, int(port)), "compaction")
            filled = broker.topic(cleanup_policy="delete", segment_bytes=16 << 20)
            other = broker.topic()
            fill(broker, filled, size_bytes)
            before = small_requests(broker, other, pause_s, lambda waited_s: waited_s > 3)
            cpu_s, started = cpu_seconds(running.pid), time.perf_counter()
            let_compact(broker, filled)
            meanwhile = small_requests(broker, other, pause_s, lambda _: checkpoint.exists())
            took_s = time.perf_counter() - started
            cpu_s = cpu_seconds(running.pid) - cpu_s
            broker.close()
            return before, meanwhile, took_s, cpu_s


def main() -> int:
    """Measure and print; exit status 1 if --check is given and the percentile doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--check", action="store_true", help="fail when the target is missed")
    given = parser.parse_args()
    missed = False
    print(f"Produce of 100 B, while {given.mb} MB of 1 KB records are compacted\n")
    print(f"{'requests':20}  {'cleaner':8} {'per s':>7} {'p50 ms':>7} {'p99 ms':>7}")
    for name, pause_s in PAUSES_S.items():
        before, meanwhile, took_s, cpu_s = measure(pause_s, given.mb * 1_000_000)
        for first, cleaner, row in ((name, "rests", before), ("", "works", meanwhile)):
            latency = f"{row.p50_ms:7.2f} {row.p99_ms:7.2f}"
            print(f"{first:20}  {cleaner:8} {row.per_s:7.0f} {latency}")
        print(f"{'':20}  compaction took {took_s:.1f} s; {cpu_s:.1f} s of CPU with the requests")
        missed = missed or meanwhile.p99_ms > 2 * before.p99_ms
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())

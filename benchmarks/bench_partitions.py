"""Measures the cost of many partitions in one broker: creation, memory, stop and restart.

Half of the partitions get a record, so that they have files for a restart to check. The targets: a
restart after a clean stop within 3 s, and no work for idle partitions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_start import connected, cpu_ms_of, free_port, resident_mb
from tests.wire.batches import batch
from tests.wire.broker import Broker

RESTART_TARGET_S = 3.0
IDLE_TARGET_MS_PER_S = 2.0
PARTITIONS_IN_A_TOPIC = 1_000
PARTITIONS_IN_A_REQUEST = 500
LOGS_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of the partitions; memory in units of a million bytes."""

    partitions: int
    create_s: float
    write_s: float
    descriptors: int
    full_mb: float
    idle_cpu_ms_per_s: float
    stop_s: float
    restart_s: float
    restarted_mb: float
    restart_unclean_s: float


class Serving:
    """A broker on a directory, and the time from its exec to its first answer.

    Args:
        arguments: further ones of `ottla serve`.
    """

    def __init__(self, directory: Path, arguments: Sequence[str] = ()) -> None:
        self.port = free_port()
        command = [sys.executable, "-P", "-m", "ottla", "serve"]
        command += ["--listen", f"127.0.0.1:{self.port}", "--data-dir", str(directory / "data")]
        command += arguments
        with (directory / "log").open("ab") as log:
            began = time.perf_counter()
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        connected(self.process, self.port).close()
        self.broker = Broker(("127.0.0.1", self.port), "partitions")
        self.start_s = time.perf_counter() - began

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> float:
        """Stop cleanly; returns the duration in seconds."""
        began = time.perf_counter()
        self.process.terminate()
        self.process.wait()
        return time.perf_counter() - began

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> int:
    """Measure and print; exit status 1 if --check is given and a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--idle-s", type=float, default=10.0, help="idle time in seconds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
        costs = measured(Path(directory), given.partitions, given.idle_s)
    if given.json:
        print(json.dumps(asdict(costs)))
    else:
        for name, value in asdict(costs).items():
            print(f"{name:24}{value:12.2f}")
    missed = costs.restart_s > RESTART_TARGET_S or costs.idle_cpu_ms_per_s > IDLE_TARGET_MS_PER_S
    return 1 if given.check and missed else 0


def measured(directory: Path, partitions: int, idle_s: float) -> Costs:
    """Create, write, idle, stop, start, kill, start."""
    serving = Serving(directory)
    try:
        began = time.perf_counter()
        topics = create(serving.broker, partitions)
        create_s = time.perf_counter() - began
        began = time.perf_counter()
        write(serving.broker, topics)
        write_s = time.perf_counter() - began
        wait_for_logs(directory / "data", topics)
        descriptors = len(list(Path(f"/proc/{serving.pid}/fd").iterdir()))
        full_mb = resident_mb(serving.pid)
        before_ms = cpu_ms_of(serving.pid)
        time.sleep(idle_s)
        idle_ms = cpu_ms_of(serving.pid) - before_ms
        stop_s = serving.stop()
        serving = Serving(directory)
        restart_s, restarted_mb = serving.start_s, resident_mb(serving.pid)
        write(serving.broker, topics)
        serving.kill()
        serving = Serving(directory)
        restart_unclean_s = serving.start_s
    finally:
        serving.kill()
    return Costs(
        partitions, create_s, write_s, descriptors, full_mb, idle_ms / idle_s, stop_s,
        restart_s, restarted_mb, restart_unclean_s,
    )  # fmt: skip


def create(broker: Broker, partitions: int) -> dict[str, int]:
    """Create topics with that many partitions in total; returns partitions by topic."""
    topics = {}
    for first in range(0, partitions, PARTITIONS_IN_A_TOPIC):
        name = broker.fresh()
        topics[name] = min(PARTITIONS_IN_A_TOPIC, partitions - first)
        created = broker.create_raw(name, partitions=topics[name])
        assert created["error_code"] == 0, created
    return topics


def wait_for_logs(directory: Path, topics: dict[str, int]) -> None:
    """Wait until every partition has its directory: most are created after the answer."""
    deadline = time.monotonic() + LOGS_TIMEOUT_S
    for name, count in topics.items():
        while not all((directory / f"{name}-{index}").is_dir() for index in range(count)):
            assert time.monotonic() < deadline, f"logs of {name} are missing"
            time.sleep(0.1)


def write(broker: Broker, topics: dict[str, int]) -> None:
    """Write a record into every other partition."""
    records = batch([b"v"])
    for name, count in topics.items():
        for first in range(0, count, PARTITIONS_IN_A_REQUEST):
            indexes = range(first, min(first + PARTITIONS_IN_A_REQUEST, count), 2)
            answers = broker.produce_raw([(name, index, records) for index in indexes])
            assert all(answer["error_code"] == 0 for answer in answers)


if __name__ == "__main__":
    sys.exit(main())

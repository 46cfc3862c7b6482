"""Measures start time and idle memory of a broker: beyond 200 ms or 45 MB, --check fails.

Each start has its own directory and only this client. It sends ApiVersions and Metadata, and after
the idle time the first requests of other kinds, because lazily imported code must not make them
slow. The first start is not counted: it fills the page cache and compiles all modules, into a
directory that the other starts share, as in an installed package. --write puts medians with their
goals into docs/explanation/performance.md; with --zipapp FILE, that of one file is among them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from ottla.protocol.requests import read_answer, request_frame
from ottla.serving.template import Template
from tests.calls.page import with_part

PAGE = Path(__file__).resolve().parent.parent / "docs/explanation/performance.md"
TARGET_MS, TARGET_MB = 200, 45
INSTALLED = (sys.executable, "-P", "-m", "ottla")
API_VERSIONS = struct.pack(">hhih", 18, 0, 1, -1)
METADATA = struct.pack(">hhihi", 3, 1, 2, -1, 0)  # without topics: the brokers only
TOPIC = "first"


@dataclass(frozen=True, slots=True)
class Start:
    """One start. Times count from exec; `cpu_ms` and `start_mb` at the answer to Metadata.

    The times after `idle_mb` are of the first request of each kind: one that creates a topic,
    Produce, Fetch, InitProducerId without a transactional id, and with the first transactional id.
    """

    api_versions_ms: float
    metadata_ms: float
    cpu_ms: float
    start_mb: float
    idle_mb: float
    topic_ms: float
    produce_ms: float
    fetch_ms: float
    producer_id_ms: float
    transactional_id_ms: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the page's table: the median and the smallest of some runs, in ms or MB."""

    name: str
    median: float
    best: float
    unit: str
    goal: float | None = None

    def text(self) -> str:
        """The row in Markdown, with the verdict on the median."""
        goal = "-"
        if self.goal is not None:
            goal = f"<= {self.goal:g}: {'met' if self.median <= self.goal else '**not met**'}"
        return f"| {self.name} | {self.median:.1f} {self.unit} | {self.best:.1f} | {goal} |"


def main() -> int:
    """Measure and print; exit status 1 if --check is given and a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--idle-s", type=float, default=3.0, help="idle time in seconds")
    parser.add_argument("--quick", action="store_true", help="3 runs, idle for a second")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--zipapp", metavar="FILE", help="start this file, too (`make zipapp`)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    runs, idle_s = (3, 1.0) if given.quick else (given.runs, given.idle_s)
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        one_start(0.0)
        starts = [one_start(idle_s) for _ in range(runs)]
        forked = template_starts(runs)
        if given.zipapp:
            forked["zipapp_metadata_ms"] = zipapp_starts(given.zipapp, runs)
    best = {name: min(getattr(start, name) for start in starts) for name in asdict(starts[0])}
    median = {name: statistics.median(getattr(start, name) for start in starts) for name in best}
    if given.json:
        measured = {"best": best, "median": median, "template": forked}
        print(json.dumps({**measured, "load1": os.getloadavg()[0]}))
    else:
        print(f"{runs} starts, load {os.getloadavg()[0]:.1f}       best   median")
        for name in best:
            print(f"{name:24}{best[name]:9.1f}{median[name]:9.1f}")
        for name, values in forked.items():
            print(f"{name:24}{min(values):9.1f}{statistics.median(values):9.1f}")
    if given.write:
        PAGE.write_text(with_part(PAGE.read_text(), "starts", table(best, median, forked, runs)))
    missed = best["metadata_ms"] > TARGET_MS or best["idle_mb"] > TARGET_MB
    return 1 if given.check and missed else 0


def table(
    best: dict[str, float], median: dict[str, float], others: dict[str, list[float]], runs: int
) -> str:
    """The generated part of the page: the median and the best of `runs` starts of each kind."""
    first = "first answered Metadata after exec"
    rows = [
        Row(first, median["metadata_ms"], best["metadata_ms"], "ms", 115),
        Row("processor time until then", median["cpu_ms"], best["cpu_ms"], "ms"),
        Row("idle memory", median["idle_mb"], best["idle_mb"], "MB", 30),
    ]
    for name, shown, unit, goal in (
        ("zipapp_metadata_ms", f"{first}, one file (`make zipapp`)", "ms", 115),
        (
            "template_metadata_ms",
            "a further broker of a test run, first answered Metadata",
            "ms",
            15,
        ),
        ("template_private_mb", "memory of a further broker's own", "MB", None),
    ):
        if values := others.get(name):
            rows.append(Row(shown, statistics.median(values), min(values), unit, goal))
    lines = "\n".join(row.text() for row in rows)
    return f"""\
Measured with Python {platform.python_version()} on {os.cpu_count()} cores; {runs} of each.

| measure | median | best | goal of the median |
|---|---|---|---|
{lines}
"""


def one_start(idle_s: float, program: Sequence[str] = INSTALLED) -> Start:
    """Start a broker, send the first requests, let it idle, send other requests, stop it."""
    with tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory:
        port = free_port()
        command = [*program, "serve", "--listen", f"127.0.0.1:{port}"]
        command += ["--data-dir", str(Path(directory) / "data")]
        with (Path(directory) / "log").open("wb") as log:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            connection = connected(process, port)
            with connection:
                ask(connection, API_VERSIONS)
                api_versions_ms = (time.perf_counter() - began) * 1000
                ask(connection, METADATA)
                metadata_ms = (time.perf_counter() - began) * 1000
                cpu_ms, start_mb = cpu_ms_of(process.pid), resident_mb(process.pid)
                time.sleep(idle_s)
                idle_mb = resident_mb(process.pid)
                first_ms = first_answers_ms(connection)
        finally:
            process.terminate()
            process.wait()
    return Start(api_versions_ms, metadata_ms, cpu_ms, start_mb, idle_mb, *first_ms)


def zipapp_starts(file: str, runs: int) -> list[float]:
    """Starts of one file: ms from exec to Metadata. The first, which unpacks it, does not count."""
    program = [sys.executable, file]
    one_start(0.0, program)
    return [one_start(0.0, program).metadata_ms for _ in range(runs)]


def template_starts(runs: int) -> dict[str, list[float]]:
    """Brokers of a warm template: ms from the request to Metadata, and memory of their own, MB."""
    found: dict[str, list[float]] = {"template_metadata_ms": [], "template_private_mb": []}
    with Template() as template, tempfile.TemporaryFile() as log:
        time.sleep(1.0)  # it makes the first requests ready when it is idle
        for _ in range(runs):
            began = time.perf_counter()
            broker = template.start(["--listen", "127.0.0.1:0"], stdout=log, stderr=log)
            ready = broker.await_ready(10.0)
            if ready is None:
                raise SystemExit("the template's broker did not start")
            host, _, port = ready["bootstrap_servers"].partition(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                ask(connection, API_VERSIONS)
                ask(connection, METADATA)
                found["template_metadata_ms"].append((time.perf_counter() - began) * 1000)
                found["template_private_mb"].append(private_mb(broker.pid))
            broker.terminate()
            broker.wait(10.0)
            broker.close()
    return found


def private_mb(pid: int) -> float:
    """Memory that the process shares with no other, in units of a million bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = [int(line.split()[1]) for line in lines if line.startswith("Private_")]
    return sum(sizes[:2]) * 1024 / 1e6  # clean and dirty; the third is of huge pages


def first_answers_ms(connection: socket.socket) -> tuple[float, ...]:
    """The durations of the requests listed in `Start`, in that order."""

    def timed(api_key: ApiKey, version: int, body: dict[str, Any]) -> tuple[float, Any]:
        frame = request_frame(api_key, version, 7, "bench", body)[4:]
        began = time.perf_counter()
        answered = ask(connection, bytes(frame))
        took_ms = (time.perf_counter() - began) * 1000
        return took_ms, read_answer(api_key, version, 7, answered)

    batch = build([(None, b"x" * 100)], timestamp_ms=1_000, leader_epoch=0)
    named = {"topic_id": None, "name": TOPIC}
    topic_ms, _ = timed(  # as in Kafka, it answers that the topic is missing, and creates it
        ApiKey.METADATA, 12, {"topics": [named], "allow_auto_topic_creation": True}
    )
    partition = {"index": 0, "records": batch}
    topic = {"name": TOPIC, "partition_data": [partition]}
    produce_ms, produced = timed(
        ApiKey.PRODUCE, 9, {"acks": -1, "timeout_ms": 5000, "topic_data": [topic]}
    )
    wanted = {"partition": 0, "partition_max_bytes": 1 << 20}
    topics = [{"topic": TOPIC, "partitions": [wanted]}]
    fetch_ms, fetched = timed(ApiKey.FETCH, 12, {"max_bytes": 1 << 20, "topics": topics})
    timeout = {"transaction_timeout_ms": 1000}
    producer_id_ms, given = timed(ApiKey.INIT_PRODUCER_ID, 4, {"transactional_id": None, **timeout})
    found_ms, found = timed(
        ApiKey.FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": [TOPIC]}
    )
    init_ms, initial = timed(ApiKey.INIT_PRODUCER_ID, 4, {"transactional_id": TOPIC, **timeout})
    codes = [
        produced.responses[0].partition_responses[0].error_code,
        fetched.responses[0].partitions[0].error_code,
        given.error_code,
        found.coordinators[0].error_code,
        initial.error_code,
    ]
    if codes != [Code.NONE] * len(codes):
        raise SystemExit(f"not all of the first answers are good: {codes}")
    return topic_ms, produce_ms, fetch_ms, producer_id_ms, found_ms + init_ms


def connected(process: subprocess.Popen[bytes], port: int) -> socket.socket:
    """A connection, as soon as the broker accepts one."""
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.001)
    raise SystemExit("the broker did not start: try `ottla serve`")


def ask(connection: socket.socket, request: bytes) -> bytes:
    """Send a request, return its answer."""
    connection.sendall(struct.pack(">i", len(request)) + request)
    with connection.makefile("rb") as stream:
        (size_bytes,) = struct.unpack(">i", stream.read(4))
        return stream.read(size_bytes)


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def resident_mb(pid: int) -> float:
    """Resident memory, in units of a million bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (resident_kib,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(resident_kib) * 1024 / 1e6


def cpu_ms_of(pid: int) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())

"""Measures `ottla audit` on large directories: time, rate of a core, memory of each process.

Two shapes: many small transactions, where the headers of batches and the coordinator's log cost
most; few large ones, where the CRC does. Time should be in proportion to bytes, and the memory of a
task should not grow with them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.audit_logs import write_logs
from ottla.spark.audit.main import AuditFailed, of_directory, start_session
from ottla.spark.audit.run import run

MIB = 1 << 20
GIB = 1 << 30


class Memory:
    """The largest resident size of each kind of process below this one, sampled, in bytes."""

    def __init__(self) -> None:
        self.most = {"driver": 0, "JVM": 0, "task": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.2):
            for pid in [os.getpid(), *_below(os.getpid())]:
                kind, size = _kind_and_size(pid)
                if kind:
                    self.most[kind] = max(self.most[kind], size)


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_below(child)]
    return found


def _kind_and_size(pid: int) -> tuple[str, int]:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return "", 0
    kind = "JVM" if b"java" in command[:200] else "task" if b"pyspark" in command else ""
    if pid == os.getpid():
        kind = "driver"
    return kind, pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds() -> float:
    """CPU time of this process and all below, those that ended included."""
    ticks = 0
    for pid in [os.getpid(), *_below(os.getpid())]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def audit_one(directory: str) -> None:
    """Audit a directory in this process and print one line of numbers."""
    spark = start_session("local[2]")
    try:
        spark.range(10).mapInArrow(lambda rows: rows, "id long").count()  # starts the workers
        memory, began, cpu = Memory(), time.monotonic(), cpu_seconds()
        report = run(spark, of_directory(directory))
        seconds, cpu = time.monotonic() - began, cpu_seconds() - cpu
        memory.end()
        if not report.is_clean:
            raise AuditFailed(f"findings in clean logs: {report.counts}")
        most = " ".join(f"{size / MIB:.0f}" for size in memory.most.values())
        batches = sum(each.batches for each in report.partitions)
        sys.stdout.write(f"{seconds:.2f} {cpu:.2f} {batches} {most}\n")
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="0.5,1,2,4", help="GiB of log, separated by commas")
    parser.add_argument("--shapes", default="small,large")
    parser.add_argument("--directory", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.directory:
        audit_one(given.directory)
        return
    head = "shape    GiB  batches transactions  seconds  MiB/s a core  us a batch"
    sys.stdout.write(f"{head}   MiB: driver  JVM  task\n")
    for shape in given.shapes.split(","):
        for size in map(float, given.sizes.split(",")):
            with tempfile.TemporaryDirectory(prefix="ottla-bench-") as path:
                facts = dict(write_logs(Path(path) / "data", int(size * GIB), shape))
                command = [sys.executable, __file__, "--directory", f"{path}/data"]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            seconds, cpu, batches, *most = map(float, done.stdout.split())
            rate = facts["bytes"] / MIB / cpu
            sys.stdout.write(
                f"{shape:7} {facts['bytes'] / GIB:4.2f} {batches:8.0f} {facts['transactions']:12}"
                f" {seconds:8.1f} {rate:13.1f} {cpu / batches * 1e6:11.1f}"
                f"   {most[0]:11.0f} {most[1]:4.0f} {most[2]:5.0f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

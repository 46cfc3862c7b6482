"""Measures `ottla oracle`: time and memory for 10 million records in right histories.

It writes two ledgers to a temporary directory: plain sends of 100 records, and transactions of 20
that a processor reads, writes and commits with offsets. Each record is sent and read once. The goal
is two minutes for each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GOAL_S = 120.0
PARTITIONS = 8

Line = dict[str, Any]


def _both(process: str, op: str, begun: Line, done: Line) -> Iterator[Line]:
    yield {"process": process, "op": op, "type": "begin", **begun}
    yield {"process": process, "op": op, "type": "ok", **done}


def plain(count: int) -> Iterator[Line]:
    """Sends outside transactions, each read by the next poll."""
    ends = dict.fromkeys((f"orders-{n}" for n in range(PARTITIONS)), 0)
    yield {"process": "reader", "op": "assign", "type": "ok", "offsets": dict(ends)}
    for at in range(0, count, 100):
        place = f"orders-{at // 100 % PARTITIONS}"
        first, ends[place] = ends[place], ends[place] + 100
        begun = {place: [[-1, value] for value in range(at, at + 100)]}
        done = {place: [[first + n, at + n] for n in range(100)]}
        yield from _both("producer", "send", {"records": begun}, {"records": done})
        yield from _both("reader", "poll", {}, {"records": done})


def transactions(count: int) -> Iterator[Line]:
    """Transactions on two partitions, with offsets; the markers are gaps for the reader."""
    ends = dict.fromkeys((f"out-{n}" for n in range(PARTITIONS)), 0)
    yield {"process": "reader", "op": "assign", "type": "ok", "offsets": dict(ends)}
    for at in range(0, count, 20):
        txn, pair = f"txn-{at}", at // 20 % (PARTITIONS // 2) * 2
        done = {}
        for half in range(2):
            place = f"out-{pair + half}"
            first, ends[place] = ends[place], ends[place] + 11
            done[place] = [[first + n, at + half * 10 + n] for n in range(10)]
        begun = {place: [[-1, value] for _, value in pairs] for place, pairs in done.items()}
        yield from _both("p", "send", {"txn": txn, "records": begun}, {"txn": txn, "records": done})
        end = {"txn": txn, "group": "copiers", "offsets": {"in-0": at + 20}}
        yield from _both("p", "commit", end, end)
        yield from _both("reader", "poll", {}, {"records": done})


def _measure(name: str, lines: Callable[[int], Iterator[Line]], count: int, path: Path) -> bool:
    with path.open("w") as file:
        for line in lines(count):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    size_mb = path.stat().st_size / 1e6
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        [sys.executable, "-m", "ottla", "oracle", "--history", str(path)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    took_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.stdout.write(
        f"{name:14} {count:>11,} records {size_mb:7,.0f} MB {took_s:6.1f} s"
        f" (CPU {cpu_s:5.1f} s) {after.ru_maxrss >> 10:6,} MiB  {run.stdout.splitlines()[-1:]}\n"
    )
    sys.stdout.flush()
    path.unlink()
    return run.returncode == 0 and took_s < GOAL_S


def main() -> int:
    """Measure both; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--only", choices=["plain", "transactions"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "history.jsonl"
        kinds = {"plain": plain, "transactions": transactions}
        good = [
            _measure(name, lines, given.records, path)
            for name, lines in kinds.items()
            if given.only in (None, name)
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Many brokers for tests, one after the other: `make bench-brokers`.

Each of them is started with `ottla.testing.Ottla`, answers a client and is stopped. At the end no
process, directory or port may be left. The exit status is 1 if one is, or if it took too long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from ottla.serving.health import answers
from ottla.testing import Ottla

LIMIT_S = 60.0


def main() -> int:
    """Run the brokers and print the times; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=1000, metavar="N")
    given = parser.parse_args()
    starts_ms: list[float] = []
    left: list[str] = []
    began_s = time.perf_counter()
    for _ in range(given.brokers):
        broker = Ottla()
        start_s = time.perf_counter()
        with broker:
            starts_ms.append((time.perf_counter() - start_s) * 1000)
            pid, scratch, bootstrap = broker.pid, broker.log_path.parent, broker.bootstrap_servers
            assert trouble(bootstrap) is None
        left += leftovers(pid, scratch, bootstrap)
    took_s = time.perf_counter() - began_s
    first, second, *others = starts_ms
    print(f"first start            {first:8.1f} ms")
    print(f"second (with template) {second:8.1f} ms")
    print(f"others, median         {statistics.median(others):8.1f} ms")
    print(f"others, 99th of 100    {statistics.quantiles(others, n=100)[-1]:8.1f} ms")
    print(f"{given.brokers} brokers{took_s:19.1f} s, limit {LIMIT_S * given.brokers / 1000:.0f} s")
    print(f"left over: {', '.join(left) or 'nothing'}")
    return int(bool(left) or took_s > LIMIT_S * given.brokers / 1000)


def trouble(bootstrap: str) -> str | None:
    """Why a broker does not answer; None if it does."""
    host, _, port = bootstrap.partition(":")
    return answers(host, int(port))


def leftovers(pid: int, scratch: Path, bootstrap: str) -> list[str]:
    """What a broker that was stopped has left."""
    found = []
    try:
        os.kill(pid, 0)
        found.append(f"process {pid}")
    except ProcessLookupError:
        pass
    if scratch.exists():
        found.append(str(scratch))
    if trouble(bootstrap) is None:
        found.append(bootstrap)
    return found


if __name__ == "__main__":
    sys.exit(main())

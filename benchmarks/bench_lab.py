"""The cost of a control that is not used: the loads of bench_quick.py with and without it.

Three brokers run at once: without a control, with one, and with one whose rule and trace were
removed again. Each load runs on each in turn; the table shows the medians of the throughput and of
the broker's CPU time, and their ratio to those without. More than 1 is better than without.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_quick import rounds
from benchmarks.load import WORKLOADS
from ottla.testing.lab import Faults, LabClient, Trace


def free_address() -> str:
    """HOST:PORT that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def broker(control: str) -> Iterator[str]:
    """HOST:PORT of `ottla serve`, with a control at that address unless it is empty."""
    with TemporaryDirectory() as data:
        command = [sys.executable, "-m", "ottla", "serve", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", f"{data}/data", "--ready-json"]
        command += ["--control", control] if control else []
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            try:
                yield ready["bootstrap_servers"]
            finally:
                process.terminate()


def use(control: str) -> None:
    """Add a rule and switch the trace on, and end both."""
    lab = LabClient(lambda: control)
    Faults(lab).add("delay", ms=0)
    Trace(lab).start()
    Faults(lab).clear()
    Trace(lab).stop()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one load")
    parser.add_argument("--only", default="", help="only workloads with this prefix")
    given = parser.parse_args()
    unused, used = free_address(), free_address()
    with ExitStack() as stack:
        brokers = {
            name: stack.enter_context(broker(control))
            for name, control in (("without", ""), ("unused", unused), ("used before", used))
        }
        use(used)
        print(f"{given.rounds} rounds of {given.seconds} s, load {os.getloadavg()[0]:.1f}")
        print(f"{'':17}{'per s':>11}{'CPU ms/1000':>13}", end="")
        print(f"{'unused':>9}{'CPU':>7}{'used':>9}{'CPU':>7}")
        for workload in WORKLOADS:
            if workload.startswith(given.only):
                _, runs = rounds(brokers, workload, given.rounds, given.seconds)
                base = runs["without"]
                line = f"{workload:17}{base.per_s:11,.0f}{base.cpu_ms_per_1000:13.2f}"
                for name in ("unused", "used before"):
                    line += f"{runs[name].per_s / base.per_s:9.3f}"
                    line += f"{base.cpu_ms_per_1000 / runs[name].cpu_ms_per_1000:7.3f}"
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

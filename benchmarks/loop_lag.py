"""Finds requests and tasks that hold the broker's event loop for longer than 20 ms.

Each scene sends a large request, or many, and prints the longest turn of the event loop until the
broker is idle again: milliseconds of processor time of the loop's thread, and the piece of work
that took most of it. `loop_lag.py SCENE...` runs some of the scenes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import make_internal_topics
from tests.wire.broker import Broker
from tests.wire.client import Answer

LIMIT_MS = 20.0
HERE = Path(__file__).resolve().parent
START_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 300.0
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "500",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    "log.retention.check.interval.ms": "2000",
    "log.flush.offset.checkpoint.interval.ms": "5000",
    "group.consumer.max.size": "10000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}


class Bench:
    """A broker that measures its turns, and a connection to it.

    Args:
        directory: for its data and its log.
    """

    def __init__(self, directory: Path) -> None:
        ready = directory / "ready"
        command = [sys.executable, str(HERE / "loop_lag_broker.py"), str(directory / "data")]
        command += [str(ready), *(f"{name}={value}" for name, value in SETTINGS.items())]
        with (directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        ends = time.monotonic() + START_TIMEOUT_S
        while not ready.exists():
            assert self._process.poll() is None, (directory / "log").read_text()[-2000:]
            assert time.monotonic() < ends, "the broker does not start"
            time.sleep(0.02)
        host, port = ready.read_text().strip().rsplit(":", 1)
        self.address = (host, int(port))
        self.broker = Broker(self.address, "lag")
        make_internal_topics(self.broker)
        self._rows: list[tuple[str, float]] = []
        assert self._process.stdout is not None
        self._process.stdout.readline()  # the ready line

    def stop(self) -> None:
        """Kill the broker."""
        self._process.kill()
        self._process.wait()

    def call(self, api: str, version: int, body: Answer) -> Answer:
        """Send a request and return its answer."""
        return self.broker.connection.call(api, version, body, ANSWER_TIMEOUT_S)

    def send(self, frame: bytes) -> bytes:
        """Send an encoded request and return the frame of its answer."""
        self.broker.connection.send_raw(frame)
        return self.broker.connection.frame(ANSWER_TIMEOUT_S)

    def turns(self) -> Any:
        """The turns since the last call. Any: JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print("turns", file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def measured(self, name: str, work: Callable[[], object], wait_s: float = 0.3) -> None:
        """Do some work and print the longest turn until the broker is idle.

        Args:
            wait_s: the broker is idle if it works for less than a twentieth of this time.
        """
        self._idle(wait_s=0.1)
        began_s = time.monotonic()
        work()
        took_s = time.monotonic() - began_s
        found = self._idle(wait_s)
        works = ", ".join(f"{of} {ms:.1f}" for of, ms in found["works"][:3])
        mark = "OVER" if found["longest_ms"] > LIMIT_MS else ""
        self._rows.append((name, found["longest_ms"]))
        row = f"{name:58}{found['longest_ms']:9.1f} {mark:5}{found['busy_ms']:9.0f}{took_s:8.2f}"
        print(f"{row}  {works}", flush=True)

    def _idle(self, wait_s: float) -> Any:
        """Wait until the broker is idle; the turns until then. Any: JSON."""
        longest = self.turns()
        ends_s = time.monotonic() + 60
        while time.monotonic() < ends_s:
            time.sleep(wait_s)
            found = self.turns()
            busy_ms = found["busy_ms"]
            found["busy_ms"] += longest["busy_ms"]
            if found["longest_ms"] < longest["longest_ms"]:
                longest["busy_ms"] = found["busy_ms"]
            else:
                longest = found
            if busy_ms < wait_s * 50:
                break
        return longest

    def over(self) -> list[str]:
        """The names of the rows over the limit."""
        return [name for name, longest_ms in self._rows if longest_ms > LIMIT_MS]


def main() -> int:
    """Run the scenes and print the table."""
    from benchmarks.loop_lag_scenes import SCENES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", help=", ".join(SCENES))
    given = parser.parse_args()
    head = f"{'request or task':58}{'turn ms':>9} {'':5}{'busy ms':>9}{'took s':>8}"
    print(f"{head}  longest pieces, ms")
    over: list[str] = []
    for name in given.scenes or SCENES:
        with tempfile.TemporaryDirectory(prefix="ottla-lag-") as scratch:
            bench = Bench(Path(scratch))
            try:
                SCENES[name](bench)
                over += bench.over()
            finally:
                bench.stop()
    print(f"{len(over)} over {LIMIT_MS:.0f} ms")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

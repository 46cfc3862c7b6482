"""Measures many groups, and one large group, on Ottla and on Apache Kafka: time and memory.

1,000 groups of 5 members and one of 500, in both protocols. It prints the seconds from the first
JoinGroup until all groups are stable, the seconds until they are stable again after one member of
each has left, and the memory of the broker's process afterwards. No member may be lost meanwhile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ottla.testing import running_broker
from tests.kafka.installation import NotInstalled
from tests.kafka.node import running_kafka
from tests.kafka.processes import cpu_seconds, listener, resident_mb

LOAD = Path(__file__).resolve().parent / "group_members.py"
LOAD_TIMEOUT_S = 600
SHAPES = ((1000, 5), (1, 500))
PROTOCOLS = ("classic", "consumer")
SETTINGS = {"group.initial.rebalance.delay.ms": "3000"}  # the default of both


def measured(bootstrap: str, protocol: str, groups: int, members: int) -> str:
    """One run; returns this broker's cells of the table."""
    process_id = listener(int(bootstrap.rsplit(":", 1)[1]))
    assert process_id is not None, f"no process listens at {bootstrap}"
    before_s = cpu_seconds(process_id)
    command = [sys.executable, str(LOAD), bootstrap, protocol, str(groups), str(members)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LOAD_TIMEOUT_S)
    if done.returncode != 0:
        raise SystemExit(f"{protocol}, {groups} x {members} on {bootstrap}:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout)
    assert found["lost"] == 0, found
    cpu_s, memory_mb = cpu_seconds(process_id) - before_s, resident_mb(process_id)
    return f"{found['formed_s']:9.1f}{found['shrunk_s']:12.1f}{cpu_s:9.1f}{memory_mb:10.0f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the groups")
    given = parser.parse_args()
    print(f"{'':28}{'formed s':>9}{'one left s':>12}{'CPU s':>9}{'memory MB':>10}")
    with ExitStack() as stack:
        brokers = {"Ottla": stack.enter_context(running_broker(settings=SETTINGS)).bootstrap}
        try:
            brokers["Kafka"] = stack.enter_context(running_kafka(settings=SETTINGS))
        except NotInstalled as missing:
            print(f"without Kafka: {missing}", file=sys.stderr)
        for groups, members in SHAPES:
            if given.small:
                groups, members = max(1, groups // 10), max(5, members // 10)
            for protocol in PROTOCOLS:
                for name, bootstrap in brokers.items():
                    row = f"{groups} x {members} {protocol}, {name}"
                    print(f"{row:28}{measured(bootstrap, protocol, groups, members)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

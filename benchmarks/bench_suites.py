"""Compares the wall time of test suites on Ottla, on Apache Kafka and, where it can, on kfake.

A run has a fresh broker, as a suite finds it, which is started before, unless the suite starts its
own. The brokers take turns in changing order; the table shows medians. A suite that fails on a
broker is left out there, with its first failures on standard error. --write puts the table into
docs/explanation/performance.md. Run it on a quiet machine: `make bench-suites`.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.peers import running_kfake
from benchmarks.suites import franz_go, fresh_brokers, kafka_python, librdkafka, spark_queries
from benchmarks.suites.suite import Place, Suite, SuiteFailed, run_suite
from ottla.testing import running_broker
from tests.calls.page import with_part
from tests.kafka.installation import NotInstalled, cache_directory
from tests.kafka.node import free_pair, start, stop

PAGE = Path(__file__).resolve().parent.parent / "docs/explanation/performance.md"
SUITES = (
    librdkafka.SUITE, franz_go.SUITE, kafka_python.SUITE, fresh_brokers.SUITE, spark_queries.SUITE,
)  # fmt: skip
BROKERS = ("ottla", "kafka", "kfake")
GOALS = {"kafka": 0.7, "kfake": 1.0}
USUAL = {"group.initial.rebalance.delay.ms": "0"}

Times = dict[str, dict[str, list[float]]]  # seconds of each run, by the suite and the broker


@contextmanager
def _running(broker: str, settings: Mapping[str, str]) -> Iterator[str]:
    """A fresh broker; its HOST:PORT. Raises NotInstalled."""
    settings = {**USUAL, **settings}
    if broker == "ottla":
        with running_broker(settings=settings) as ottla:
            yield ottla.bootstrap_servers
    elif broker == "kfake":
        with running_kfake() as address:
            yield address
    else:
        port = free_pair()
        if node_id := settings.get("node.id"):
            settings["controller.quorum.voters"] = f"{node_id}@127.0.0.1:{port + 1}"
        with tempfile.TemporaryDirectory(prefix="kafka-") as scratch:
            try:
                start(port, Path(scratch), settings)
                yield f"127.0.0.1:{port}"
            finally:
                stop(Path(scratch), kill=True)


def _measured(suite: Suite, installed: Path, broker: str) -> float:
    """The seconds of one run, for as many tests as on Ottla. Raises SuiteFailed, NotInstalled."""
    with tempfile.TemporaryDirectory(prefix="suite-") as scratch:
        if suite.starts_brokers:
            seconds = run_suite(suite, installed, Place(broker, "", Path(scratch)))
            return seconds * suite.units["ottla"] / suite.units[broker]
        with _running(broker, suite.settings) as bootstrap:
            return run_suite(suite, installed, Place(broker, bootstrap, Path(scratch)))


def _measure(suite: Suite, brokers: list[str], rounds: int) -> dict[str, list[float]]:
    installed = cache_directory() / "suites" / suite.name.partition(" ")[0].partition(",")[0]
    installed.mkdir(parents=True, exist_ok=True)
    try:
        suite.install(installed)
    except NotInstalled as missing:
        print(f"without {suite.name}: {missing}", file=sys.stderr)
        return {}
    times: dict[str, list[float]] = {}
    left_out: set[str] = set()
    for number in range(rounds):
        for broker in brokers[:: 1 if number % 2 == 0 else -1]:
            if broker in left_out:
                continue
            try:
                times.setdefault(broker, []).append(_measured(suite, installed, broker))
            except (SuiteFailed, NotInstalled) as failed:
                print(f"{suite.name} on {broker}: {failed}", file=sys.stderr)
                left_out.add(broker)
                times.pop(broker, None)
    return times


def row(suite: str, times: Mapping[str, list[float]]) -> str:
    """The row of a suite, in Markdown, with the goal beside each ratio."""
    medians = {broker: statistics.median(found) for broker, found in times.items() if found}
    cells = [f"{medians[broker]:.1f} s" if broker in medians else "-" for broker in BROKERS]
    ours = medians.get("ottla")
    for peer, goal in GOALS.items():
        if ours is None or peer not in medians:
            cells.append("-")
            continue
        ratio = ours / medians[peer]
        verdict = "met" if ratio <= goal else "**not met**"
        cells.append(f"{ratio:.2f}; goal <= {goal:g}: {verdict}")
    return f"| {suite} | {' | '.join(cells)} |"


HEAD = "| suite | Ottla | Kafka | kfake | beside Kafka | beside kfake |\n|---|---|---|---|---|---|"


def page(times: Times, rounds: int) -> str:
    """The generated part of the page."""
    rows = "\n".join(row(suite, found) for suite, found in times.items())
    return f"""\
Measured with Python {platform.python_version()} on {os.cpu_count()} cores, each on a fresh
broker; medians of runs: {rounds}.

{HEAD}
{rows}
"""


def main() -> int:
    """Measure and print; exit 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="suites whose names contain this")
    parser.add_argument("--brokers", default=",".join(BROKERS))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    times: Times = {}
    print(HEAD, flush=True)
    for suite in SUITES:
        if given.only in suite.name:
            times[suite.name] = _measure(suite, given.brokers.split(","), given.rounds)
            print(row(suite.name, times[suite.name]), flush=True)
    if given.write:
        text = page(times, given.rounds)
        PAGE.write_text(with_part(PAGE.read_text(), "suites", text))
    return int(any("not met" in row(suite, found) for suite, found in times.items()))


if __name__ == "__main__":
    sys.exit(main())

"""Compares Ottla with Apache Kafka and kfake under stock clients, and says which goals are met.

The brokers run one after another in each round, in changing order, after a warm-up. The table shows
the median of the ratios Ottla / peer over the rounds, with the smallest and the largest. A sample
during which other processes used more than 0.3 of the machine is repeated, at most twice, and
marked if that does not help. --write makes docs/explanation/performance.md and its flame graphs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import flame_graphs
from benchmarks.goals import GOALS, Goal
from benchmarks.machine_limits import limits
from benchmarks.peers import Peer, running_peers
from benchmarks.stock_clients import BY_TLS, MEASURES, Sample
from tests.calls.page import with_part
from tests.kafka.installation import VERSION as KAFKA

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs/explanation/performance.md"
LOAD_TIMEOUT_S = 300
MOST_OTHERS = 0.3
ATTEMPTS = 3
FIGURES = ("per_s", "broker_us", "user_us", "p50_ms", "p99_ms")


@dataclass(slots=True)
class Results:
    """All samples of a run: `samples[measure][peer]` has one for each round."""

    samples: dict[str, dict[str, list[Sample]]] = field(default_factory=dict)

    def add(self, measure: str, peer: str, sample: Sample) -> None:
        """Keep a sample."""
        self.samples.setdefault(measure, {}).setdefault(peer, []).append(sample)

    def ratios(self, measure: str, peer: str, figure: str) -> list[float]:
        """The ratio Ottla / peer of each round; rounds without both figures are left out."""
        pairs = zip(
            self.samples[measure].get("ottla", []),
            self.samples[measure].get(peer, []),
            strict=False,
        )
        values = [(getattr(ours, figure), getattr(other, figure)) for ours, other in pairs]
        return [ours / other for ours, other in values if ours > 0 and other > 0]


def sampled(peer: Peer, measure: str, seconds: float) -> Sample:
    """One sample of a measure; the quietest of up to three. Ends the run if the load fails."""
    found: list[Sample] = []
    for _ in range(ATTEMPTS):
        command = [sys.executable, str(HERE / "stock_clients.py"), peer.bootstrap]
        command += [str(peer.process_id), measure, str(seconds)]
        command += [] if peer.tls is None else [peer.tls, peer.authority]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LOAD_TIMEOUT_S)
        if done.returncode != 0:
            raise LoadFailed(f"{measure} on {peer.name}: {done.stderr[-1500:]}")
        found.append(Sample(**json.loads(done.stdout)))
        if found[-1].others_share <= MOST_OTHERS:
            break
    return min(found, key=lambda sample: sample.others_share)


class LoadFailed(Exception):
    """A load generator ended with an error."""


def run(peers: list[Peer], measures: list[str], rounds: int, seconds: float) -> Results:
    """All rounds of all measures. A measure that fails on a peer is left out there."""
    results = Results()
    for measure in measures:
        failed: set[str] = set()
        for number in range(-1, rounds):  # the first round warms up
            for peer in peers[:: 1 if number % 2 == 0 else -1]:
                if peer.name in failed or (measure.endswith(BY_TLS) and peer.tls is None):
                    continue
                try:
                    sample = sampled(peer, measure, seconds if number >= 0 else seconds / 2)
                except LoadFailed as problem:
                    failed.add(peer.name)
                    print(problem, file=sys.stderr)
                    continue
                if number >= 0:
                    results.add(measure, peer.name, sample)
        for line in measure_lines(results, measure, [peer.name for peer in peers]):
            print(line, flush=True)
    return results


def _spread(ratios: list[float]) -> str:
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def verdicts(results: Results, measure: str) -> list[tuple[Goal, float, bool]]:
    """Each goal of a measure with the median ratio and whether it is met."""
    found = []
    for goal in GOALS[measure]:
        ratios = results.ratios(measure, goal.peer, goal.figure)
        if ratios:
            middle = statistics.median(ratios)
            found.append((goal, middle, goal.is_met(middle)))
    return found


def measure_lines(results: Results, measure: str, peers: list[str]) -> list[str]:
    """The rows of one measure, in Markdown."""
    if "ottla" not in results.samples.get(measure, {}):
        return [f"| {measure} | failed | | | | | | | |"]
    ours = results.samples[measure]["ottla"]
    unit = ours[0].unit
    judged = {(goal.peer, goal.figure): (goal, met) for goal, _, met in verdicts(results, measure)}
    lines = []
    for peer in peers:
        if peer == "ottla" or peer not in results.samples[measure]:
            continue
        cells = []
        for figure in FIGURES:
            cell = _spread(results.ratios(measure, peer, figure))
            if (peer, figure) in judged:
                goal, met = judged[peer, figure]
                cell += f"; goal {goal.text()}: {'met' if met else '**not met**'}"
            cells.append(cell)
        lines.append(f"| {measure} | {peer} | " + " | ".join(cells) + f" | {_own(ours, unit)} |")
    return lines


def _own(samples: list[Sample], unit: str) -> str:
    rate = statistics.median(sample.per_s for sample in samples)
    broker_us = statistics.median(sample.broker_us for sample in samples)
    user_us = statistics.median(sample.user_us for sample in samples)
    client_us = statistics.median(sample.client_us for sample in samples)
    peak_mb = max(sample.broker_peak_mb for sample in samples)
    others = max(sample.others_share for sample in samples)
    noisy = f"; others used {others:.0%}" if others > MOST_OTHERS else ""
    return (
        f"{rate:,.0f} {unit}/s; {broker_us:,.1f} µs broker ({user_us:,.2f} user), "
        f"{client_us:,.1f} µs client; {peak_mb:.0f} MB{noisy}"
    )


HEAD = (
    "| measure | beside | rate | CPU of the broker | its user CPU | p50 | p99 | Ottla |\n"
    + "|---" * 8
    + "|"
)


def page(results: Results, peers: list[Peer], rounds: int, seconds: float) -> str:
    """The generated part of docs/explanation/performance.md."""
    names = [peer.name for peer in peers]
    rows = [line for measure in results.samples for line in measure_lines(results, measure, names)]
    bounds = "\n".join(f"| {name} | {rate:,.0f} |" for name, rate in limits().items())
    return f"""\
Measured with Python {platform.python_version()} on {os.cpu_count()} cores, beside Apache
Kafka {KAFKA}, {rounds} rounds of
{seconds:g} s after a warm-up. Ratios are Ottla / peer, the median with the smallest and largest; a
rate is better above 1, CPU per unit and latencies below 1.

{HEAD}
{chr(10).join(rows)}

Limits of that machine, one thread, in 10^6 bytes per second:

| limit | MB/s |
|---|---|
{bounds}
"""


def pictures(names: list[str]) -> str:
    """The flame graphs of the page, in Markdown."""
    if not names:
        return ""
    drawn = [f"![{name}](../flame_graphs/{name}.svg)" for name in names]
    loads = ", ".join(f"{name} ({flame_graphs.LOADS[name]})" for name in names)
    return "\n".join(["", f"Where the broker's time goes under {loads}:", "", *drawn, ""])


def main() -> int:
    """Measure and print; exit 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one load")
    parser.add_argument("--only", default="", help="measures whose names contain this")
    parser.add_argument("--peers", default="ottla,kafka,kfake")
    parser.add_argument("--json", type=Path, help="write all samples to this file too")
    parser.add_argument(
        "--write", action="store_true", help="write docs/explanation/performance.md"
    )
    given = parser.parse_args()
    measures = [name for name in MEASURES if given.only in name]
    started = time.monotonic()
    with running_peers(given.peers.split(",")) as peers:
        print(HEAD, flush=True)
        results = run(peers, measures, given.rounds, given.seconds)
        text = page(results, peers, given.rounds, given.seconds)
        if given.write:
            text += pictures(flame_graphs.draw(next(p for p in peers if p.name == "ottla")))
    if given.json:
        plain = {
            measure: {peer: [asdict(s) for s in samples] for peer, samples in by_peer.items()}
            for measure, by_peer in results.samples.items()
        }
        given.json.write_text(json.dumps(plain, indent=1))
    if given.write:
        PAGE.write_text(with_part(PAGE.read_text(), "measured", text))
    judged = [each for measure in results.samples for each in verdicts(results, measure)]
    met = sum(each[2] for each in judged)
    print(f"{met} of {len(judged)} goals met, in {time.monotonic() - started:.0f} s")
    return 0 if met == len(judged) else 1


if __name__ == "__main__":
    sys.exit(main())

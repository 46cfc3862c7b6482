"""`python -m tests.conform` (`make conform`): all clients that are there, in all scenarios.

`--client NAME` and `--scenario PATTERN`, each any number of times, choose among them; `--pages DIR`
gets a page for each client, `--traces DIR` its traces; `--record` writes what
docs/reference/clients.md is made of. Exit status 1 if a client breaks a rule, or fails, where
known_violations.toml does not say so; 2 if a scenario cannot be run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ottla.trials.conform.html_report import as_html
from ottla.trials.conform.known_violations import FILE
from ottla.trials.conform.scenario_run import CANNOT_RUN, RunPlan, run_scenario
from ottla.trials.conform.scenarios import scenarios_named
from ottla.trials.conform.text_report import print_scenarios

from .clients import CLIENTS, NotThere
from .deviations import unexplained
from .recorded import recording, write

TIMEOUT_S = 60.0


def main() -> int:
    """Run the clients; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conform")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--scenario", action="append", default=[])
    parser.add_argument("--pages", type=Path)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    unknown = []
    for name in given.client or CLIENTS:
        client = CLIENTS[name]
        try:
            command = client.line()
        except NotThere as missing:
            say(f"{name}: left out: {missing}")
            continue
        traces = given.traces / name if given.traces else None
        plan = RunPlan(command, timeout_s=TIMEOUT_S, traces=traces, left_out=client.left_out)
        results = []
        for scenario in scenarios_named(given.scenario):
            try:
                results.append(run_scenario(scenario, plan))
            except CANNOT_RUN as failed:
                say(f"{name}, scenario {scenario.name}: {failed}")
                return 2
        say(f"\n{name}")
        print_scenarios(results)
        if given.pages is not None:
            given.pages.mkdir(parents=True, exist_ok=True)
            (given.pages / f"{name}.html").write_text(as_html(results, name))
        found = recording(client.title, results)
        if given.record:
            write(name, found)
        unknown += [(name, *each) for each in unexplained(name, sorted(found.violations()))]
    for each in unknown:
        say(f"not in {FILE}: {' '.join(each)}")
    return 1 if unknown else 0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

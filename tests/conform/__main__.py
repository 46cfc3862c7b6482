"""`python -m tests.conform` (`make conform`): all clients that are there, in all scenarios.

`--client NAME` and `--scenario PATTERN`, each any number of times, choose among them; `--pages DIR`
gets a page for each client. Exit status 1 if a client breaks a rule, or fails, where deviations.txt
does not say so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ottla.conform.findings import Result
from ottla.conform.html_report import as_html
from ottla.conform.running import Plan, run_scenario
from ottla.conform.scenarios import scenarios_named
from ottla.conform.text_report import print_scenarios
from ottla.verdict.rule import Status

from .clients import CLIENTS, NotThere

DEVIATIONS = Path(__file__).parent / "deviations.txt"
TIMEOUT_S = 60.0


def main() -> int:
    """Run the clients; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conform")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--scenario", action="append", default=[])
    parser.add_argument("--pages", type=Path)
    given = parser.parse_args()
    known = deviations(DEVIATIONS.read_text())
    unknown = []
    for name in given.client or CLIENTS:
        try:
            command = CLIENTS[name]()
        except NotThere as missing:
            say(f"{name}: left out: {missing}")
            continue
        plan = Plan(command, timeout_s=TIMEOUT_S)
        results = [run_scenario(each, plan) for each in scenarios_named(given.scenario)]
        say(f"\n{name}")
        print_scenarios(results)
        if given.pages is not None:
            given.pages.mkdir(parents=True, exist_ok=True)
            (given.pages / f"{name}.html").write_text(as_html(results, name))
        unknown += [each for each in found(name, results) if each not in known]
    for each in unknown:
        say(f"not in {DEVIATIONS.name}: {' '.join(each)}")
    return 1 if unknown else 0


def deviations(text: str) -> set[tuple[str, str, str]]:
    """Client, scenario and rule of each line; # begins a comment."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return {(line[0], line[1], line[2]) for line in lines if line}


def found(name: str, results: list[Result]) -> list[tuple[str, str, str]]:
    """Client, scenario and rule of each violation; `no-end` if the program had to be ended."""
    return [
        (name, result.name, rule)
        for result in results
        for rule in [
            *(each.rule_id for each in result.findings if each.status is Status.VIOLATED),
            *(["no-end"] if result.trouble else []),
        ]
    ]


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""What the clients do otherwise than the rules: tests/conform/deviations.toml, written by hand.

Each was confirmed in the trace, and in the source that it names. A violation that the file does not
have fails `make conform`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).parent / "deviations.toml"


class Deviation(NamedTuple):
    """What some clients do otherwise.

    Attributes:
        title: in a few words.
        clients, scenarios, rules: their names; patterns with *.
        text: what they do, and what follows from it.
        source: where the client's source does it.
        issue: the address of the client's own issue; empty if none was found.
    """

    title: str
    clients: tuple[str, ...]
    scenarios: tuple[str, ...]
    rules: tuple[str, ...]
    text: str
    source: str = ""
    issue: str = ""

    def has(self, client: str, scenario: str, rule: str) -> bool:
        """Whether it explains a violation."""
        return (
            _fits(client, self.clients)
            and _fits(scenario, self.scenarios)
            and _fits(rule, self.rules)
        )


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


def deviations() -> list[Deviation]:
    """All of them, in the order of the file."""
    return [_deviation(each) for each in tomllib.loads(FILE.read_text())["deviation"]]


def _deviation(table: dict[str, Any]) -> Deviation:
    def text(key: str) -> str:
        return " ".join(table.get(key, "").split())

    lists = (tuple(table[key]) for key in ("clients", "scenarios", "rules"))
    clients, scenarios, rules = lists
    return Deviation(
        text("title"), clients, scenarios, rules, text("text"), text("source"), text("issue")
    )


def unexplained(client: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The violations, scenario and rule, that no deviation explains."""
    known = deviations()
    return [
        (scenario, rule)
        for scenario, rule in found
        if not any(each.has(client, scenario, rule) for each in known)
    ]

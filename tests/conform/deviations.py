"""The violations of a client's run that no known violation explains."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.trials.conform.known_violations import known_violations


def unexplained(client: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The violations, scenario and rule, that no known violation explains."""
    return [
        (scenario, rule)
        for scenario, rule in found
        if not any(each.has(client, scenario, rule) for each in known_violations())
    ]

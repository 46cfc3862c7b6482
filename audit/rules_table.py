"""The rules as a table, for docs/reference/audit.md: `python -m ottla.audit.rules_table`."""

from __future__ import annotations

import sys

from .rules import RULES


def table() -> str:
    """The table, with a line break at its end."""
    lines = ["| rule | it says | source | anomaly | severity |", "|---|---|---|---|---|"]
    lines += [
        f"| {rule.id} | {rule.sentence} | {rule.source} | {rule.anomaly} | {rule.severity} |"
        for rule in RULES.values()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())

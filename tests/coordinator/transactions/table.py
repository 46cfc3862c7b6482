"""The cells of `table.txt`: the outcome of every request in every state."""

from __future__ import annotations

from pathlib import Path

from ottla.coordinator.transactions.states import State

TABLE = Path(__file__).with_name("table.txt")


def cells() -> list[tuple[str, str, int, State, str]]:
    """Request, sender, level of transaction.version, state and content of each cell."""
    columns: list[State] = []
    found = []
    for line in TABLE.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, *contents = (part.strip() for part in line.split("|"))
        if not columns:
            columns = [State[name] for name in contents]
            continue
        name, _, level = head.partition(" @")
        request, _, who = name.partition(", ")
        for state, content in zip(columns, contents, strict=True):
            found.append((request, who or "owner", int(level or 2), state, content))
    return found

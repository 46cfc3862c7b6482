"""The tables of docs/how-to/conform.md; `python -m tests.trials.conform.page` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ottla.trials.conform.copy_rules import sentences
from ottla.trials.conform.scenarios import SCENARIOS

PAGE = Path(__file__).parents[3] / "docs/how-to/conform.md"


def rules() -> Iterator[str]:
    """The rows of the runner's rules."""
    return (f"| `{rule_id}` | {sentence} |" for rule_id, sentence in sentences().items())


def scenarios() -> Iterator[str]:
    """The rows of the scenarios."""
    return (f"| `{each.name}` | {each.sentence} |" for each in SCENARIOS)


def written(text: str) -> str:
    """The page with the tables as the code has them."""
    tables = {"| rule | sentence |": rules(), "| scenario | what happens |": scenarios()}
    for head, rows in tables.items():
        table = "\n".join([head, "|---|---|", *rows, ""])
        before, found, rest = text.partition(head + "\n")
        assert found, head
        text = before + table + rest[rest.index("\n\n") + 1 :]
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

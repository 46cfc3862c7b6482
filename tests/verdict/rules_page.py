"""`python -m tests.verdict.rules_page` writes the table of docs/reference/rules.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ottla.verdict.rules.all_rules import RULES

PAGE: Final = Path(__file__).parents[2] / "docs/reference/rules.md"
_BEGIN: Final = "| rule | sentence | applies to | source |\n|---|---|---|---|\n"


def table() -> str:
    """A row for each rule."""
    return _BEGIN + "".join(
        f"| `{rule.rule_id}` | {rule.sentence} | {rule.applies_to} | {rule.source} |\n"
        for rule in RULES
    )


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().split(_BEGIN)[0] + table())

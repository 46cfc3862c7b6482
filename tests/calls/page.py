"""The table of docs/explanation/calls.md, from the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..project_files import ROOT
from .record import Recorded
from .scenes import ROWS

PAGE: Final = ROOT / "docs/explanation/calls.md"

_HEAD: Final = "| request | calls | files |\n|---|---|---|\n"


def table(records: Mapping[str, Recorded]) -> str:
    """A row for each request, with a goal beside each figure that has one."""
    rows = []
    for row in ROWS:
        found = records[row.name]
        calls, files = (
            _beside(found.calls_now, row.goal.calls),
            _beside(found.files, row.goal.files),
        )
        rows.append(f"| {row.name} | {calls} | {files} |\n")
    return _HEAD + "".join(rows)


def _beside(figure: int, goal: int | None) -> str:
    if goal is None:
        return str(figure)
    return f"{figure}; goal <= {goal}: {'met' if figure <= goal else '**not met**'}"


def with_table(page: str, records: Mapping[str, Recorded]) -> str:
    """The page with this table in place of its own."""
    return with_part(page, "counted", table(records))


def with_costs(page: str, text: str) -> str:
    """The page with this text about instructions in place of its own."""
    return with_part(page, "measured", text)


def with_part(page: str, name: str, text: str) -> str:
    """The page with this text in place of the part that is generated under the name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{text}\n{end}{after}"

"""Prints tables and lines: drawn on a terminal, otherwise as plain aligned columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable


class Table(NamedTuple):
    """A title, column names, and rows with one cell per column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def line(text: str) -> None:
    """Print one line on standard output."""
    sys.stdout.write(text + "\n")


def json_line(value: object) -> None:
    """Print a value as one line of JSON."""
    import json

    line(json.dumps(value, default=str))


def table(shown: Table) -> None:
    """Print a table, drawn if standard output is a terminal."""
    if not sys.stdout.isatty():
        _align(shown)
        return
    from rich.console import Console

    Console().print(drawn(shown))


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun: `1 batch`, `2 batches`."""
    return f"{number} {one if number == 1 else several}"


def moment(time_ms: int) -> str:
    """A timestamp in ISO 8601, UTC; `-` for a negative one."""
    if time_ms < 0:
        return "-"
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
    return when.isoformat(sep="T", timespec="milliseconds").replace("+00:00", "Z")


def drawn(shown: Table) -> RichTable:
    """The table as rich draws it; numbers right-aligned, damaged rows in red."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    title, columns, rows = shown
    drawing = RichTable(title=title, title_justify="left", box=SIMPLE_HEAD)
    for at, name in enumerate(columns):
        is_number = bool(rows) and all(row[at][:1].isdigit() or not row[at] for row in rows)
        drawing.add_column(name, justify="right" if is_number else "left", no_wrap=at == 0)
    for row in rows:
        style = "bold red" if any("DAMAGED" in cell for cell in row) else ""
        drawing.add_row(*row, style=style)
    return drawing


def _align(shown: Table) -> None:
    title, columns, rows = shown
    line(f"{title}:")
    whole = [columns, *rows]
    widths = [max(len(row[at]) for row in whole) for at in range(len(columns))]
    for text in _aligned(whole, widths):
        line(text)


def _aligned(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()

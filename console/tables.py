"""Prints tables and lines: drawn on a terminal, otherwise as plain aligned columns.

All commands print by it, so that what clients and brokers chose is escaped in one place
(protocol/shown_text.py); tests/console/test_shown_text.py holds the exceptions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..protocol.shown_text import shown, shown_lines

if TYPE_CHECKING:
    from rich.table import Table as RichTable


_PADDED: Final = 3  # spaces of a column and its border


class Table(NamedTuple):
    """A title, column names, and rows with one cell per column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def print_line(text: str) -> None:
    """Print one line on standard output."""
    sys.stdout.write(shown(text) + "\n")


def print_painted(*parts: str | tuple[str, str]) -> None:
    """Print one line, in colour.

    Args:
        parts: a text, or a text and the escape sequence before it.
    """
    texts = (shown(p) if isinstance(p, str) else f"{p[0]}{shown(p[1])}\x1b[0m" for p in parts)
    sys.stdout.write("".join(texts) + "\n")


def print_lines(text: str) -> None:
    """Print several lines on standard output."""
    sys.stdout.write(shown_lines(text) + "\n")


def print_data(text: str) -> None:
    """Print data of records as they are; on a terminal as `page` does."""
    sys.stdout.write(shown_lines(text) if sys.stdout.isatty() else text)


def print_error(text: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(shown(text) + "\n")


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    import json

    print_line(json.dumps(value, default=str))


def print_answer(values: object, text: str, *, as_json: bool) -> None:
    """Print an answer: its values as one line of JSON, or a line of text."""
    if as_json:
        print_json(values)
    else:
        print_line(text)


def print_table(given: Table) -> None:
    """Print a table, drawn if standard output is a terminal."""
    if not sys.stdout.isatty():
        _align(given)
        return
    from rich.console import Console

    console = Console()
    console.print(render(given, width=console.width))


def plural(number: int, one: str, several: str) -> str:
    """A number with its noun: `1 batch`, `2 batches`."""
    return f"{number} {one if number == 1 else several}"


def format_time(time_ms: int) -> str:
    """A timestamp in ISO 8601, UTC; `-` for a negative one."""
    if time_ms < 0:
        return "-"
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
    return when.isoformat(sep="T", timespec="milliseconds").replace("+00:00", "Z")


def render(given: Table, *, width: int = 0) -> RichTable:
    """The table as rich draws it; numbers right-aligned, damaged rows in red.

    Args:
        width: of the terminal; a wider table is drawn without padding, and long cells are folded.
            0: padding in any case.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    title, columns, rows = _escaped(given)
    longest = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
    is_wide = 0 < width < sum(longest) + _PADDED * len(columns)
    drawing = RichTable(
        title=Text(title),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0 if is_wide else (0, 1),
        show_edge=not is_wide,
    )
    for at, name in enumerate(columns):
        is_number = bool(rows) and all(row[at][:1].isdigit() or not row[at] for row in rows)
        side: Literal["left", "right"] = "right" if is_number else "left"
        drawing.add_column(name, justify=side, no_wrap=at == 0, overflow="fold")
    for row in rows:
        style = "bold red" if any("DAMAGED" in cell for cell in row) else ""
        drawing.add_row(*map(Text, row), style=style)
    return drawing


def _escaped(given: Table) -> Table:
    rows = [[shown(cell) for cell in row] for row in given.rows]
    return Table(shown(given.title), given.columns, rows)


def _align(given: Table) -> None:
    title, columns, rows = _escaped(given)
    print_line(f"{title}:")
    whole = [columns, *rows]
    widths = [max(len(row[at]) for row in whole) for at in range(len(columns))]
    for text in _aligned(whole, widths):
        print_line(text)


def _aligned(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()

"""Texts that several tools print as Kafka's do."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final, TextIO
from uuid import UUID

from ..protocol.shown_text import shown, shown_lines
from ..protocol.uuids import uuid_text

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
_QUOTES: Final = "\"'"


def line(text: str) -> None:
    """Print one line on standard output; further line ends only before and after the text."""
    sys.stdout.write(_one_line(text, sys.stdout) + "\n")


def deprecated(option: str, instead: str) -> None:
    """Print that an option will be removed."""
    line(f"{option} is deprecated and will be removed in a future version. Use {instead} instead.")


def error_line(text: str) -> None:
    """Print one line on standard error; further line ends only before and after the text."""
    sys.stderr.write(_one_line(text, sys.stderr) + "\n")


def error_lines(text: str) -> None:
    """Print several lines on standard error."""
    sys.stderr.write((shown_lines(text) if sys.stderr.isatty() else text) + "\n")


def cell(text: str) -> str:
    """A text in the midst of a line, such as a name; on a terminal without line ends."""
    return shown(text) if sys.stdout.isatty() else text


def _one_line(text: str, stream: TextIO) -> str:
    core = text.strip("\n")
    return text.replace(core, shown(core)) if core and stream.isatty() else text


def lines(text: str) -> None:
    """Print several lines on standard output."""
    out(text + "\n")


def out(text: str) -> None:
    """Print a text as Kafka's tools do; on a terminal without what it would obey."""
    sys.stdout.write(shown_lines(text) if sys.stdout.isatty() else text)


def joined(numbers: Iterable[int]) -> str:
    """Numbers with commas."""
    return ",".join(map(str, numbers))


def id_text(value: UUID | None) -> str:
    """An id as Kafka prints it; None for the id of zeros."""
    return uuid_text(value or UUID(int=0))


def topic_pattern(text: str) -> re.Pattern[str]:
    """The regular expression of a topic option: commas mean `|` (IncludeList of TopicFilter).

    Raises:
        re.error: it is no regular expression.
    """
    pattern = text.strip().replace(",", "|").replace(" ", "").strip(_QUOTES)
    return re.compile(pattern)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as ToolsUtils.prettyPrintTable does: each column as wide as its widest cell."""
    every = [heads, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(heads))]
    for row in every:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        line("\t".join(cells) + "\t")

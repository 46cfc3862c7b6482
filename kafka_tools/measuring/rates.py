"""Rates and dates as Java prints them, for the tools that measure consumers."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from ..texts import line

MB: Final = 1024 * 1024
# Letters of java.text.SimpleDateFormat; of milliseconds the first digits are left out.
_DATE_LETTERS: Final = {
    "y": "%Y", "M": "%m", "d": "%d", "H": "%H", "m": "%M", "s": "%S", "S": "%f", "a": "%p",
    "h": "%I", "E": "%a", "D": "%j", "Z": "%z", "z": "%Z",
}  # fmt: skip
USUAL_DATE: Final = "yyyy-MM-dd HH:mm:ss:SSS"


def date_pattern(pattern: str) -> str:
    """A pattern of SimpleDateFormat for strftime. Raises ValueError for an unknown letter."""
    found = ""
    for run in re.findall(r"([A-Za-z])\1*|('[^']*'|[^A-Za-z'])", pattern):
        letter, text = run
        if letter and letter not in _DATE_LETTERS:
            raise ValueError(f"Illegal pattern character '{letter}'")
        found += _DATE_LETTERS[letter] if letter else text.strip("'").replace("%", "%%")
    return found


def shown_date(unix_s: float, pattern: str) -> str:
    """A time in the zone of this machine; `%f` of the pattern are milliseconds."""
    when = datetime.fromtimestamp(unix_s).astimezone()
    return when.strftime(pattern.replace("%f", f"{when.microsecond // 1000:03}"))


def rate(amount: float, took_s: float) -> str:
    """An amount a second, with four digits."""
    if took_s <= 0:
        return "Infinity" if amount else "NaN"
    return f"{amount / took_s:.4f}"


def print_metrics(group: str, client_id: str, size_bytes: int, records: int) -> None:
    """Print the metrics of Kafka's consumers that these clients have too.

    Args:
        group: the name of the group of metrics.
    """
    names = "bytes-consumed-total", "records-consumed-total"
    rows = [f"{group}:{name}:{{client-id={client_id}}}" for name in names]
    width = max(map(len, rows))
    line(f"\n{'Metric Name'.ljust(width)}   Value")
    for row, value in zip(rows, (size_bytes, records), strict=True):
        line(f"{row.ljust(width)} : {value:.3f}")

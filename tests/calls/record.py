"""calls.txt: the calls and files of each request, as they were last written.

`make bench-calls ARGS=--write` writes the files as they are, and lowers calls but raises none: to
allow more, add a line below the row with their number and the reason, as in `    70: each answer
has its epoch`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from .runs import Counted

PATH: Final = Path(__file__).with_name("calls.txt")
TOLERANCE: Final = 0.03

_HEAD: Final = "# calls, files, request; below it, if it grew: the calls now, and why\n"
_ROW: Final = re.compile(r"(\d+) +(\d+) +(\S.*)")
_REASON: Final = re.compile(r" +(\d+): +(\S.+)")


class Recorded(NamedTuple):
    """The record of a row.

    Attributes:
        reasons: why it may have more calls, with their number; the last one counts.
    """

    calls: int
    files: int
    reasons: tuple[tuple[int, str], ...] = ()

    @property
    def calls_now(self) -> int:
        """The calls, with the last reason to have more."""
        return self.reasons[-1][0] if self.reasons else self.calls

    @property
    def allowed(self) -> int:
        """The most calls that the row may have."""
        return int(self.calls_now * (1 + TOLERANCE))


def read(text: str) -> dict[str, Recorded]:
    """The records of all rows, by name.

    Raises:
        ValueError: a line is neither a row nor a reason.
    """
    found: dict[str, Recorded] = {}
    last = ""
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        row, reason = _ROW.fullmatch(line), _REASON.fullmatch(line)
        if row:
            last = row[3]
            found[last] = Recorded(int(row[1]), int(row[2]))
        elif reason and last:
            reasons = (*found[last].reasons, (int(reason[1]), reason[2]))
            found[last] = found[last]._replace(reasons=reasons)
        else:
            raise ValueError(f"{line!r} is neither a row nor a reason")
    return found


def text(records: Mapping[str, Recorded]) -> str:
    """The content of the file."""
    lines = []
    for name, each in records.items():
        lines.append(f"{each.calls:<4} {each.files:<3}  {name}\n")
        lines += [f"    {calls}: {why}\n" for calls, why in each.reasons]
    return _HEAD + "".join(lines)


def updated(records: Mapping[str, Recorded], counts: Mapping[str, Counted]) -> dict[str, Recorded]:
    """The records after a count: of rows that exist, none of them with more calls than allowed."""
    return {name: _updated(records.get(name), now) for name, now in counts.items()}


def _updated(before: Recorded | None, now: Counted) -> Recorded:
    if before is None or now.calls <= before.calls:
        return Recorded(*now)  # its reasons to have more are gone
    return before._replace(files=now.files)


def grown(records: Mapping[str, Recorded], counts: Mapping[str, Counted]) -> list[str]:
    """A line for each row that has more calls than it may have, or no record."""
    lines = []
    for name, now in counts.items():
        before = records.get(name)
        if before is None:
            lines.append(f"{name}: no record")
        elif now.calls > before.allowed:
            lines.append(f"{name}: {now.calls} calls; {before.allowed} are allowed")
    return lines

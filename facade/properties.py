"""Kafka's `server.properties`: the text to names and values, as java.util.Properties reads it.

Comments begin with `#` or `!`; `=`, `:` or blanks part name and value; a backslash at the end of a
line continues it. Unicode escapes are left alone: no setting of a broker needs them.
"""

from __future__ import annotations

import re

_PAIR = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:\s]?\s*(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def read_properties(text: str) -> dict[str, str]:
    """The settings of the text; where a name comes twice, the last one counts."""
    found = {}
    for line in _logical_lines(text):
        if (pair := _PAIR.fullmatch(line)) is not None:
            name, value = (_ESCAPED.sub(r"\1", part) for part in pair.groups())
            found[name] = value.rstrip()
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    continued = False
    for raw in text.splitlines():
        line = raw.lstrip()
        if continued:
            lines[-1] += line
        elif line and line[0] not in "#!":
            lines.append(line)
        else:
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1
        if continued:
            lines[-1] = lines[-1][:-1]
    return lines

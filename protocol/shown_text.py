"""Text that others have chosen, for people: without characters that a terminal obeys.

Ids of groups and clients, keys, principals and errors of brokers may have escape sequences, which
clear a screen or set the title of a window, line ends, which forge a row, and marks that turn the
direction of what follows. All of them are shown as Python writes them: `\\x1b`, `\\n`, `\\u202e`.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = "\\x00-\\x1f\\x7f-\\x9f"
_MARKS: Final = "\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff"
_UNSHOWN: Final = f"[{_CONTROLS}{_MARKS}]"  # compiled at its first use, which a start has not


def shown(text: str) -> str:
    """One line of text, with nothing that a terminal obeys."""
    return text if text.isascii() and text.isprintable() else re.sub(_UNSHOWN, _escaped, text)


def shown_lines(text: str) -> str:
    """Several lines of text: as `shown`, but for the ends of lines and tabs."""
    return re.sub(_UNSHOWN, lambda found: found[0] if found[0] in "\n\t" else _escaped(found), text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()

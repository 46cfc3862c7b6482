"""What a failed test says, in one line: the end of the story that its page tells."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

MOST_CHARACTERS: Final = 300
_CUT: Final = "..."
_OF_PYTEST: Final = re.compile(r"E(\s|$)")


def said_by(failure: str | None) -> str | None:
    """The first line of the last error that pytest marks with E, else the last line of a text.

    An error that was raised while another one was handled comes behind it, and is what failed.
    Pytest cuts long values, so that both sides of a comparison may look the same: the next line,
    which says where they differ, belongs to such a line.

    Args:
        failure: the text of the failure.

    Returns:
        None if the failure says nothing.
    """
    lines = [each for each in (failure or "").splitlines() if each.strip()]
    blocks = [
        [each[1:] for each in block]
        for is_error, block in groupby(lines, lambda each: bool(_OF_PYTEST.match(each)))
        if is_error
    ]
    said = [each.strip() for each in (blocks[-1] if blocks else lines[-1:]) if each.strip()]
    if not said:
        return None
    text = ": ".join(said[:2]) if blocks and _CUT in said[0] else said[0]
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"

"""Wildcards in names: * stands for any characters, ? for one. Faults and filters use them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache


@lru_cache(maxsize=1024)
def fits(pattern: str) -> Callable[[str], bool]:
    """Whether a name fits a pattern.

    The time is linear in the name, times the pattern at most: each part between two * is found
    once, at its first place (`(?>...)`), which is right if any place is.
    """
    if not {"*", "?"} & set(pattern):
        return lambda name: name == pattern
    first, *others = [re.escape(part).replace(r"\?", ".") for part in re.split(r"\*+", pattern)]
    if others:
        *middle, last = others
        first += "".join(f"(?>.*?{part})" for part in middle) + f".*{last}"
    whole = re.compile(first, re.DOTALL).fullmatch
    return lambda name: whole(name) is not None

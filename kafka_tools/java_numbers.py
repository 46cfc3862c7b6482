"""Numbers in texts as Kafka's tools read them, by the parsers of Java.

Python's own take more: `1_000`, blanks around a whole number, and whole numbers of any size.
"""

from __future__ import annotations

import argparse
import re
from typing import Final

from ..protocol.java_integers import number_in

_DECIMAL: Final = re.compile(
    r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)[fFdD]?", re.ASCII
)
_WORD: Final = re.compile(r"[+-]?(NaN|Infinity)")


def java_int(text: str, bits: int = 32) -> int:
    """A number as Integer.parseInt reads it. Raises ValueError, in Java's words."""
    found = number_in(text, bits)
    if found is None:
        raise ValueError(f'For input string: "{text}"')
    return found


def java_long(text: str) -> int:
    """A number as Long.parseLong reads it. Raises ValueError, in Java's words."""
    return java_int(text, 64)


def parsed_double(text: str) -> float:
    """A number as Double.parseDouble reads it, but for one in hexadecimal. Raises ValueError."""
    core = text.strip("".join(map(chr, range(33))))
    if _WORD.fullmatch(core):
        return float(core)
    if not _DECIMAL.fullmatch(core):
        raise ValueError(f'For input string: "{core}"' if core else "empty String")
    return float(core.rstrip("fFdD"))


def an_int(text: str) -> int:
    """As `java_int`, for an option of argparse. Raises ArgumentTypeError."""
    return _option(text, 32, "Integer")


def a_long(text: str) -> int:
    """As `java_long`, for an option of argparse. Raises ArgumentTypeError."""
    return _option(text, 64, "Long")


def _option(text: str, bits: int, kind: str) -> int:
    found = number_in(text, bits)
    if found is None:
        why = f'For input string: "{text}"'
        raise argparse.ArgumentTypeError(f"could not convert '{text}' to {kind} ({why})")
    return found

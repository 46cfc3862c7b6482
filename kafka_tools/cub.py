"""`cub kafka-ready`: the one command of Confluent's Docker utility belt that is here."""

from __future__ import annotations

from collections.abc import Sequence

from . import ready
from .texts import error_line


def main(words: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    if not words or words[0] != "kafka-ready":
        name = words[0] if words else "without a command"
        error_line(f"cub {name} is not here; cub kafka-ready is")
        return 1
    return ready.main(words[1:])

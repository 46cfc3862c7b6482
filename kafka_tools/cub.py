"""`cub kafka-ready`: the one command of Confluent's Docker utility belt that is here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from . import ready
from .options import CommandParser, WrongOptions


class _Cub(CommandParser):
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        if not words or words[0] != "kafka-ready":
            name = words[0] if words else "without a command"
            raise WrongOptions(f"cub {name} is not here; cub kafka-ready is")
        return ready.options().read(words[1:])


TOOL: Final = ready.TOOL._replace(options=_Cub)

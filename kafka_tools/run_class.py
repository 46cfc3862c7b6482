"""`kafka-run-class`: the tool of a class of Kafka, as older scripts call it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from .names import TOOLS, tool_of_class
from .options import CommandParser, WrongOptions
from .tool import Tool, run

_USAGE: Final = "USAGE: kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]"


class _Class(CommandParser):
    """Reads the flags of the script, the class, and the words for its tool."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        left = list(words)
        while left and left[0] in ("-daemon", "-name", "-loggc"):
            del left[: 2 if left[0] == "-name" else 1]
        if not left:
            raise WrongOptions(_USAGE)
        return argparse.Namespace(name=left[0], rest=left[1:])


def options() -> CommandParser:
    """The options of the tool: those of the script, then the class and its options."""
    return _Class(prog="kafka-run-class", description="Run the tool of a class of Kafka.",
                  usage=_USAGE)  # fmt: skip


def _run(given: argparse.Namespace) -> int:
    tool = tool_of_class(given.name)
    if tool is None:
        raise WrongOptions(
            f"Error: Could not find or load main class {given.name}\nCaused by:"
            f" java.lang.ClassNotFoundException: {given.name}"
        )
    return run(import_module(f".{TOOLS[tool]}", __package__).TOOL, given.rest)


TOOL: Final = Tool(options, check=_run)

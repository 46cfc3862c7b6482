"""Tools with commands (`kafka-storage format ...`), whose options argparse4j reads in Kafka.

Of an option that is given twice the last value counts, as with argparse4j.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from .session import Failure, connect, failure_of, properties_in
from .texts import error_line, error_lines

Run = Callable[[argparse.Namespace], int]


class CommandParser(argparse.ArgumentParser):
    """A parser of a tool or of one of its commands; a mistake ends with exit status 1."""

    def __init__(self, **more: Any) -> None:  # Any: arguments of argparse
        super().__init__(**more)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the mistake; end the process with status 1, as argparse4j does."""
        sys.stderr.write(f"{self.format_usage()}{self.prog}: error: {message}\n")
        raise SystemExit(1)


def command_parser(tool: str, purpose: str) -> CommandParser:
    """The parser of a tool."""
    return CommandParser(prog=tool, description=purpose)


def run(
    parser: CommandParser, words: Sequence[str], on: Callable[[argparse.Namespace], int]
) -> int:
    """Read the words and call `on`; return the exit status."""
    try:
        given = parser.parse_args(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return on(given)


def with_client(
    given: argparse.Namespace,
    call: str,
    ask: Callable[[Client], int],
    *,
    bootstrap: str | None = None,
    config: str | None = None,
) -> int:
    """Call `ask` with a client; print the failure and return 1 if the cluster cannot answer.

    Args:
        bootstrap, config: of the connection; None: from the options of these names.
    """
    try:
        settings = properties_in(given.command_config if config is None else config or None)
        with connect(bootstrap or given.bootstrap_server, settings, call) as client:
            return ask(client)
    except (Failure, ErrorAnswer, NoAnswer, ValueError) as trouble:
        failure = failure_of(trouble)
        if failure.cause:
            error_lines(f"{failure.message}\n{failure.cause}")
        elif isinstance(trouble, ValueError):
            error_line(failure.message)
        else:
            error_lines(f"{failure}\njava.util.concurrent.ExecutionException: {failure}")
        return 1

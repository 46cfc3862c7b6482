"""What every tool does alike: it reads its options, connects, asks, and prints what failed."""

from __future__ import annotations

import re
import struct
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from .options import CommandParser, Options, WrongOptions
from .session import Failure, connect, failure_of, properties_in
from .texts import error_line, error_lines

# No regular expression; a number that its field of a request cannot hold.
_MISTAKES: Final = (re.error, struct.error)


def _accept(_: Namespace) -> None:
    """Find nothing wrong with the options; do nothing at the end."""


def _read_settings(given: Namespace) -> dict[str, str]:
    """The client's properties: those in the file of --command-config."""
    return properties_in(given.command_config)


def _print_message(failure: Failure, _: Namespace) -> None:
    error_line(failure.message)


def print_message_first(failure: Failure, _: Namespace) -> None:
    """Print a failure as the tools that measure consumers do."""
    error_lines(f"{failure.message}\n{failure}")


def print_exception(failure: Failure, _: Namespace) -> None:
    """Print a failure as the tools with commands do."""
    if failure.cause:
        error_lines(f"{failure.message}\n{failure.cause}")
    elif isinstance(failure.trouble, ValueError):
        error_line(failure.message)
    else:
        error_lines(f"{failure}\njava.util.concurrent.ExecutionException: {failure}")


def print_with_cause(failure: Failure, _: Namespace) -> None:
    """Print a failure as the console tools do."""
    error_lines(f"{failure}\n{failure.cause}".rstrip())


def _ask_nothing(_client: Client, _given: Namespace) -> None:
    """Of a tool whose `check` does all."""


class Tool(NamedTuple):
    """A tool: the steps in which `run` calls its functions, and what they raise.

    `check` and the later functions may raise WrongOptions, Failure, ErrorAnswer, NoAnswer or
    ValueError. They may add attributes to the options for the functions after them.
    """

    options: Callable[[], Options | CommandParser]
    """Makes the parser of the options."""
    act: Callable[[Client, Namespace], int | None] = _ask_nothing
    """Asks the brokers and prints; returns the exit status, or None for 0."""
    call: str | Callable[[Namespace], str] = ""
    """The request that waits for a broker, for the message if none answers."""
    check: Callable[[Namespace], int | None] = _accept
    """Looks at the options; if it returns an exit status, the tool ends without a connection."""
    settings: Callable[[Namespace], Mapping[str, str]] = _read_settings
    """The properties of the client."""
    client: str = "Admin"
    """The kind of the client, for messages: Admin, Consumer or Producer."""
    print_failure: Callable[[Failure, Namespace], None] = _print_message
    """Prints what failed. All options are there, `words` too: the command line."""
    failed_status: int = 1
    """The exit status after `print_failure`."""
    finish: Callable[[Namespace], None] = _accept
    """Called at the end, also after a failure, if the options could be read."""


def run(tool: Tool, words: Sequence[str]) -> int:
    """Run a tool with the words of a command line; return its exit status."""
    with ExitStack() as at_end:
        try:
            given = tool.options().read(words)
        except SystemExit as end:  # it has printed its help, its version or a mistake
            return int(end.code or 0)
        except WrongOptions as wrong:
            error_line(str(wrong))
            return 1
        given.words = words
        at_end.callback(tool.finish, given)
        try:
            status = tool.check(given)
            if status is not None:
                return status
            settings = tool.settings(given)
            call = tool.call if isinstance(tool.call, str) else tool.call(given)
            with connect(given.bootstrap_server, settings, call, tool.client) as client:
                return tool.act(client, given) or 0
        except SystemExit as end:  # `check` has printed a mistake, as a CommandParser does
            return int(end.code or 0)
        except WrongOptions as wrong:
            error_line(str(wrong))
            return 1
        except (Failure, ErrorAnswer, NoAnswer, ValueError) as trouble:
            tool.print_failure(failure_of(trouble), given)
            return tool.failed_status
        except _MISTAKES as wrong:
            tool.print_failure(failure_of(ValueError(str(wrong))), given)
            return tool.failed_status

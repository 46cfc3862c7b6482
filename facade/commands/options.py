"""Options that several commands share, and the exit statuses of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from ottla.client import Client, ErrorAnswer, NoAnswer
from ottla.command_line import DEFAULT_LISTEN, CannotRun
from ottla.security.client_security import UNSECURED, ClientSecurity

P = ParamSpec("P")

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="OTTLA_BOOTSTRAP",
        metavar="HOST:PORT,...",
        help="Brokers of the cluster; the first that answers is used.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HERE = DEFAULT_LISTEN
COMMAND_CONFIG = "OTTLA_COMMAND_CONFIG"


def guarded(function: Callable[P, int]) -> Callable[P, None]:
    """A command that ends with the status of `function`, and with one line for each known error.

    Typer would keep the line breaks of the docstring, so its paragraphs become lines.
    """

    @wraps(function)
    def command(*args: P.args, **named: P.kwargs) -> None:
        try:
            status = function(*args, **named)
            if sys.stdout is not None:
                sys.stdout.flush()
        except CannotRun as error:
            status = _said(error, 2)
        except (ErrorAnswer, NoAnswer) as error:
            status = _said(error, 1)
        except KeyboardInterrupt:
            status = 130
        except BrokenPipeError:
            sys.stdout = None  # otherwise the interpreter flushes it again
            status = 0
        raise typer.Exit(status)

    paragraphs = (function.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    return command


def _said(error: Exception, status: int) -> int:
    sys.stderr.write(f"ottla: {error}\n")
    return status


def client_of(bootstrap: str) -> Client:
    """A client of the first broker that answers. Raises CannotRun, NoAnswer.

    It connects with the security in the file of OTTLA_COMMAND_CONFIG, if that is set.
    """
    path = os.environ.get(COMMAND_CONFIG)
    try:
        return Client.to(bootstrap, security=_security(path) if path else UNSECURED)
    except ValueError as wrong:
        raise CannotRun(str(wrong)) from None


def _security(path: str) -> ClientSecurity:
    """The security in a file of client properties. Raises CannotRun."""
    from ottla.broker.settings.properties import read_properties
    from ottla.security.client_properties import security_of

    try:
        return security_of(read_properties(Path(path).read_text()))
    except (OSError, ValueError) as wrong:
        raise CannotRun(f"{COMMAND_CONFIG}={path}: {wrong}") from None

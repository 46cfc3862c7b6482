"""Options that several commands share, and the exit statuses of their errors."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from ..client.security import UNSECURED
from ..console.extras import missing_extra
from ..console.options import DEFAULT_LISTEN, CannotRun
from ..console.security import command_security
from ..console.tables import print_error, print_json, print_line

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
DEFAULT_TIMEOUT_S = 10.0
MOST_TIMEOUT_S = 100_000.0


class Subcommands:
    """The commands below one name, such as `ottla topics list`.

    Args:
        app: gets them.
        name: the word before them.
        help: the line of the help page.
        example: a whole command line.
    """

    def __init__(self, app: typer.Typer, name: str, *, help: str, example: str) -> None:
        self._own = typer.Typer(no_args_is_help=True)
        app.add_typer(self._own, name=name, help=help, epilog=f"Example: {example}")

    def add(self, name: str, function: Callable[..., int | None], *, example: str) -> None:
        """Add a command; its options are the parameters of `function`, see `guarded`."""
        self._own.command(name, epilog=f"Example: {example}")(guarded(function))


def guarded(function: Callable[P, int | None]) -> Callable[P, None]:
    """A command that ends with the status of `function`, or with one line for each known error.

    None is the status 0. Typer would keep the line breaks of the docstring, so its paragraphs
    become lines.
    """

    @wraps(function)
    def command(*args: P.args, **named: P.kwargs) -> None:
        try:
            status = function(*args, **named) or 0
            if sys.stdout is not None:
                sys.stdout.flush()
        except CannotRun as error:
            status = _said(error, error.status)
        except ModuleNotFoundError as error:
            if not (needed := missing_extra(error)):
                raise
            status = _said(f"{function.__name__.lstrip('_')}: {needed}", 2)
        except (ErrorAnswer, NoAnswer) as error:
            status = _said(error, 1)
        except struct.error as error:
            command_name = function.__name__.lstrip("_")
            status = _said(f"{command_name}: a number is too large for Kafka: {error}", 2)
        except KeyboardInterrupt:
            status = 130
        except BrokenPipeError:
            sys.stdout = None  # otherwise the interpreter flushes it again
            status = 0
        raise typer.Exit(status)

    paragraphs = (function.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    return command


def about(file: Path | str, wrong: Exception) -> str:
    """What is wrong with a file, without the error number; the error may name another file."""
    if isinstance(wrong, OSError) and wrong.strerror:
        return f"{wrong.filename or file}: {wrong.strerror}"
    return f"{file}: {wrong}"


def refuse_source(out: Path, source: Path | str) -> None:
    """Raise CannotRun if a file that is to be written is the one that is read; `-` is none."""
    if source != "-" and out.exists() and out.samefile(source):
        raise CannotRun(f"{out} is the file that is read")


def refuse_unused(context: typer.Context, beside: str, names: Collection[str]) -> None:
    """Raise CannotRun if an option is given that changes nothing.

    Args:
        beside: the option, or the argument, beside which it changes nothing.
        names: of the options, as parameters.
    """
    for each in context.command.params:
        if each.name is not None and each.name in names and _is_given(context, each.name):
            raise CannotRun(f"{context.info_name} {each.opts[0]}: unused with {beside}")


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether the command line has an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_writable(option: str, file: Path | None) -> None:
    """Find out before long work whether its result can be written. Raises CannotRun.

    Args:
        option: the command and its option, for the error.
        file: None if the option is not given.
    """
    if file is None:
        return
    why = ""
    if file.is_dir():
        why = "it is a directory"
    elif not file.parent.is_dir():
        why = "its directory does not exist"
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        why = "it cannot be written"
    if why:
        raise CannotRun(f"{option} {file}: {why}")


def _timeout_s() -> float:
    """The seconds of OTTLA_TIMEOUT. Raises CannotRun."""
    given = os.environ.get("OTTLA_TIMEOUT", "")
    try:
        timeout_s = float(given or DEFAULT_TIMEOUT_S)
    except ValueError:
        timeout_s = 0.0
    if not 0 < timeout_s < MOST_TIMEOUT_S:
        raise CannotRun(f"OTTLA_TIMEOUT={given}: a number of seconds above 0 was expected")
    return timeout_s


def _said(error: Exception | str, status: int) -> int:
    print_error(f"ottla: {error}")
    return status


def delete_each(
    names: list[str], delete: Callable[[Client, str], object], bootstrap: str, *, as_json: bool
) -> None:
    """Delete what is named, one by one, and say so."""
    with client_of(bootstrap) as client:
        for name in names:
            delete(client, name)
            if not as_json:
                print_line(f"{name} is deleted")
    if as_json:
        print_json({"deleted": names})


def client_of(bootstrap: str, command_config: Path | None = None) -> Client:
    """A client of the first broker that answers. Raises CannotRun, NoAnswer.

    It connects with the security in a file of client properties, or in that of
    OTTLA_COMMAND_CONFIG, if one is given. It waits for a connection and for each answer as long as
    OTTLA_TIMEOUT says.
    """
    security = command_security(command_config) or UNSECURED
    timeout_s = _timeout_s()
    try:
        return Client.to(bootstrap, timeout_s=timeout_s, security=security)
    except ValueError as wrong:
        raise CannotRun(str(wrong)) from None

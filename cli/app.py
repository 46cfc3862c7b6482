"""The typer app of all commands; it imports only the module of the command that was given."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from ..console.tables import print_error
from ..console.variables import say_unread_variables

COMMANDS: Final = (
    "serve", "console", "demo", "topics", "produce", "consume", "groups", "acls", "quotas",
    "txn", "why", "log", "audit", "oracle",
    "config", "fault", "clock", "trace", "conform", "torture", "diff", "museum", "certs", "health",
    "bench", "version", "template",
)  # fmt: skip
"""The commands in the order of the help page; each is a module of this package or of a folder."""
_FOLDERS: Final = {
    **dict.fromkeys(("serve", "health", "template"), "help_pages."),
    **dict.fromkeys(("fault", "clock"), "lab."),
}

_HELP: Final = "A Kafka-compatible broker for one machine, and commands for any Kafka cluster."
_EPILOG: Final = (
    "Exit status: 0 fine, 1 the broker refused or something is wrong, 2 the command cannot run,"
    " 130 Ctrl-C. Example: ottla serve --data-dir data"
)
_COMPLETION: Final = "_OTTLA_COMPLETE"  # set by the completion scripts of shells


def run(words: Sequence[str]) -> int:
    """Run one command, or print help; return the exit status."""
    completes = _COMPLETION in os.environ
    if not completes:
        say_unread_variables(os.environ)
    if not words and not completes:
        with_help = made(COMMANDS)
        _run(with_help, ["--help"], to_errors=True)
        return 2
    named = words[0] if words and not completes else ""
    if "/" in named:  # as of another image, `docker run IMAGE /opt/.../run.sh`
        what = "it is no command of Ottla" if os.path.exists(named) else "no such file or directory"
        print_error(f"ottla: {named}: {what}; `ottla -h` lists the commands")
        return 2
    app = made([named] if named in COMMANDS else COMMANDS)
    if not completes and (flag := given_twice(app, words)):
        print_error(f"ottla: {flag} is given twice, and takes one value")
        return 2
    return _run(app, words)


def given_twice(app: typer.Typer, words: Sequence[str]) -> str:
    """An option that is given twice and is not repeatable: all but its last value would be lost.

    Returns:
        Its flag; empty if there is none.
    """
    command: Any = get_command(app)  # Any: groups and commands of click
    left = list(words)
    while left and left[0] in getattr(command, "commands", {}):
        command = command.commands[left.pop(0)]
    options = {flag: each for each in command.params for flag in each.opts if flag.startswith("-")}
    seen: set[str] = set()
    while left and left[0] != "--":
        flag, has_value, _ = left.pop(0).partition("=")
        option = options.get(flag)
        if option is None or getattr(option, "is_flag", False):
            continue
        if option.name in seen and not option.multiple:
            return flag
        seen.add(option.name)
        if not has_value and left:
            left.pop(0)
    return ""


def made(names: Sequence[str]) -> typer.Typer:
    """The app with some of the commands."""
    app = typer.Typer(
        help=_HELP,
        epilog=_EPILOG,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="rich",
    )

    @app.callback()
    def root(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=_print_version, is_eager=True, help="Print the version."
            ),
        ] = False,
    ) -> None:
        """The options of all commands."""

    root.__doc__ = _HELP
    for name in names:
        import_module(f"ottla.cli.{_FOLDERS.get(name, '')}{name}").add(app)
    return app


def _run(app: typer.Typer, words: Sequence[str], *, to_errors: bool = False) -> int:
    output = sys.stdout
    if to_errors:
        sys.stdout = sys.stderr
    try:
        app(args=list(words), prog_name="ottla")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout = output
    return 0


def _print_version(is_given: bool) -> None:
    if is_given:
        from .. import __version__

        sys.stdout.write(f"ottla {__version__}\n")
        raise typer.Exit

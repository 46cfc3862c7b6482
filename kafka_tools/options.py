"""Options of a tool, read as joptsimple reads them for Kafka's tools.

Names may be shortened, values follow after a blank or `=`, and a mistake is one line on standard
error with exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

VERSION: Final = "4.4.0"
"""The version of Kafka whose tools these ones stand for."""


class WrongOptions(Exception):
    """A mistake in the options, in Kafka's words."""


class RepeatedOption(WrongOptions):
    """An option with one value is given several times (MultipleArgumentsForOptionException)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Found multiple arguments for option {name}, but you asked for only one")
        self.name = name


class Options(argparse.ArgumentParser):
    """The options of a tool.

    Args:
        tool: its name, as on the command line.
        purpose: one sentence for the help.
        needs_words: whether a command line without words is a mistake.
    """

    def __init__(self, tool: str, purpose: str, *, needs_words: bool = False) -> None:
        super().__init__(prog=tool, description=purpose, add_help=False, exit_on_error=False)
        self._defaults_of_values: dict[str, Any] = {}  # Any: a number or a text
        self.needs_words = needs_words
        self.add_argument("--help", action="store_true", help="print this page")
        self.add_argument("--version", action="store_true", help="print the version of Kafka")

    def error(self, message: str) -> NoReturn:
        """Raise WrongOptions instead of ending the process."""
        raise WrongOptions(message)

    def flag(self, name: str, text: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=text)

    def value(
        self, name: str, text: str, *, number: bool = False, default: Any = None, **more: Any
    ) -> None:
        """Add an option with one value.

        Args:
            more: further arguments of `add_argument`, such as `dest` for another name of an option.
        """
        kind = int if number else str
        added = self.add_argument(
            name, type=kind, action="append", metavar=_metavar(number), help=text, **more
        )
        self._defaults_of_values[added.dest] = default

    def values(self, name: str, text: str) -> None:
        """Add an option that may be given several times."""
        self.add_argument(name, action="append", default=[], metavar="TEXT", help=text)

    def server(self, *, config: str = "--command-config") -> None:
        """Add the options of the connection."""
        self.value("--bootstrap-server", "brokers, as HOST:PORT,HOST:PORT")
        self.value(config, "file with properties of the client")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The options.

        Raises:
            WrongOptions: an unknown option, a value that is missing or not a number.
            RepeatedOption: two values where one is expected.
            SystemExit: the help or the version is printed.
        """
        if self.needs_words and not words:
            raise WrongOptions(self.description)
        try:
            given, rest = self.parse_known_args(list(words))
        except argparse.ArgumentError as wrong:
            raise WrongOptions(_explained(wrong)) from None
        for word in rest:
            if word.startswith("-"):
                name = word.lstrip("-").partition("=")[0]
                raise WrongOptions(f"{name} is not a recognized option")
        if given.help:
            sys.stderr.write(self.format_help().rstrip() + "\n")
            raise SystemExit(1)  # as Kafka's tools
        if given.version:
            sys.stdout.write(f"{VERSION}\n")
            raise SystemExit(0)
        for name, default in self._defaults_of_values.items():
            values = getattr(given, name) or [default]
            if len(values) > 1:
                raise RepeatedOption(name.replace("_", "-"))
            setattr(given, name, values[0])
        return given


class CommandParser(argparse.ArgumentParser):
    """A parser of a tool with commands (`kafka-storage format ...`), or of one of its commands.

    Kafka reads them by argparse4j. Of an option that is given twice the last value counts. A
    mistake ends with exit status 1.
    """

    def error(self, message: str) -> NoReturn:
        """Print the usage and the mistake. Raises SystemExit with status 1."""
        sys.stderr.write(f"{self.format_usage()}{self.prog}: error: {message}\n")
        raise SystemExit(1)

    def servers(self) -> None:
        """Add the options of the connection, to brokers or to controllers."""
        either = self.add_mutually_exclusive_group(required=True)
        either.add_argument("--bootstrap-server", metavar="TEXT", help="brokers")
        either.add_argument("--bootstrap-controller", dest="bootstrap_server",
                            metavar="TEXT", help="controllers")  # fmt: skip
        self.add_argument(
            "--command-config", metavar="FILE", help="file with properties of the client"
        )

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The options. Raises SystemExit if the help or a mistake is printed."""
        return self.parse_args(list(words))


def require(given: argparse.Namespace, *names: str) -> None:
    """Raise WrongOptions if an option was not given."""
    for name in names:
        if not has(given, name):
            raise WrongOptions(f'Missing required argument "[{name}]"')


def forbid(given: argparse.Namespace, name: str, *others: str) -> None:
    """Raise WrongOptions if `name` was given with one of the others."""
    for other in others:
        if has(given, name) and has(given, other):
            raise WrongOptions(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def has(given: argparse.Namespace, name: str) -> bool:
    """Whether an option was given."""
    return getattr(given, name.replace("-", "_").replace(".", "_")) not in (None, False, [])


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """Texts `NAME=VALUE` as a dict. Raises WrongOptions for one without `=`."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongOptions(f"Invalid command line properties: {text}")
        found[name.strip()] = value
    return found


def _metavar(number: bool) -> str:
    return "NUMBER" if number else "TEXT"


def _explained(wrong: argparse.ArgumentError) -> str:
    name = (wrong.argument_name or "").split("/")[0].lstrip("-")
    if "invalid" in wrong.message and "value: " in wrong.message:
        value = wrong.message.partition("value: ")[2]
        return f"Cannot parse argument {value} of option {name}"
    if wrong.message.startswith("ambiguous"):
        return wrong.message
    return f"Option {name} requires an argument"

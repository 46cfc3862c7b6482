"""Options of a tool, read as joptsimple and argparse4j read them for Kafka's tools.

joptsimple: names are whole, with one dash or two; values follow after a blank or `=`, whatever they
begin with; a mistake is one line on standard error with exit status 1. argparse4j: options and
commands may be shortened.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from .java_numbers import java_long
from .texts import deprecated

VERSION: Final = "4.4.0"
"""The version of Kafka whose tools these ones stand for."""


class WrongOptions(Exception):
    """A mistake in the options, in Kafka's words."""


class RepeatedOption(WrongOptions):
    """An option with one value is given several times (MultipleArgumentsForOptionException)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Found multiple arguments for option {name}, but you asked for only one")
        self.name = name


@contextmanager
def values_as_options() -> Iterator[None]:
    """Raise WrongOptions for a ValueError of the body, with its text."""
    try:
        yield
    except ValueError as wrong:
        raise WrongOptions(str(wrong)) from None


class Options(argparse.ArgumentParser):
    """The options of a tool.

    Args:
        tool: its name, as on the command line.
        purpose: one sentence for the help.
        needs_words: whether a command line without words is a mistake.
    """

    def __init__(self, tool: str, purpose: str, *, needs_words: bool = False) -> None:
        super().__init__(
            prog=tool, description=purpose, add_help=False, exit_on_error=False, allow_abbrev=False
        )
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
        kind = java_long if number else str
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
            given, _ = self.parse_known_args(self._with_values(words))
        except argparse.ArgumentError as wrong:
            raise WrongOptions(_explained(wrong)) from None
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

    def _with_values(self, words: Sequence[str]) -> list[str]:
        """The words with two dashes before each option, and its value in the same word.

        Raises:
            WrongOptions: an unknown option, or a value is missing.
        """
        found, left = [], deque(words)
        while left:
            word = left.popleft()
            if not _is_option(word):
                found.append(word)
                continue
            if word == "--":  # no options follow
                return [*found, word, *left]
            name, equals, value = word.lstrip("-").partition("=")
            option = f"--{name}" if f"--{name}" in self._option_string_actions else f"-{name}"
            action = self._option_string_actions.get(option)
            if action is None:
                shown = name if word.startswith("--") else name[:1]
                raise WrongOptions(f"{shown} is not a recognized option")
            if action.nargs == 0:
                found.append(option)
            elif equals:
                found.append(f"{option}={value}")
            elif left and (action.nargs is None or not _is_option(left[0])):
                found.append(f"{option}={left.popleft()}")
            elif action.nargs is None:
                raise WrongOptions(f"Option {name} requires an argument")
            else:
                found.append(option)
        return found


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
        return self.parse_args([self._whole(word) for word in words])

    def _whole(self, word: str) -> str:
        """The command that begins with a word, if it is one and no other."""
        commands = [
            name
            for action in self._actions
            if action.nargs == argparse.PARSER
            for name in action.choices or ()
        ]
        found = [name for name in commands if name.startswith(word)]
        return found[0] if len(found) == 1 and word else word


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


def forbid_both(given: argparse.Namespace, one: str, other: str) -> None:
    """Raise WrongOptions if two names of one option were given, as the console tools do."""
    if has(given, one) and has(given, other):
        raise WrongOptions(f"Options --{one} and --{other} cannot be specified together.")


def has(given: argparse.Namespace, name: str) -> bool:
    """Whether an option was given; its value may be 0."""
    value = getattr(given, _attribute(name))
    return value is not None and value is not False and value != []


def only_action(given: argparse.Namespace, actions: Sequence[str], listed: str) -> str:
    """The action that was given.

    Args:
        listed: all actions, for the message.

    Raises:
        WrongOptions: there is none, or several.
    """
    chosen = [name for name in actions if has(given, name)]
    if len(chosen) != 1:
        raise WrongOptions(f"Command must include exactly one action: {listed}")
    return chosen[0]


def take_new_name(given: argparse.Namespace, old: str, new: str, *, kind: str = "Option") -> None:
    """Take the value of an option's old name for its new one, and say that the old one will go."""
    if has(given, old):
        deprecated(f"{kind} --{old}", f"--{new}")
        setattr(given, _attribute(new), getattr(given, _attribute(old)))


def _attribute(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """Texts `NAME=VALUE` as a dict. Raises WrongOptions for one without `=`."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongOptions(f"Invalid command line properties: {text}")
        found[name.strip()] = value
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


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

"""Options as data, from which both argparse and typer make a command's options.

`ottla serve`, `template` and `health` use argparse, which a process imports in a few milliseconds.
Their help pages and all other commands use typer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

DEFAULT_LISTEN = "127.0.0.1:9092"
MOST_NODES = 16
WIDTH_OF_USAGE = 100


class CannotRun(Exception):
    """A mistake that the user can correct: one line, exit status 2."""

    status: ClassVar[int] = 2


class IsRefused(CannotRun):
    """The broker refuses: one line, exit status 1."""

    status = 1


class Option(NamedTuple):
    """One option of a command.

    Attributes:
        flag: with its dashes; the option's name is the flag's with underscores, unless `name`.
        text: for the help page; empty: the option is not shown there.
        metavar: of its value; empty for a switch.
        kind: the type of its value: str, int or float.
        default: None for none, an empty tuple for an option that may be repeated.
        most: the largest number; the smallest is 1.
        is_required: the command needs it.
        other_flag: a second name of the flag, or empty.
    """

    flag: str
    text: str
    metavar: str = ""
    kind: type = str
    default: float | tuple[()] | None = None
    name: str = ""
    most: int = 0
    is_required: bool = False
    other_flag: str = ""

    @property
    def destination(self) -> str:
        return self.name or self.flag.removeprefix("--").replace("-", "_")

    @property
    def flags(self) -> tuple[str, ...]:
        return (self.flag, self.other_flag) if self.other_flag else (self.flag,)

    @property
    def is_repeatable(self) -> bool:
        return self.default == ()


SETTINGS_OPTIONS = (
    Option("--listen", f"default {DEFAULT_LISTEN}", "HOST:PORT"),
    Option("--config", "settings, as Kafka's server.properties", "FILE"),
    Option(
        "--environment", "read variables, as apache/kafka's image does: KAFKA_NUM_PARTITIONS=3"
    ),
    Option(
        "--set", "a setting by Kafka's name; repeatable; overrides file and variables",
        "NAME=VALUE", default=(), name="settings",
    ),
)  # fmt: skip
SERVE_OPTIONS = (
    *SETTINGS_OPTIONS,
    Option("--data-dir", "directory of the logs (or set log.dirs)", "DIR"),
    Option("--ready-file", "file to write when the broker answers", "F"),
    Option("--ready-json", "the ready line on standard output is JSON", other_flag="--json"),
    Option(
        "--nodes", "brokers in this process, on one storage, at consecutive ports (default 1)",
        "N", int, 1, most=MOST_NODES,
    ),
    Option(
        "--control", "faults, trace and nodes, for tests: by HTTP, or lines on a Unix socket",
        "HOST:PORT|SOCKET",
    ),
    Option("--clock", "system (default), or manual[:MS]: time passes by `advance`", "CLOCK"),
    Option("--as", "the release of Kafka to answer as: 3.9", "RELEASE", name="as_kafka"),
    Option("--emulate", "bugs of Kafka to rehearse: KAFKA-19999,KAFKA-20357", "NAMES"),
    Option("--control-anywhere", "let --control listen on an address that others reach"),
    Option("--metrics", "serve /metrics for Prometheus, /livez and /readyz", "HOST:PORT"),
    Option(
        "--log-level", "default info; or of a logger: kafka.request.logger=trace; repeatable",
        "LEVEL", default=(), name="log_levels",
    ),
    Option("--log-format", "console or json (default: json unless on a terminal)", "FORMAT"),
    Option("--until-stdin-ends", ""),
    Option("--answer-health", "", "NAME"),
    Option("--create-topics", "", "LINES"),
)  # fmt: skip
TEMPLATE_OPTIONS = (
    Option("--socket", "in a directory of your own", "PATH", is_required=True),
    Option(
        "--idle-s", "end after so long without brokers; 0: never (default 600)",
        "S", float, 600.0,
    ),
    Option("--until-stdin-ends", "end when standard input ends"),
    Option("--json", "the ready line on standard output is JSON", name="as_json"),
)  # fmt: skip
HEALTH_OPTIONS = (
    Option("--bootstrap", "brokers of the cluster", "HOST:PORT,...", other_flag="-b"),
    Option("--here", "ask the broker of this container, wherever it listens"),
    Option("--json", "print the findings as JSON", name="as_json"),
)


def new_parser(command: str) -> argparse.ArgumentParser:
    """A parser for the options of `ottla COMMAND`; typer shows the help page.

    Without a width, argparse imports shutil and the compression modules at the first option.
    """
    import argparse

    def formatter(prog: str) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog, width=WIDTH_OF_USAGE)

    return argparse.ArgumentParser(f"ottla {command}", add_help=False, formatter_class=formatter)


def add_options(parser: argparse.ArgumentParser, options: tuple[Option, ...]) -> None:
    """Add options to a parser of argparse.

    The parser raises CannotRun for an option that is given twice and takes one value: argparse
    itself would lose all but the last one, and the commands of typer refuse it too.
    """
    import argparse

    once = _once()
    for each in options:
        more: dict[str, Any] = {"dest": each.destination}
        if not each.metavar:
            more["action"] = "store_true"
        else:
            more |= {"metavar": each.metavar, "type": each.kind, "default": each.default}
            more |= {"action": "append", "default": []} if each.is_repeatable else {"action": once}
            if each.most:
                more["choices"] = range(1, each.most + 1)
            if each.is_required:
                more["required"] = True
        parser.add_argument(*each.flags, help=each.text or argparse.SUPPRESS, **more)


def _once() -> type[argparse.Action]:
    """The action of an option with one value; made late, because argparse is imported late."""
    import argparse

    class Once(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: object,
            option_string: str | None = None,
        ) -> None:
            seen = f"{self.dest} is given"
            if hasattr(namespace, seen):
                raise CannotRun(f"{option_string} is given twice, and takes one value")
            setattr(namespace, seen, True)
            setattr(namespace, self.dest, values)

    return Once


def read_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """The values of texts NAME=VALUE by their names, without blanks around them.

    Args:
        option: for the error.

    Raises:
        CannotRun: a text has no `=`.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CannotRun(f"{option} {text}: NAME=VALUE was expected")
        found[name.strip()] = value.strip()
    return found


def address(given: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; the host may be missing. Raises CannotRun."""
    from ..protocol.addresses import read_address

    try:
        return read_address(given, lowest_port=0)
    except ValueError as wrong:
        raise CannotRun(str(wrong)) from None

"""What the tools that measure consumers have alike: their options, settings and warning."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..options import Options, forbid, has, pairs
from ..session import properties_in
from ..texts import line
from .rates import USUAL_DATE, date_pattern


def perf_options(tool: str, purpose: str) -> Options:
    """The options that both tools have."""
    made = Options(tool, purpose, needs_words=True)
    made.server()
    made.value("--consumer.config", "as --command-config", dest="consumer_config")
    made.values("--command-property", "NAME=VALUE of the client")
    made.value("--topic", "the topic")
    made.value("--num-records", "how many records to read", number=True)
    made.value("--messages", "as --num-records", number=True)
    made.value("--socket-buffer-size", "accepted", number=True)
    made.value("--timeout", "milliseconds without a record", number=True, default=10_000)
    made.value("--reporting-interval", "of lines, in ms", number=True, default=5000)
    made.flag("--hide-header", "no line with the names of columns")
    made.flag("--print-metrics", "print counts at the end")
    made.value("--date-format", "as SimpleDateFormat's", default=USUAL_DATE)
    return made


def check_perf_options(given: argparse.Namespace, heads: Sequence[str]) -> None:
    """Take the values of old names, and print the line with the names of columns.

    Raises:
        WrongOptions: an old name and its new one were given. ValueError: a value is wrong.
    """
    forbid(given, "consumer.config", "command-config")
    for old, new in (("messages", "num-records"), ("consumer.config", "command-config")):
        if has(given, old):
            line(f"Warning: --{old} is deprecated. Use --{new} instead.")
    if given.messages is not None:
        given.num_records = given.messages
    if not given.hide_header:
        line(", ".join(heads))
    if given.reporting_interval <= 0:
        raise ValueError("Reporting interval must be greater than 0.")
    given.date_format = date_pattern(given.date_format)


def perf_settings(given: argparse.Namespace) -> dict[str, str]:
    """The client's properties: those of a file, and those on the command line."""
    settings = properties_in(given.command_config or given.consumer_config)
    return settings | pairs(given.command_property)


def warn_of_timeout(given: argparse.Namespace) -> None:
    """Print that --timeout passed without a record."""
    line(
        "WARNING: Exiting before consuming the expected number of records: timeout"
        f" ({given.timeout} ms) exceeded. You can use the --timeout option to increase the"
        " timeout."
    )

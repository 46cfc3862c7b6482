"""How the console consumers print: the options of the formatter, and what comes after records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable

from ..options import Options
from ..texts import error_line, line
from .record_printer import RecordPrinter, check_formatter, formatter_settings


def add_printing_options(made: Options) -> None:
    """Add the options that say what is printed, and until when."""
    made.value("--max-messages", "end after so many records", number=True)
    made.value("--timeout-ms", "end if no record comes for so long", number=True)
    made.values("--property", "as --formatter-property")
    made.values(
        "--formatter-property", "NAME=VALUE of the formatter: print.key, key.separator, ..."
    )
    made.value("--formatter-config", "file with properties of the formatter")
    made.value(
        "--formatter", "a class of Kafka: DefaultMessageFormatter, OffsetsMessageFormatter, ..."
    )
    made.value("--key-deserializer", "only StringDeserializer and ByteArrayDeserializer")
    made.value("--value-deserializer", "as --key-deserializer")
    made.flag("--enable-systest-events", "print shutdown_complete at the end")


def printer_of(given: argparse.Namespace) -> RecordPrinter:
    """The printer that the options describe. Raises WrongOptions if they do not agree."""
    shown = formatter_settings(given)
    check_formatter(given, shown)
    return RecordPrinter(shown, given.formatter)


def warn_of_unused(settings: Iterable[str], used: Collection[str]) -> None:
    """Print which properties of the client the tool does not use."""
    if unused := sorted(set(settings) - set(used)):
        error_line(f"WARN This tool does not use the properties {', '.join(unused)}")


def print_timeout(tool_class: str) -> None:
    """Print that --timeout-ms has passed, in the name of a class of Kafka's tools."""
    error_line(
        "ERROR Error processing message, terminating consumer process: "
        f" (org.apache.kafka.tools.consumer.{tool_class})"
    )
    error_line("org.apache.kafka.common.errors.TimeoutException: null")


def print_count(given: argparse.Namespace) -> None:
    """Print how many records were printed, if the options could be read."""
    if "printer" not in given:
        return
    sys.stdout.flush()
    error_line(f"Processed a total of {given.printer.count} messages")
    if given.enable_systest_events:
        line("shutdown_complete")

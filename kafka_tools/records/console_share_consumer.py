"""`kafka-console-share-consumer`: print records as a member of a share group.

As ConsoleShareConsumer. Each printed record is accepted, or with --reject rejected, or with
--release released. Records that were acquired and not printed are released at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from ...client.cluster_client import Client
from ...client.share_reader import Acknowledge, ShareReader
from ..options import Options, WrongOptions, forbid_both, pairs, take_new_name
from ..session import properties_in
from ..texts import error_line, line
from ..tool import Tool, print_with_cause
from .record_printer import RecordPrinter, check_formatter, formatter_settings

_CLIENT_ID: Final = "console-share-consumer"
_USED: Final = frozenset(
    {
        *("bootstrap.servers", "client.id", "default.api.timeout.ms", "group.id"),
        *("request.timeout.ms", "security.protocol"),
    }
)
_PAUSE_MS: Final = 500
_TIMED_OUT: Final = "ERROR Error processing message, terminating consumer process: "


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-console-share-consumer",
        "This tool helps to read data from Kafka topics using share groups and outputs it to"
        " standard output.",
        needs_words=True,
    )
    made.server()
    made.value("--consumer-config", "as --command-config")
    made.value("--topic", "the topic")
    made.value("--group", f"the share group; {_CLIENT_ID} without it")
    made.value("--max-messages", "end after so many records", number=True)
    made.value("--timeout-ms", "end if no record comes for so long", number=True)
    made.flag("--reject", "reject the records")
    made.flag("--release", "release the records")
    made.flag("--reject-message-on-error", "accepted: printing a record does not fail")
    made.values("--property", "as --formatter-property")
    made.values("--formatter-property", "NAME=VALUE of the formatter: print.key, key.separator")
    made.value("--formatter-config", "file with properties of the formatter")
    made.values("--consumer-property", "as --command-property")
    made.values("--command-property", "NAME=VALUE of the client")
    made.value(
        "--formatter", "a class of Kafka: DefaultMessageFormatter, OffsetsMessageFormatter, ..."
    )
    made.value("--key-deserializer", "only StringDeserializer and ByteArrayDeserializer")
    made.value("--value-deserializer", "as --key-deserializer")
    made.flag("--enable-systest-events", "print shutdown_complete at the end")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree; print which ones are deprecated."""
    if given.topic is None:
        raise WrongOptions("--topic is a required argument")
    if given.bootstrap_server is None:
        raise WrongOptions('Missing required argument "[bootstrap-server]"')
    if given.reject and given.release:
        raise WrongOptions("At most one of --reject and --release may be specified.")
    for kind in ("property", "config"):
        forbid_both(given, f"consumer-{kind}", f"command-{kind}")
    for kind in ("property", "config"):
        take_new_name(given, f"consumer-{kind}", f"command-{kind}")
    given.client_settings = properties_in(given.command_config)
    given_groups = {given.group, given.client_settings.get("group.id")}
    added = pairs(given.command_property)
    given.client_settings |= added
    _find_group(given, {*given_groups, added.get("group.id")} - {None})
    shown = formatter_settings(given)
    check_formatter(given, shown)
    given.printer = RecordPrinter(shown, given.formatter)


def _find_group(given: argparse.Namespace, named: set[str]) -> None:
    if len(named) > 1:
        names = ", ".join(f"'{each}'" for each in sorted(named))
        raise WrongOptions(
            "The group ids provided in different places (directly using '--group', via"
            " '--consumer-property', or via '--consumer-config') do not match. Detected group"
            f" ids: {names}"
        )
    given.group = min(named, default=_CLIENT_ID)


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings: dict[str, str] = {"client.id": _CLIENT_ID} | given.client_settings
    if unused := sorted(settings.keys() - _USED):
        error_line(f"WARN This tool does not use the properties {', '.join(unused)}")
    return settings


def _run(client: Client, given: argparse.Namespace) -> None:
    how = Acknowledge.ACCEPT
    if given.reject or given.release:
        how = Acknowledge.REJECT if given.reject else Acknowledge.RELEASE
    with ShareReader(client, given.group, given.topic) as reader:
        if _consume(reader, given, how):
            error_line(f"{_TIMED_OUT} (org.apache.kafka.tools.consumer.ConsoleShareConsumer)")
            error_line("org.apache.kafka.common.errors.TimeoutException: null")


def _consume(reader: ShareReader, given: argparse.Namespace, how: Acknowledge) -> bool:
    """Print records; return whether --timeout-ms has passed without one."""
    most, wait_ms = given.max_messages, given.timeout_ms
    last = time.monotonic()
    try:
        while most is None or given.printer.count < most:
            pause_ms = _PAUSE_MS if wait_ms is None else max(10, min(_PAUSE_MS, wait_ms))
            for record in reader.read(max_wait_ms=pause_ms):
                given.printer.print(record, delivery_count=record.delivery_count)
                reader.acknowledge(record, how)
                last = time.monotonic()
                if most is not None and given.printer.count >= most:
                    return False
            sys.stdout.flush()
            if wait_ms is not None and (time.monotonic() - last) * 1000 >= wait_ms:
                return True
    except KeyboardInterrupt:
        pass
    return False


def _print_count(given: argparse.Namespace) -> None:
    if "printer" not in given:
        return
    sys.stdout.flush()
    error_line(f"Processed a total of {given.printer.count} messages")
    if given.enable_systest_events:
        line("shutdown_complete")


TOOL: Final = Tool(
    options,
    _run,
    "metadata",
    check=_check,
    settings=_read_settings,
    client="Consumer",
    print_failure=print_with_cause,
    finish=_print_count,
)

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
from ..options import Options, WrongOptions, forbid_both, pairs, require, take_new_name
from ..session import properties_in
from ..tool import Tool, print_with_cause
from .console_printing import (
    add_printing_options,
    print_count,
    print_timeout,
    printer_of,
    warn_of_unused,
)

_CLIENT_ID: Final = "console-share-consumer"
_USED: Final = frozenset(
    {
        *("bootstrap.servers", "client.id", "default.api.timeout.ms", "group.id"),
        *("request.timeout.ms", "security.protocol"),
    }
)
_PAUSE_MS: Final = 500


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
    made.flag("--reject", "reject the records")
    made.flag("--release", "release the records")
    made.flag("--reject-message-on-error", "accepted: printing a record does not fail")
    made.values("--consumer-property", "as --command-property")
    made.values("--command-property", "NAME=VALUE of the client")
    add_printing_options(made)
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree; print which ones are deprecated."""
    if given.topic is None:
        raise WrongOptions("--topic is a required argument")
    require(given, "bootstrap-server")
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
    given.printer = printer_of(given)


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
    warn_of_unused(settings, _USED)
    return settings


def _run(client: Client, given: argparse.Namespace) -> None:
    how = Acknowledge.ACCEPT
    if given.reject or given.release:
        how = Acknowledge.REJECT if given.reject else Acknowledge.RELEASE
    with ShareReader(client, given.group, given.topic) as reader:
        if _consume(reader, given, how):
            print_timeout("ConsoleShareConsumer")


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


TOOL: Final = Tool(
    options,
    _run,
    "metadata",
    check=_check,
    settings=_read_settings,
    client="Consumer",
    print_failure=print_with_cause,
    finish=print_count,
)

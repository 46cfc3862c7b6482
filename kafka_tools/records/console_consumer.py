"""`kafka-console-consumer`: print the records of topics (ConsoleConsumer).

It reads without joining a group, also with --group: the group's committed offsets are where it
starts, and it commits the offsets that it has read when it ends.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import offsets as admin_offsets
from ...client.admin.offsets import Isolation
from ...client.cluster_client import Client
from ...client.record_reader import RecordReader
from ...protocol.java_integers import number_in
from ..options import Options, WrongOptions, forbid_both, has, pairs, require, take_new_name
from ..session import properties_in
from ..texts import INTERNAL_TOPICS, topic_pattern
from ..tool import Tool, print_with_cause
from .console_printing import (
    add_printing_options,
    print_count,
    print_timeout,
    printer_of,
    warn_of_unused,
)
from .record_printer import RecordPrinter

_USED: Final = frozenset(
    {
        *("auto.offset.reset", "bootstrap.servers", "client.id", "default.api.timeout.ms"),
        *("group.id", "isolation.level", "request.timeout.ms", "security.protocol"),
    }
)


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-console-consumer",
        "This tool helps to read data from Kafka topics and outputs it to standard output.",
        needs_words=True,
    )
    made.server()
    made.value("--consumer.config", "as --command-config", dest="consumer_config")
    made.value("--topic", "the topic")
    made.value("--include", "regular expression of topics")
    made.value("--whitelist", "as --include")
    made.value("--partition", "only this partition", number=True)
    made.value("--offset", "with --partition: earliest, latest or a number")
    made.value("--group", "the group whose offsets are used and committed")
    made.flag("--from-beginning", "start at the earliest record without a committed offset")
    made.value("--isolation-level", "read_committed or read_uncommitted")
    made.values("--consumer-property", "as --command-property")
    made.values("--command-property", "NAME=VALUE of the client")
    made.flag("--skip-message-on-error", "accepted: printing a record does not fail")
    add_printing_options(made)
    return made


def _offset(text: str) -> int | None:
    """The offset that a text is; None for another text."""
    number = number_in(text, 64)
    return None if number is None or number < 0 else number


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings: dict[str, str] = properties_in(given.command_config) | given.client_settings
    given.group = given.group or settings.get("group.id")
    is_early = given.offset is None and settings.get("auto.offset.reset") == "earliest"
    given.from_beginning |= is_early
    given.isolation_level = given.isolation_level or settings.get(
        "isolation.level", "read_uncommitted"
    )
    warn_of_unused(settings, _USED)
    return settings


def _run(client: Client, given: argparse.Namespace) -> None:
    name = given.isolation_level
    if name.upper() not in Isolation.__members__:
        raise WrongOptions(f"Invalid value {name} for configuration isolation.level")
    if _consume(client, given, Isolation[name.upper()], given.printer):
        print_timeout("ConsoleConsumer")


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree."""
    given.include = given.include or given.whitelist
    if (given.topic is None) == (given.include is None):
        raise WrongOptions("Exactly one of --include/--topic is required. ")
    require(given, "bootstrap-server")
    if given.partition is not None and given.topic is None:
        raise WrongOptions("The topic is required when partition is specified.")
    if given.offset is not None:
        if given.partition is None:
            raise WrongOptions("The partition is required when offset is specified.")
        if given.offset not in ("earliest", "latest") and _offset(given.offset) is None:
            raise WrongOptions(
                f"The provided offset value '{given.offset}' is incorrect. Valid values are"
                " 'earliest', 'latest', or a non-negative long."
            )
        if given.from_beginning:
            raise WrongOptions("Options from-beginning and offset cannot be specified together.")
    forbid_both(given, "consumer-property", "command-property")
    forbid_both(given, "consumer.config", "command-config")
    take_new_name(given, "consumer-property", "command-property")
    take_new_name(given, "consumer.config", "command-config")
    if has(given, "group") and given.partition is not None:
        raise WrongOptions("Options group and partition cannot be specified together.")
    given.printer = printer_of(given)
    given.client_settings = pairs(given.command_property)


def _consume(
    client: Client, given: argparse.Namespace, isolation: Isolation, printed: RecordPrinter
) -> bool:
    """Print records; return whether --timeout-ms has passed without one."""
    wait_ms, most = given.timeout_ms, given.max_messages
    if most == 0:
        return False
    reset = admin_offsets.EARLIEST if given.from_beginning else admin_offsets.LATEST
    readers: dict[str, RecordReader] = {}
    next_offsets: dict[tuple[str, int], int] = {}
    last = time.monotonic()
    try:
        while True:
            for topic in _topics(client, given):
                if topic not in readers:
                    starts = _starts(client, given, topic)
                    if starts:
                        readers[topic] = RecordReader(
                            client, topic, starts, isolation=isolation, reset=reset
                        )
            for topic, reader in readers.items():
                for record in reader.read(max_wait_ms=_pause_ms(wait_ms, len(readers))):
                    epoch = client.known_leader_epoch(topic, record.partition)
                    printed.print(record, leader_epoch=epoch)
                    next_offsets[topic, record.partition] = record.offset + 1
                    last = time.monotonic()
                    if most is not None and printed.count >= most:
                        return False
            sys.stdout.flush()
            if wait_ms is not None and (time.monotonic() - last) * 1000 >= wait_ms:
                return True
            if not readers:
                time.sleep(0.1)
    except KeyboardInterrupt:
        return False
    finally:
        if given.group and next_offsets:
            admin_groups.commit_offsets(client, given.group, next_offsets)


def _pause_ms(wait_ms: int | None, readers: int) -> int:
    return max(10, min(500, wait_ms or 500) // readers)


def _topics(client: Client, given: argparse.Namespace) -> list[str]:
    if given.topic is not None:
        return [given.topic]
    pattern = topic_pattern(given.include)
    names = (topic.name for topic in client.metadata(None))
    return [name for name in names if pattern.fullmatch(name) and name not in INTERNAL_TOPICS]


def _starts(client: Client, given: argparse.Namespace, topic: str) -> dict[int, int]:
    """The first offset of each partition; none while the topic does not exist."""
    (found,) = client.metadata([topic], may_create=True)
    indexes = [each.partition_index for each in found.partitions]
    if given.partition is not None:
        indexes = [index for index in indexes if index == given.partition]
    places = [(topic, index) for index in indexes]
    if not places:
        return {}
    if given.offset is not None and (offset := _offset(given.offset)) is not None:
        return dict.fromkeys(indexes, offset)
    is_early = given.from_beginning or given.offset == "earliest"
    when = admin_offsets.EARLIEST if is_early else admin_offsets.LATEST
    offsets = admin_offsets.list_offsets(client, dict.fromkeys(places, when))
    starts = {index: each.offset for (_, index), each in offsets.items()}
    if given.group:
        committed = admin_groups.committed_offsets(client, given.group)
        starts |= {index: at[0] for (name, index), at in committed.items() if name == topic}
    return starts


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

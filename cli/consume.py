"""`ottla consume`: prints records with their headers and the fate of each."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated, Final

import typer

from ..client.admin.offsets import EARLIEST, LATEST, Isolation, partition_offsets
from ..client.cluster_client import Client, ErrorAnswer
from ..client.fates import Fate
from ..client.record_reader import ReadRecord, RecordReader
from ..console.options import CannotRun
from ..console.tables import (
    format_time,
    plural,
    print_data,
    print_error,
    print_json,
    print_line,
    print_painted,
)
from ..protocol.errors import Code
from ..protocol.java_integers import number_in
from ..protocol.records import Record
from .log.json_lines import field_bytes, header_fields
from .log.records import described
from .record_format import FIELDS, format_of
from .shared_options import HERE, AsJson, Bootstrap, client_of, guarded

_AGO: Final = re.compile(r"(\d{1,9})(s|m|min|h|d)( ago)?")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_COLOURS: Final = {
    Fate.PLAIN: "",
    Fate.COMMITTED: "\x1b[32m",
    Fate.ABORTED: "\x1b[31m",
    Fate.OPEN: "\x1b[33m",
}
_PLACES: Final = "beginning, end, an offset, -N, "
_POLL_S: Final = 0.5
_FATE_WIDTH: Final = max(map(len, Fate))


class IsolationName(StrEnum):
    """Kafka's names of the isolation levels."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command(
        "consume", epilog="Example: ottla consume orders --from 10m --isolation read_committed -n 5"
    )(guarded(_consume))


def _consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="beginning, end, an offset, -N (the last N of each partition),"
            " 2026-01-31T12:00:00, or 10m (ago).",
        ),
    ] = "",
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", metavar="N", help="Only this one; repeatable."),
    ] = None,
    group: Annotated[
        str,
        typer.Option(
            "--group", "-g", metavar="ID", help="Start at its committed offsets; commits nothing."
        ),
    ] = "",
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", metavar="N", min=1, help="Stop after N records."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for further records until Ctrl-C.")
    ] = False,
    isolation: Annotated[
        IsolationName,
        typer.Option(
            "--isolation",
            metavar="LEVEL",
            help="read_uncommitted; or read_committed: without aborted and open records.",
        ),
    ] = IsolationName.READ_UNCOMMITTED,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="S", min=0, help="With -f: end after S s without any."),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="Print only the values.")] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="TEXT", help=f"As kcat's -f: {FIELDS}.")
    ] = "",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Print the records of a topic, with the fate of each: committed, aborted, open or plain.

    Plain records belong to no transaction. It prints up to the end of the topic and stops. With
    --json: one line for each record.
    """
    level = Isolation[isolation.name]
    if start and group:
        raise CannotRun("--from and --group exclude each other")
    if values + as_json + bool(form) > 1:
        raise CannotRun("--values, --format and --json exclude each other")
    if timeout is not None and not follow:
        raise CannotRun("--timeout needs --follow; without it, the end of the topic is the end")
    printing = _formatted(format_of(form)) if form else _form(values, as_json)
    with client_of(bootstrap) as client:
        chosen = _partitions(client, topic, partition or [])
        ends = partition_offsets(client, topic, dict.fromkeys(chosen, LATEST), isolation=level)
        starts = _starts(client, topic, ends, start, group)
        reader = RecordReader(client, topic, starts, isolation=level)
        records = _followed(reader, timeout) if follow else reader.read_to(ends)
        _print(topic, records if count is None else islice(records, count), printing)


def _partitions(client: Client, topic: str, wanted: list[int]) -> list[int]:
    """The partitions to read; all of the topic if none is named."""
    known = client.partitions(topic)
    for each in wanted:
        if each not in known:
            raise ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{each}")
    return wanted or known


def _starts(
    client: Client, topic: str, ends: dict[int, int], start: str, group: str
) -> dict[int, int]:
    """The first offset to read in each partition. Raises CannotRun."""
    first = partition_offsets(client, topic, dict.fromkeys(ends, EARLIEST))
    if group:
        from ..client.admin.groups import committed_offsets

        committed = committed_offsets(client, group)
        return {p: committed.get((topic, p), (first[p],))[0] for p in ends}
    if start in ("", "beginning"):
        return first
    if start == "end":
        return ends
    number = number_in(start, 64)
    if number is not None:
        wanted = {p: end + number if number < 0 else number for p, end in ends.items()}
        return {p: max(first[p], offset) for p, offset in wanted.items()}
    at_ms = time_ms(start)
    found = partition_offsets(client, topic, dict.fromkeys(ends, at_ms))
    return {p: ends[p] if offset < 0 else offset for p, offset in found.items()}


def time_ms(text: str, option: str = "--from", others: str = _PLACES) -> int:
    """Unix time of a date, or of so long ago. Raises CannotRun."""
    if ago := _AGO.fullmatch(text):
        return int((time.time() - int(ago[1]) * _SECONDS[ago[2]]) * 1000)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise CannotRun(
            f"{option} {text}: {others}a time such as 2026-01-31T12:00:00, or 10m was expected"
        ) from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _followed(reader: RecordReader, timeout_s: float | None) -> Iterator[ReadRecord]:
    """Records as they come, until none came for so long."""
    last_s = time.monotonic()
    while timeout_s is None or time.monotonic() < last_s + timeout_s:
        left_s = _POLL_S if timeout_s is None else last_s + timeout_s - time.monotonic()
        for record in reader.read(max_wait_ms=int(max(0.0, min(_POLL_S, left_s)) * 1000)):
            yield record
            last_s = time.monotonic()
        sys.stdout.flush()


def _print(topic: str, records: Iterable[ReadRecord], form: Callable[[ReadRecord], None]) -> None:
    """Print the records; on a terminal also their number, by fate."""
    fates: Counter[Fate] = Counter()
    try:
        for record in records:
            form(record)
            fates[record.fate] += 1
    finally:
        if sys.stdout.isatty():
            parts = ", ".join(f"{fates[fate]} {fate}" for fate in Fate if fates[fate])
            total = plural(fates.total(), "record", "records")
            print_error(f"{total} of {topic}{f': {parts}' if parts else ''}")


def _form(values: bool, as_json: bool) -> Callable[[ReadRecord], None]:
    """The function that prints one record."""
    if as_json:
        return _print_json
    if values:
        return _print_value
    in_colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return _print_coloured if in_colour else _print_line


def _formatted(formatted: Callable[[ReadRecord], bytes]) -> Callable[[ReadRecord], None]:
    """Prints records by a format, without a newline of its own."""

    def write(record: ReadRecord) -> None:
        print_data(formatted(record).decode(errors="surrogateescape"))

    return write


def _print_json(record: ReadRecord) -> None:
    fields = record._asdict()
    fields["key"], fields["value"] = field_bytes(record.key), field_bytes(record.value)
    print_json(fields | {"headers": header_fields(record.headers)})


def _print_value(record: ReadRecord) -> None:
    value = b"" if record.value is None else record.value
    print_data(value.decode(errors="surrogateescape") + "\n")


def _print_line(record: ReadRecord) -> None:
    before, after = _texts(record)
    print_line(before + record.fate.ljust(_FATE_WIDTH) + after)


def _print_coloured(record: ReadRecord) -> None:
    colour = _COLOURS[record.fate]
    fate = record.fate.ljust(_FATE_WIDTH)
    before, after = _texts(record)
    print_painted(before, (colour, fate) if colour else fate, after)


def _texts(record: ReadRecord) -> tuple[str, str]:
    """What stands before and after the fate."""
    content = Record(*record[2:7])
    where = f"{record.topic}-{record.partition}@{record.offset}"
    return f"{where}  {format_time(record.timestamp_ms)}  ", f"  {described(record.topic, content)}"

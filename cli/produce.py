"""`ottla produce`: sends records from arguments, standard input, or made up."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import typer

from ..client.cluster_client import Client
from ..client.record_batch import OutgoingRecord
from ..client.record_producer import OpenTransaction, Stored, produce
from ..console.options import CannotRun
from ..console.tables import plural, print_json, print_line
from ..protocol.batch import Compression
from ..protocol.java_integers import number_in
from ..protocol.records import Header
from .consume import time_ms
from .log.json_lines import record_of_json
from .progress import counting
from .shared_options import HERE, AsJson, Bootstrap, about, client_of, guarded

_BATCH_RECORDS = 500


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command(
        "produce",
        epilog="Example: ottla produce orders --key-separator : --header source=shop a:1 b:2",
    )(guarded(_produce))


def _produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VALUE...]", help="Without any: the lines of standard input."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", "-k", metavar="KEY", help="The key of all records.")
    ] = None,
    key_separator: Annotated[
        str,
        typer.Option("--key-separator", "-K", metavar="TEXT", help="Ends the key in each value."),
    ] = "",
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header; repeatable."),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", metavar="N", min=0, help="Instead of the key's hash."),
    ] = None,
    transactional_id: Annotated[
        str,
        typer.Option("--transactional-id", metavar="ID", help="Send all in one transaction."),
    ] = "",
    abort: Annotated[
        bool, typer.Option("--abort", help="Abort that transaction instead of committing it.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            metavar="N",
            min=1,
            help="Send N records: the values again and again; without values, numbers.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Its lines instead of values; -: stdin."),
    ] = None,
    json_lines: Annotated[
        bool,
        typer.Option("--json-lines", help="Each line is a record of consume --json."),
    ] = False,
    tombstones: Annotated[
        bool, typer.Option("--tombstones", help="An empty value is a tombstone (null).")
    ] = False,
    timestamp: Annotated[
        str,
        typer.Option("--timestamp", metavar="TIME", help="Unix time in ms, or a date and time."),
    ] = "",
    compression: Annotated[
        str, typer.Option("--compression", metavar="CODEC", help="none, gzip, snappy, lz4, zstd.")
    ] = "none",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Send records to a topic.

    Records with a key go to the partition that Java's producer would choose; others go to each
    partition in turn. An empty value with --key-separator, as in `a:`, is an empty text; with
    --tombstones it is null. --json-lines takes keys, values, headers and timestamps of the lines.
    """
    if abort and not transactional_id:
        raise CannotRun("--abort needs --transactional-id ID")
    if key is not None and key_separator:
        raise CannotRun("--key and --key-separator exclude each other")
    if json_lines and (key is not None or key_separator or count is not None):
        raise CannotRun("--json-lines excludes --key, --key-separator and --count")
    if (file is not None or json_lines) and values:
        raise CannotRun("values exclude --file and --json-lines")
    form = _Form(
        key, key_separator, _headers(header or []), partition, _time_ms(timestamp),
        with_tombstones=tombstones, is_json=json_lines,
    )  # fmt: skip
    texts = _texts(values or [], count, file)
    codec = _codec(compression)
    places: list[Stored] = []
    with client_of(bootstrap) as client:
        transaction = OpenTransaction.begin(client, transactional_id) if transactional_id else None
        sending = _Sending(client, topic, transaction, codec)
        with counting("records", count) as done:
            for stored in sending.all(map(form.record, texts)):
                done(len(stored))
                places += stored if not as_json else []
                if as_json:
                    for place in stored:
                        print_json(place._asdict())
        if transaction is not None:
            transaction.end(commit=not abort)
    if not as_json:
        ended = "" if transaction is None else ", aborted" if abort else ", committed"
        print_line(_summary(topic, places) + ended)


class _Form:
    """Makes a record of each text."""

    def __init__(
        self,
        key: str | None,
        separator: str,
        headers: tuple[Header, ...],
        partition: int | None,
        timestamp_ms: int | None,
        *,
        with_tombstones: bool,
        is_json: bool,
    ) -> None:
        self._timestamp_ms = timestamp_ms
        self._with_tombstones = with_tombstones
        self._is_json = is_json
        self._key = None if key is None else _encoded(key)
        self._separator = separator
        self._headers = headers
        self._partition = partition

    def record(self, text: str) -> OutgoingRecord:
        if self._is_json:
            return self._of_json(text)
        key, value = self._key, text
        if self._separator:
            name, found, value = text.partition(self._separator)
            if not found:
                raise CannotRun(f"{text[:80]}: no {self._separator!r} ends the key")
            key = _encoded(name)
        data = None if self._with_tombstones and not value else _encoded(value)
        return OutgoingRecord(data, key, self._headers, self._partition, self._timestamp_ms)

    def _of_json(self, text: str) -> OutgoingRecord:
        read = record_of_json(text)
        time_ms = read.timestamp_ms if self._timestamp_ms is None else self._timestamp_ms
        value = None if self._with_tombstones and not read.value else read.value
        headers = (*read.headers, *self._headers)
        return OutgoingRecord(value, read.key, headers, self._partition, time_ms)


class _Sending:
    """Sends records in batches; from a terminal, each line at once."""

    def __init__(
        self,
        client: Client,
        topic: str,
        transaction: OpenTransaction | None,
        compression: Compression,
    ) -> None:
        self._client = client
        self._topic = topic
        self._transaction = transaction
        self._compression = compression

    def all(self, records: Iterator[OutgoingRecord]) -> Iterator[list[Stored]]:
        size = 1 if sys.stdin.isatty() else _BATCH_RECORDS
        while batch := list(islice(records, size)):
            if self._transaction is not None:
                yield self._transaction.produce(self._topic, batch, compression=self._compression)
            else:
                yield produce(self._client, self._topic, batch, compression=self._compression)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _time_ms(text: str) -> int | None:
    """Unix time of a number, a date or of so long ago; None for none. Raises CannotRun."""
    if not text:
        return None
    found = number_in(text, 64) if text.isdecimal() else None
    return time_ms(text, "--timestamp", "Unix time in ms, ") if found is None else found


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8", errors="surrogateescape", newline="\n") as opened:
            for text in opened:
                yield text.removesuffix("\n")
    except OSError as wrong:
        raise CannotRun(f"produce --file {about(file, wrong)}") from None


def _texts(values: list[str], count: int | None, file: Path | None) -> Iterable[str]:
    if file is not None and str(file) != "-":
        return islice(_lines(file), count)
    if count is None:
        return values or (text.removesuffix("\n") for text in sys.stdin)
    if values:
        return islice(cycle(values), count)
    return map(str, range(count))


def _headers(pairs: list[str]) -> tuple[Header, ...]:
    found = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CannotRun(f"--header {pair}: NAME=VALUE was expected")
        found.append((name, _encoded(value)))
    return tuple(found)


def _codec(name: str) -> Compression:
    try:
        return Compression[name.upper()]
    except KeyError:
        raise CannotRun(f"--compression {name}: none, gzip, snappy, lz4 or zstd") from None


def _summary(topic: str, places: list[Stored]) -> str:
    """How many records are where: `3 records to orders: partition 0 at 5-6, partition 1 at 2`."""
    offsets: dict[int, list[int]] = {}
    for place in places:
        offsets.setdefault(place.partition, []).append(place.offset)
    parts = []
    for partition, each in sorted(offsets.items()):
        first, last = min(each), max(each)
        parts.append(f"partition {partition} at {first if first == last else f'{first}-{last}'}")
    where = f": {', '.join(parts)}" if parts else ""
    return f"{plural(len(places), 'record', 'records')} to {topic}{where}"

"""`kafka-console-producer`: produce the lines of standard input (ConsoleProducer)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from ...client.cluster_client import Client
from ...client.record_batch import OutgoingRecord
from ...client.record_producer import produce
from ...protocol.batch import Compression
from ..options import Options, WrongOptions, forbid_both, pairs, require, take_new_name
from ..session import Failure, properties_in
from ..tool import Tool, print_with_cause

if TYPE_CHECKING:
    from io import BufferedReader

_PROPERTIES: Final = frozenset(
    {
        *("parse.key", "key.separator", "ignore.error", "parse.headers", "headers.delimiter"),
        *("headers.separator", "headers.key.separator", "null.marker"),
    }
)
ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}
"""The values of `acks`."""
_READ_BYTES: Final = 1 << 16
_IGNORED: Final = (
    *("batch-size", "max-block-ms", "max-memory-bytes", "max-partition-memory-bytes"),
    *("message-send-max-retries", "metadata-expiry-ms", "request-timeout-ms", "retry-backoff-ms"),
    *("socket-buffer-size", "timeout"),
)


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-console-producer",
        "This tool helps to read data from standard input and publish it to Kafka.",
        needs_words=True,
    )
    made.server()
    made.value("--producer.config", "as --command-config", dest="producer_config")
    made.value("--broker-list", "as --bootstrap-server")
    made.value("--topic", "the topic")
    made.values("--property", "as --reader-property")
    made.values("--reader-property", "NAME=VALUE of the reader: parse.key, key.separator, ...")
    made.values("--producer-property", "as --command-property")
    made.values("--command-property", "NAME=VALUE of the client")
    made.value("--reader-config", "file with properties of the reader")
    made.value("--line-reader", "accepted for Kafka's own reader")
    made.value("--compression-codec", "none, gzip, snappy, lz4 or zstd", nargs="?", const="gzip")
    made.value("--request-required-acks", "all, -1, 0 or 1", default="-1")
    made.flag("--sync", "wait for each record")
    for name in _IGNORED:
        made.value(f"--{name}", "accepted", number=True)
    return made


def _check(given: argparse.Namespace) -> None:
    given.bootstrap_server = given.bootstrap_server or given.broker_list
    require(given, "bootstrap-server", "topic")
    names = (
        ("producer.config", "command-config"),
        ("producer-property", "command-property"),
        ("property", "reader-property"),
    )
    for old, new in names:
        forbid_both(given, new, old)
    for old, new in (names[1], names[0], names[2]):
        take_new_name(given, old, new, kind="Warning:")
    given.reader = pairs(given.reader_property)
    unknown = sorted(set(given.reader) - _PROPERTIES)
    if unknown:
        raise WrongOptions(f"{unknown[0]} is not a known property of the reader")
    given.client_settings = pairs(given.command_property)


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings = properties_in(given.command_config) | given.client_settings
    given.reader = properties_in(given.reader_config) | given.reader
    given.compression = compression_of(given.compression_codec, settings)
    acks = settings.get("acks", given.request_required_acks)
    if acks not in ACKS:
        raise WrongOptions(f"Invalid value '{acks}' for configuration acks")
    given.acks = ACKS[acks]
    return {**settings, "default.api.timeout.ms": settings.get("max.block.ms", "60000")}


def _produce(client: Client, given: argparse.Namespace) -> None:
    """Send lines as they come: all lines of one read in one request.

    Raises:
        Failure: a line lacks a separator; the lines before it are sent.
    """
    number = 0
    for lines in _lines():
        records: list[OutgoingRecord] = []
        try:
            for line in lines:
                number += 1
                records.append(_record(line.decode(errors="surrogateescape"), number, given.reader))
        finally:
            if records:
                produce(
                    client, given.topic, records, acks=given.acks, compression=given.compression
                )


def _lines() -> Iterator[list[bytes]]:
    """The lines of standard input, as many at a time as are there."""
    rest = b""
    source = cast("BufferedReader", sys.stdin.buffer)
    while data := source.read1(_READ_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest]


def _record(text: str, number: int, reader: Mapping[str, str]) -> OutgoingRecord:
    """The record of a line.

    Args:
        number: of the line, for the message.

    Raises:
        Failure: the line lacks a separator.
    """
    null, rest = reader.get("null.marker"), text
    found: dict[str, str] = {}
    for name, separator in (
        ("headers", reader.get("headers.delimiter", "\t")),
        ("key", reader.get("key.separator", "\t")),
    ):
        if reader.get(f"parse.{name}", "").strip().lower() != "true":
            continue
        part, mark, after = rest.partition(separator)
        if mark:
            found[name], rest = part, after
        elif reader.get("ignore.error", "").lower() != "true":
            what = "key separator" if name == "key" else "headers delimiter"
            raise Failure(
                f"No {what} found on line number {number}: '{rest}'",
                "org.apache.kafka.common.KafkaException",
            )
    headers = _headers(found.get("headers"), reader, null)
    return OutgoingRecord(_data(rest, null), key=_data(found.get("key"), null), headers=headers)


def _data(text: str | None, null: str | None) -> bytes | None:
    return None if text is None or text == null else text.encode(errors="surrogateescape")


def _headers(
    text: str | None, reader: Mapping[str, str], null: str | None
) -> tuple[tuple[str, bytes | None], ...]:
    if text is None or text == null or not text:
        return ()
    headers = []
    for pair in text.split(reader.get("headers.separator", ",")):
        name, _, value = pair.partition(reader.get("headers.key.separator", ":"))
        headers.append((name, _data(value, null)))
    return tuple(headers)


def compression_of(given: str | None, settings: Mapping[str, str]) -> Compression:
    """The compression by an option, or by compression.type. Raises Failure for another value."""
    name = given or settings.get("compression.type", "none")
    if name.upper() not in Compression.__members__:
        raise Failure(
            f"Invalid value {name} for configuration compression.type: String must be one of:"
            " none, gzip, snappy, lz4, zstd",
            "org.apache.kafka.common.config.ConfigException",
        )
    return Compression[name.upper()]


TOOL: Final = Tool(
    options,
    _produce,
    "metadata",
    check=_check,
    settings=_read_settings,
    client="Producer",
    print_failure=print_with_cause,
)

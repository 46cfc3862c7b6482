"""`kafka-producer-perf-test`: how many records a second a producer sends (ProducerPerformance).

One batch is under way at a time, so that the rate is that of Ottla's client, not of the broker.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from ...client.cluster_client import Client
from ...client.record_batch import OutgoingRecord
from ...client.record_producer import OpenTransaction, produce
from ..java_numbers import a_long, an_int, parsed_double
from ..options import CommandParser, pairs
from ..records.console_producer import ACKS, compression_of
from ..session import Failure, properties_in
from ..texts import line
from ..tool import Tool, print_exception
from .latencies import Latencies

_BATCH_BYTES: Final = 256 * 1024
_BATCH_RECORDS: Final = 1000
_TRANSACTION_MS: Final = 3000
# A byte of randomness becomes a letter.
_LETTERS: Final = bytes(65 + value % 26 for value in range(256))
_SOURCES: Final = (
    *("bootstrap_server", "command_property", "producer_props", "old_config", "command_config"),
)


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="kafka-producer-perf-test",
        description="This tool is used to verify the producer performance.",
    )
    made.add_argument("--bootstrap-server", metavar="TEXT", help="brokers")
    made.add_argument("--topic", required=True, metavar="TEXT", help="the topic")
    made.add_argument("--num-records", required=True, type=a_long, metavar="N", help="how many")
    made.add_argument("--throughput", required=True, type=parsed_double, metavar="N",
                      help="records a second; -1: as many as possible")  # fmt: skip
    payload = made.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=an_int, metavar="BYTES", help="of random letters")
    payload.add_argument("--payload-file", metavar="FILE", help="a random line is a value")
    payload.add_argument("--payload-monotonic", action="store_true", help="numbers are values")
    made.add_argument("--payload-delimiter", default="\\n", metavar="TEXT", help="between values")
    for name in ("--producer-props", "--command-property"):
        made.add_argument(name, nargs="+", default=[], metavar="NAME=VALUE", help="of the client")
    made.add_argument("--producer.config", dest="old_config", metavar="FILE", help="properties")
    made.add_argument("--command-config", metavar="FILE", help="file with properties of the client")
    made.add_argument("--print-metrics", action="store_true", help="print counts at the end")
    made.add_argument("--transactional-id", metavar="TEXT", help="produce in transactions")
    made.add_argument("--transaction-duration-ms", type=a_long, metavar="MS", help="of each")
    made.add_argument("--warmup-records", type=a_long, default=0, metavar="N", help="at first")
    made.add_argument(
        "--reporting-interval", type=a_long, default=5000, metavar="MS", help="of lines"
    )
    made.add_argument("--record-key-range", type=an_int, metavar="N", help="keys are below")
    made.add_argument("--key-distribution", default="none", choices=("none", "range", "random"),
                      help="of keys")  # fmt: skip
    made.add_argument(
        "--random-seed", type=a_long, default=0, metavar="N", help="of values and keys"
    )
    return made


def _check(given: argparse.Namespace) -> None:
    """End with the first disagreement of the options, as argparse4j does."""
    error = options().error
    sizes = ("num_records", "record_size", "record_key_range")
    for name in ("transaction_duration_ms", *sizes, "reporting_interval"):
        value = getattr(given, name)
        if value is not None and value <= 0:
            error(f"--{name.replace('_', '-')} should be greater than zero.")
    if not any(getattr(given, name) for name in _SOURCES):
        error(
            "At least one of --bootstrap-server, --command-property, --producer-props,"
            " --producer.config or --command-config must be specified."
        )
    for old, new in (("producer_props", "command_property"), ("old_config", "command_config")):
        if getattr(given, old) and getattr(given, new):
            shown = "producer.config" if old == "old_config" else "producer-props"
            error(f"--{new.replace('_', '-')} and --{shown} cannot be specified together.")
    if given.warmup_records >= given.num_records:
        error(
            "The value for --warmup-records must be strictly fewer than the number of records in"
            " the test, --num-records."
        )
    if given.key_distribution == "none" and given.record_key_range is not None:
        error("--key-distribution must be 'range' or 'random' when --record-key-range is"
              " specified.")  # fmt: skip
    if given.key_distribution != "none" and given.record_key_range is None:
        error("--record-key-range is required when --key-distribution is 'range' or 'random'.")
    for name, old, new in (
        ("producer_props", "--producer-props", "--command-property"),
        ("old_config", "--producer.config", "--command-config"),
    ):
        if getattr(given, name):
            line(
                f"Option {old} has been deprecated and will be removed in a future version. Use"
                f" {new} instead."
            )


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings = properties_in(given.command_config or given.old_config)
    settings |= pairs([*given.producer_props, *given.command_property])
    given.bootstrap_server = given.bootstrap_server or settings.get("bootstrap.servers", "")
    given.transactional_id = given.transactional_id or settings.get("transactional.id")
    if given.transactional_id is None and given.transaction_duration_ms is not None:
        given.transactional_id = f"performance-producer-{uuid4()}"
    acks = settings.get("acks", "all")
    if acks not in ACKS:
        raise Failure(f"Invalid value {acks} for configuration acks",
                      "org.apache.kafka.common.config.ConfigException")  # fmt: skip
    given.acks = ACKS[acks]
    given.compression = compression_of(None, settings)
    given.payloads = None if given.payload_file is None else _payloads(given)
    return settings


def _payloads(given: argparse.Namespace) -> list[bytes]:
    path = Path(given.payload_file)
    line(f"Reading payloads from: {path.absolute()}")
    if not path.is_file() or not path.stat().st_size:
        raise ValueError("File does not exist or empty file provided.")
    delimiter = given.payload_delimiter.replace("\\n", "\n")
    found = [text.encode() for text in path.read_text().split(delimiter) if text]
    line(f"Number of records read: {len(found)}")
    if not found:
        raise ValueError(f"{path} has no payload beside delimiters.")
    return found


def _produce(client: Client, given: argparse.Namespace) -> None:
    if given.warmup_records:
        line(
            f"Warmup first {given.warmup_records} records. Steady state results will print after"
            " the complete test summary."
        )
    every = Latencies(
        given.num_records, time.monotonic(), interval_s=given.reporting_interval / 1000
    )
    steady, sent, opened_s = None, 0, time.monotonic()
    start_s, transaction = time.monotonic(), None
    for batch in _batches(given):
        if given.transactional_id is not None and transaction is None:
            transaction = OpenTransaction.begin(client, given.transactional_id)
            opened_s = time.monotonic()
        if given.warmup_records and steady is None and sent >= given.warmup_records:
            left = given.num_records - given.warmup_records
            steady = Latencies(left, time.monotonic(), word="steady state ")
        if given.throughput > 0:
            time.sleep(max(0.0, start_s + sent / given.throughput - time.monotonic()))
        began_s = time.monotonic()
        if transaction is not None:
            transaction.produce(given.topic, batch, compression=given.compression)
        else:
            produce(client, given.topic, batch, acks=given.acks, compression=given.compression)
        now_s = time.monotonic()
        size_bytes = sum(len(each.value or b"") + len(each.key or b"") for each in batch)
        for latencies in (every, steady):
            if latencies is not None:
                latencies.add(len(batch), size_bytes, round((now_s - began_s) * 1000), now_s)
        sent += len(batch)
        lasts_ms = given.transaction_duration_ms or _TRANSACTION_MS
        if transaction is not None and (now_s - opened_s) * 1000 >= lasts_ms:
            transaction.end(commit=True)
            transaction = None
    if transaction is not None:
        transaction.end(commit=True)
    for latencies in (every, steady):
        if latencies is not None:
            latencies.print_total(time.monotonic())
    if given.print_metrics:
        _print_metrics(sent, every)


def _batches(given: argparse.Namespace) -> Iterator[Sequence[OutgoingRecord]]:
    """The records, as many at a time as are sent together; those of the warm-up apart."""
    chance = random.Random(given.random_seed)
    most = _BATCH_RECORDS
    if given.throughput > 0:  # about a hundred requests a second
        most = max(1, min(most, int(given.throughput / 100)))
    batch: list[OutgoingRecord] = []
    size_bytes = 0
    for number in range(given.num_records):
        if number == given.warmup_records and batch:
            yield batch
            batch, size_bytes = [], 0
        record = OutgoingRecord(_value(given, number, chance), key=_key(given, number, chance))
        batch.append(record)
        size_bytes += len(record.value or b"")
        if len(batch) >= most or size_bytes >= _BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _value(given: argparse.Namespace, number: int, chance: random.Random) -> bytes:
    if given.payload_monotonic:
        return b"%d" % number
    if given.payloads is not None:
        payload: bytes = chance.choice(given.payloads)
        return payload
    return chance.randbytes(given.record_size).translate(_LETTERS)


def _key(given: argparse.Namespace, number: int, chance: random.Random) -> bytes | None:
    match given.key_distribution:
        case "range":
            return b"%d" % (number % given.record_key_range)
        case "random":
            return b"%d" % chance.randrange(given.record_key_range)
    return None


def _print_metrics(sent: int, latencies: Latencies) -> None:
    """The metrics of Kafka's producer that this client has too."""
    rows = [
        (f"producer-metrics:{name}:{{client-id=perf-producer-client}}", value)
        for name, value in (
            ("record-error-total", 0.0),
            ("record-send-total", float(sent)),
            ("request-latency-avg", latencies.average_ms),
            ("request-latency-max", float(latencies.most_ms)),
        )
    ]
    width = max(len(name) for name, _ in rows)
    line(f"\n{'Metric Name'.ljust(width)}   Value")
    for name, value in rows:
        line(f"{name.ljust(width)} : {value:.3f}")


TOOL: Final = Tool(
    options,
    _produce,
    "metadata",
    check=_check,
    settings=_read_settings,
    client="Producer",
    print_failure=print_exception,
)

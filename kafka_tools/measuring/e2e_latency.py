"""`kafka-e2e-latency`: how long a record takes from a producer to a consumer (EndToEndLatency)."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from typing import Final

from ...client.admin import offsets as admin_offsets
from ...client.admin import topics as admin_topics
from ...client.cluster_client import Client
from ...client.record_batch import OutgoingRecord
from ...client.record_producer import produce
from ...client.record_reader import RecordReader
from ..options import Options, WrongOptions, require
from ..session import Failure
from ..texts import line
from ..tool import Tool, print_message_first
from .latencies import percentile_of

_NEEDED: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
_SIZES: Final = ("record-key-size", "num-headers", "record-header-key-size", "record-header-size")
_LETTERS: Final = bytes(65 + value % 26 for value in range(256))
_TIMEOUT_S: Final = 60.0
_DEPRECATED: Final = (
    "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0."
    " Please use named arguments instead: --bootstrap-server, --topic, --num-records,"
    " --producer-acks, --record-size, --command-config"
)


class _Options(Options):
    """Options, or five or six words in the order of `_NEEDED`."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        if any(word.startswith("--") and word not in ("--help", "--version") for word in words):
            return super().read(words)
        if len(words) not in (5, 6):
            raise WrongOptions(
                "Invalid number of arguments. Expected 5 or 6 positional arguments, but got"
                f" {len(words)}. Usage: bootstrap-server topic num-records producer-acks"
                " record-size [optional] command-config"
            )
        line(_DEPRECATED)
        named = zip((*_NEEDED, "command-config"), words, strict=False)
        return super().read([f"--{name}={word}" for name, word in named])


def options() -> Options:
    """The options of the tool."""
    made = _Options("kafka-e2e-latency", "This tool measures end-to-end latency.")
    made.server()
    made.value("--topic", "the topic")
    made.value("--num-records", "how many records, one after the other", number=True)
    made.value("--producer-acks", "1 or all")
    made.value("--record-size", "bytes of each value", number=True)
    made.value("--record-key-size", "bytes of each key", number=True, default=0)
    made.value("--num-headers", "headers of each record", number=True, default=0)
    made.value("--record-header-key-size", "bytes of their names", number=True, default=0)
    made.value("--record-header-size", "bytes of their values", number=True, default=0)
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree."""
    require(given, *_NEEDED)
    for name in _SIZES:
        if getattr(given, name.replace("-", "_")) < 0:
            raise WrongOptions(f"Value for --{name} must be a non-negative integer.")
    if given.producer_acks not in ("1", "all"):
        raise WrongOptions(
            "Invalid value for --producer-acks. Latency testing requires synchronous"
            " acknowledgement. Please use '1' or 'all'."
        )


def _measure(client: Client, given: argparse.Namespace) -> None:
    if given.topic not in admin_topics.topic_names(client):
        line(
            f'Topic "{given.topic}" does not exist. Will create topic with 1 partition(s) and'
            " replication factor = 1"
        )
        admin_topics.create_topic(client, given.topic, partitions=1, replication_factor=1)
    acks = -1 if given.producer_acks == "all" else 1
    ends = dict.fromkeys(client.partitions(given.topic), admin_offsets.LATEST)
    reader = RecordReader(
        client,
        given.topic,
        admin_offsets.partition_offsets(client, given.topic, ends),
        reset=admin_offsets.LATEST,
    )
    chance, took_ms, total_ms = random.Random(0), [], 0.0
    for number in range(given.num_records):
        record = _record(given, chance)
        began_ns = time.perf_counter_ns()
        produce(client, given.topic, [record], acks=acks)
        _expect(reader, record, given.topic)
        elapsed_ms = (time.perf_counter_ns() - began_ns) / 1000.0 / 1000.0
        if number % 1000 == 0:
            line(f"{number}\t{elapsed_ms}")
        took_ms.append(int(elapsed_ms))
        total_ms += elapsed_ms
    line(f"Avg latency: {total_ms / max(1, given.num_records):.4f} ms")
    shown = (percentile_of(took_ms, part) for part in (0.5, 0.99, 0.999))
    line("Percentiles: 50th = {}, 99th = {}, 99.9th = {}".format(*shown))


def _record(given: argparse.Namespace, chance: random.Random) -> OutgoingRecord:
    def letters(count: int) -> bytes:
        return chance.randbytes(count).translate(_LETTERS)

    headers = tuple(
        (letters(given.record_header_key_size).decode(), letters(given.record_header_size))
        for _ in range(given.num_headers)
    )
    key = letters(given.record_key_size) if given.record_key_size else None
    return OutgoingRecord(letters(given.record_size), key=key, headers=headers)


def _expect(reader: RecordReader, record: OutgoingRecord, topic: str) -> None:
    """Raise Failure unless the next record is this one, within a minute."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    while not (found := reader.read(max_wait_ms=500)):
        if time.monotonic() >= deadline_s:
            raise Failure(
                f"poll() timed out before finding a result (timeout:[{round(_TIMEOUT_S * 1000)}"
                f"ms]) on topic {topic}",
                "java.lang.RuntimeException",
            )
    if len(found) != 1:
        raise Failure(
            f"Only one result was expected during this test. We found [{len(found)}]",
            "java.lang.RuntimeException",
        )
    for name, sent, read in (
        ("record read", record.value, found[0].value),
        ("message key", record.key, found[0].key),
    ):
        if sent != read:
            raise Failure(f"The {name} does not match the one sent", "java.lang.RuntimeException")


TOOL: Final = Tool(
    options,
    _measure,
    "metadata",
    check=_check,
    client="Consumer",
    print_failure=print_message_first,
)

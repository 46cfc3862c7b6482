"""`kafka-verifiable-producer`: produces numbers, and says of each whether it was acknowledged.

(VerifiableProducer of Kafka's system tests.)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Final

from ...client.cluster_client import Client, ErrorAnswer, NoAnswer
from ...client.record_batch import OutgoingRecord
from ...client.record_producer import produce
from ..java_numbers import a_long, an_int
from ..options import CommandParser
from ..session import failure_of
from ..tool import Tool, print_exception
from .verifiable_events import end_asked_for, print_event, settings_of

_BATCH: Final = 100


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="verifiable-producer",
        description="This tool produces increasing integers to the specified topic and prints JSON"
        " metadata to stdout on each send request.",
    )
    made.add_argument("--bootstrap-server", required=True, metavar="TEXT", help="brokers")
    made.add_argument("--topic", required=True, metavar="TEXT", help="the topic")
    made.add_argument(
        "--max-messages", type=an_int, default=-1, metavar="N", help="how many; -1: ever on"
    )
    made.add_argument("--throughput", type=an_int, default=-1, metavar="N", help="records a second")
    made.add_argument("--acks", type=an_int, default=-1, choices=(0, 1, -1), help="of Produce")
    made.add_argument("--producer.config", dest="old_config", metavar="FILE", help="properties")
    made.add_argument("--command-config", metavar="FILE", help="file with properties of the client")
    made.add_argument(
        "--message-create-time", type=a_long, default=-1, metavar="MS", help="of the first"
    )
    made.add_argument("--value-prefix", type=an_int, metavar="N", help="before each value")
    made.add_argument("--repeating-keys", type=an_int, metavar="N", help="how many keys")
    return made


def _produce(client: Client, given: argparse.Namespace) -> None:
    print_event("startup_complete")
    started_s, sent, acked = time.monotonic(), 0, 0
    with end_asked_for() as asked:
        for batch in _batches(given):
            due_s = started_s + sent / given.throughput if given.throughput > 0 else started_s
            if asked.wait(max(0.0, due_s - time.monotonic())):
                break
            sent += len(batch)
            acked += _send(client, given, batch)
    print_event("shutdown_complete")
    took_s = max(time.monotonic() - started_s, 0.001)
    print_event(
        "tool_data",
        sent=sent,
        acked=acked,
        target_throughput=given.throughput,
        avg_throughput=acked / took_s,
    )


def _batches(given: argparse.Namespace) -> Iterator[list[OutgoingRecord]]:
    """The records; those that wait for no other one together."""
    number, size = 0, _BATCH if given.throughput < 0 else max(1, given.throughput // 100)
    while given.max_messages < 0 or number < given.max_messages:
        end = number + size if given.max_messages < 0 else min(number + size, given.max_messages)
        yield [_record(given, each) for each in range(number, end)]
        number = end


def _record(given: argparse.Namespace, number: int) -> OutgoingRecord:
    value = f"{number}" if given.value_prefix is None else f"{given.value_prefix}.{number}"
    key = None
    if given.repeating_keys is not None:
        key = b"%d" % (number % given.repeating_keys if given.repeating_keys > 0 else number)
    created_ms = None
    if given.message_create_time >= 0:
        created_ms = given.message_create_time + number
    return OutgoingRecord(value.encode(), key=key, timestamp_ms=created_ms)


def _send(client: Client, given: argparse.Namespace, batch: list[OutgoingRecord]) -> int:
    """Send records and print their events; return how many were acknowledged."""
    try:
        places = produce(client, given.topic, batch, acks=given.acks)
    except (ErrorAnswer, NoAnswer) as refused:
        failure = failure_of(refused)
        for each in batch:
            print_event(
                "producer_send_error",
                topic=given.topic,
                **_texts(each),
                exception=f"class {failure.name}",
                message=failure.message,
            )
        return 0
    for each, place in zip(batch, places, strict=True):
        print_event(
            "producer_send_success",
            **_texts(each),
            offset=place.offset,
            topic=place.topic,
            partition=place.partition,
        )
    return len(batch)


def _texts(record: OutgoingRecord) -> dict[str, str | None]:
    key = None if record.key is None else record.key.decode()
    return {"key": key, "value": (record.value or b"").decode()}


TOOL: Final = Tool(
    options,
    _produce,
    "metadata",
    settings=lambda given: settings_of(given, options(), "--producer.config"),
    client="Producer",
    print_failure=print_exception,
)

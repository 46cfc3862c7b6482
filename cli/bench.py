"""`ottla bench`: a short load of produce, consume and transactions against a broker."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

from ..client.admin.offsets import LATEST, partition_offsets
from ..client.admin.topics import create_topic, delete_topic
from ..client.cluster_client import Client
from ..client.record_batch import OutgoingRecord
from ..client.record_producer import OpenTransaction, produce
from ..client.record_reader import RecordReader
from ..console.tables import Table, print_json, print_line, print_table
from .progress import counting
from .shared_options import HERE, AsJson, Bootstrap, client_of, guarded

_BATCH_RECORDS = 500


class Result(NamedTuple):
    """One load.

    Attributes:
        requests: how often the broker was waited for; its times are the percentiles.
    """

    load: str
    records: int
    requests: int
    records_per_s: int
    mb_per_s: float
    p50_ms: float
    p99_ms: float


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("bench", epilog="Example: ottla bench --seconds 5 --size 1000")(guarded(_bench))


def _bench(
    seconds: Annotated[
        float, typer.Option("--seconds", "-s", metavar="S", min=0.01, help="For each load.")
    ] = 2.0,
    size: Annotated[
        int, typer.Option("--size", metavar="BYTES", min=1, help="Of a record's value.")
    ] = 100,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Measure a broker with a short load: produce, consume, and transactions of one record.

    One connection of a client in Python waits for each answer, so a broker can do more than this
    shows. The topic of the load is deleted afterwards.
    """
    topic = f"ottla-bench-{secrets.token_hex(4)}"
    with client_of(bootstrap) as client:
        create_topic(client, topic, partitions=1)
        try:
            results = [
                _produced(client, topic, size, seconds),
                _consumed(client, topic, size, seconds),
                _committed(client, topic, size, seconds),
            ]
        finally:
            delete_topic(client, topic)
    if as_json:
        print_json([each._asdict() for each in results])
        return
    columns = ("load", "records", "requests", "records/s", "MB/s", "p50 ms", "p99 ms")
    rows = [[str(value) for value in each] for each in results]
    print_table(Table(f"{seconds:g} s each, values of {size} bytes", columns, rows))
    print_line("A request is a batch of 500 records, a Fetch, or a whole transaction.")


def _produced(client: Client, topic: str, size: int, seconds: float) -> Result:
    records = [OutgoingRecord(b"x" * size, partition=0)] * _BATCH_RECORDS
    return _measured("produce", size, seconds, lambda: len(produce(client, topic, records)))


def _consumed(client: Client, topic: str, size: int, seconds: float) -> Result:
    end = partition_offsets(client, topic, {0: LATEST})[0]
    reader = RecordReader(client, topic, {0: 0})

    def read() -> int:
        if reader.positions[0] >= end:
            return 0
        return len(reader.read())

    return _measured("consume", size, seconds, read)


def _committed(client: Client, topic: str, size: int, seconds: float) -> Result:
    transaction = OpenTransaction.begin(client, topic)
    records = [OutgoingRecord(b"x" * size, partition=0)]

    def commit() -> int:
        transaction.produce(topic, records)
        transaction.end(commit=True)
        return 1

    return _measured("transactions", size, seconds, commit)


def _measured(load: str, size: int, seconds: float, request: Callable[[], int]) -> Result:
    """Repeat a request until the time is over, or it returns 0 records."""
    times_ms: list[float] = []
    records = 0
    started = before = time.perf_counter()
    with counting(load) as done:
        while before - started < seconds:
            count = request()
            if not count:
                break
            after = time.perf_counter()
            times_ms.append((after - before) * 1000)
            before = after
            records += count
            done(count)
    spent_s = max(before - started, 1e-9)
    times_ms.sort()
    per_s = records / spent_s
    return Result(
        load,
        records,
        len(times_ms),
        round(per_s),
        round(per_s * size / 1e6, 2),
        round(times_ms[len(times_ms) // 2], 2) if times_ms else 0.0,
        round(times_ms[len(times_ms) * 99 // 100], 2) if times_ms else 0.0,
    )

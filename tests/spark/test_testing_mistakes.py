"""Mistakes with the helpers for tests of Spark pipelines, and what they never pass over.

No session of Spark is needed.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from ottla.client.cluster_client import ErrorAnswer
from ottla.spark.pairs import pairs_of_frame
from ottla.spark.spark_kafka import SparkKafka
from ottla.spark.testing import end_offsets, kill_in_batch, produce, run_until
from ottla.testing import Ottla

SETTINGS = {"auto.create.topics.enable": "false"}


@pytest.mark.parametrize(
    "rows", ["abc", b"abc", bytearray(b"abc"), ["abc"], (each for each in ["abc"])]
)
def test_a_single_text_is_one_record(broker: Ottla, rows: Any) -> None:
    name = f"single-{time.monotonic_ns()}"
    broker.create_topic(name)
    assert produce(broker, name, rows) == {name: {0: 1}}
    assert [each.value for each in broker.read(name)] == [b"abc"]


@pytest.mark.parametrize(
    "rows",
    [
        {"key": "value"}, ("key", "value"), None, 5, [5], [("key", 5)], [(5, "value")],
        [("a", "b", "c")], [["key", "value"]], [{"value": "a"}], ["right", 5],
    ],
)  # fmt: skip
def test_another_row_is_refused_and_nothing_is_produced(broker: Ottla, rows: Any) -> None:
    name = f"refused-{time.monotonic_ns()}"
    broker.create_topic(name)
    with pytest.raises(TypeError, match="expected"):
        produce(broker, name, rows)
    assert broker.read(name) == []


@pytest.mark.parametrize("size", [1, 1000])
def test_more_than_the_queue_of_the_client_holds_is_produced(broker: Ottla, size: int) -> None:
    """It holds 100,000 records, and 32 MiB."""
    name = f"many-{time.monotonic_ns()}"
    broker.create_topic(name)
    count = 120_000 if size == 1 else 35_000
    assert produce(broker, name, ("x" * size for _ in range(count))) == {name: {0: count}}


@pytest.mark.parametrize("size", [1000, 2_000_000])
def test_a_record_that_is_refused_is_an_error(broker: Ottla, size: int) -> None:
    """By the broker, or by the client itself."""
    name = f"small-{time.monotonic_ns()}"
    broker.create_topic(name, configs={"max.message.bytes": "100"})
    with pytest.raises(AssertionError, match=f"a record of {name} is refused: .*too large"):
        produce(broker, name, ["x", "x" * size])


@pytest.mark.timeout(45)  # a broker that restarts is awaited for a minute
@pytest.mark.parametrize("use", [lambda broker, name: produce(broker, name, ["a"]), end_offsets])
def test_a_topic_that_is_not_there_is_an_error_at_once(broker: Ottla, use: Any) -> None:
    with pytest.raises(ErrorAnswer, match="nowhere: UNKNOWN_TOPIC_OR_PARTITION"):
        use(broker, "nowhere")


@pytest.mark.parametrize("offsets", [{}, {"orders": {}}])
def test_a_query_is_not_awaited_without_offsets(offsets: Any) -> None:
    with pytest.raises(ValueError, match="an offset of a partition was expected"):
        run_until(None, offsets)  # type: ignore[arg-type]  # it is refused before it is used


@pytest.mark.parametrize("pid", [0, 1, -1, -7, "7", None])
def test_a_kill_is_for_one_process_that_is_named(pid: Any) -> None:
    """0 and negative numbers are groups of processes, or all of them."""
    with pytest.raises(ValueError, match=f"pid is {pid}"):
        kill_in_batch(None, pid)  # type: ignore[arg-type]  # as above


def test_a_kill_is_not_for_the_process_of_the_test() -> None:
    with pytest.raises(ValueError, match=f"pid is {os.getpid()}"):
        kill_in_batch(None, os.getpid())  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize("row", [0, -1, "4", 1.5])
def test_a_kill_is_at_a_row_that_there_may_be(row: Any) -> None:
    with pytest.raises(ValueError, match=f"row is {row}: rows are counted from 1"):
        kill_in_batch(None, 99_999, row=row)  # type: ignore[arg-type]  # as above


class Frame:
    """A DataFrame whose rows are not asked for."""

    def __init__(self, *columns: str) -> None:
        self.columns = list(columns)


@pytest.mark.parametrize("columns", [("KEY", "value"), ("key", "Value")])
def test_a_column_in_capital_letters_is_not_left_out_in_silence(columns: tuple[str, ...]) -> None:
    """Spark takes KEY for key where it chooses columns; its Kafka sink writes a null key."""
    wrong = next(each for each in columns if not each.islower())
    text = f"column {wrong} would not be written: its name is {wrong.lower()}"
    frame: Any = Frame(*columns)
    with pytest.raises(TypeError, match=text):
        next(pairs_of_frame(frame))
    nowhere: Any = None
    with pytest.raises(ValueError, match=text):
        SparkKafka(nowhere, "127.0.0.1:9").write(frame, "orders")

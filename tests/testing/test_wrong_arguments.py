"""Wrong arguments for a broker of a test: a sentence that names the argument, and nothing done."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import BrokerFailed, Ottla, OttlaTestMixin
from ottla.testing.lab import LabClient, Trace


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"as_kafka": 3.9}, "as_kafka=3.9: a text was expected, such as '3.9'"),
        ({"log_level": 10}, "log_level=10: a text was expected, such as 'debug'"),
        ({"clock": None}, "clock=None: a text was expected, such as 'manual'"),
        ({"emulate": 5}, "emulate=5: texts were expected"),
        ({"emulate": None}, "emulate=None: texts were expected"),
        ({"users": ["mia"], "security": "SASL_SSL"}, r"users=\['mia'\]: a mapping was expected"),
        ({"users": {"mia": 5}, "security": "SASL_PLAINTEXT"}, "the password of mia=5: a text"),
        ({"settings": "num.partitions=3"}, "settings='num.partitions=3': a mapping was expected"),
        ({"data_dir": 5}, "data_dir=5: a path was expected"),
        ({"data_dir": ""}, "data_dir is empty: None stands for a temporary directory"),
    ],
)
def test_a_broker_is_not_made_of_them(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Ottla(**arguments)


def test_bugs_to_rehearse_may_come_from_an_iterator() -> None:
    with pytest.raises(BrokerFailed, match="there is no bug KAFKA-0"):
        Ottla(emulate=iter(["KAFKA-0"])).start()


def test_an_id_of_a_node_that_is_no_number_is_named_by_the_broker() -> None:
    with pytest.raises(BrokerFailed, match=r"node\.id=x: must be a whole number"):
        Ottla(settings={"node.id": "x"}).start()


@pytest.mark.parametrize(
    ("method", "arguments", "said"),
    [
        ("create_topic", {"name": None}, "name=None: a text was expected"),
        ("create_topic", {"name": "t", "partitions": "3"}, "partitions='3': a whole number was"),
        ("create_topic", {"name": "t", "partitions": 1.5}, "partitions=1.5: a whole number was"),
        (
            "create_topic",
            {"name": "t", "partitions": 1 << 40},
            "partitions=1099511627776: a number",
        ),
        (
            "create_topic",
            {"name": "t", "replication_factor": "1"},
            "replication_factor='1': a whole",
        ),
        ("create_topic", {"name": "t", "configs": [("a", "b")]}, "configs=.*: a mapping was"),
        ("produce", {"topic": None, "rows": "a"}, "topic=None: a text was expected"),
        ("produce", {"topic": 5, "rows": "a"}, "topic=5: a text was expected"),
        ("produce", {"topic": b"t", "rows": "a"}, "topic=b't': a text was expected"),
        (
            "produce",
            {"topic": "t", "rows": "a", "transactional_id": 5},
            "transactional_id=5: a text",
        ),
        (
            "produce",
            {"topic": "t", "rows": {"value": "a", "partition": "0"}},
            "partition='0': a wh",
        ),
        (
            "produce",
            {"topic": "t", "rows": {"value": "a", "partition": 0.0}},
            "partition=0.0: a wh",
        ),
        (
            "produce",
            {"topic": "t", "rows": {"value": "a", "timestamp_ms": 0.5}},
            "timestamp_ms=0.5",
        ),
        (
            "produce",
            {"topic": "t", "rows": {"value": "a", "timestamp_ms": 1 << 63}},
            "timestamp_ms=",
        ),
        ("read", {"topic": None}, "topic=None: a text was expected"),
        ("read", {"topic": "t", "until": "3"}, "until='3': a whole number was expected"),
        ("read", {"topic": "t", "until": [1]}, r"until=\[1\]: a whole number was expected"),
        ("offsets", {"group": None}, "group=None: a text was expected"),
        ("share_group", {"group": None}, "group=None: a text was expected"),
        ("share_group", {"group": "g", "configs": "a=b"}, "configs='a=b': a mapping was expected"),
        ("streams_group", {"group": 5}, "group=5: a text was expected"),
        ("why", {"partition": 1}, "partition=1: a topic was expected, too"),
        ("why", {"topic": "t", "partition": "0"}, "partition='0': a whole number was expected"),
    ],
)
def test_a_broker_does_nothing_with_them(
    ottla: Ottla, method: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        getattr(ottla, method)(**arguments)


def test_whole_numbers_of_numpy_are_numbers(ottla: Ottla, ottla_topic: str) -> None:
    numpy = import_module("numpy")  # Spark's users have it
    row = {"value": "a", "partition": numpy.int32(0), "timestamp_ms": numpy.int64(1_000)}
    ottla.produce(ottla_topic, row)
    [record] = ottla.read(ottla_topic, until=1)
    assert (record.partition, record.timestamp_ms) == (0, 1_000)


def test_a_snapshot_over_something_stops_nothing(tmp_path: Path) -> None:
    with Ottla() as broker:
        pid = broker.pid
        for there in (tmp_path, str(tmp_path)):
            with pytest.raises(BrokerFailed, match="exists already: a new directory was expected"):
                broker.snapshot(there)
        assert broker.pid == pid


def test_a_snapshot_that_cannot_be_written_leaves_a_broker_that_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Ottla() as broker:
        with pytest.raises(OSError, match="file"):
            broker.snapshot(tmp_path / "file" / "copy")
        assert broker.produce("orders", "a broom")


def test_a_relative_path_is_that_of_the_directory_in_which_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with Ottla(data_dir="data") as broker:
        broker.produce("orders", "a broom")
        broker.kill()
        monkeypatch.chdir(elsewhere)
        broker.start()
        assert len(broker.read("orders")) == 1
        broker.trace.start(file="trace.jsonl")
        copy = broker.snapshot("copy")
    assert broker.data_dir == tmp_path / "data"
    assert sorted(each.name for each in elsewhere.iterdir()) == ["copy", "trace.jsonl"]
    assert copy == elsewhere / "copy"


def test_a_mixin_behind_the_test_case_is_an_error_at_once() -> None:
    with pytest.raises(TypeError, match="class Test: OttlaTestMixin was expected before TestCase"):
        type("Test", (unittest.TestCase, OttlaTestMixin), {})
    type("Test", (OttlaTestMixin, unittest.IsolatedAsyncioTestCase), {})


def test_a_wrong_mode_of_the_mixin_is_an_error() -> None:
    class Test(OttlaTestMixin, unittest.TestCase):
        ottla_trace = "on_failure"

    with pytest.raises(ValueError, match="ottla_trace='on_failure': one of on-failure, off"):
        Test.setUpClass()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda trace: trace.lines("Fetch", "Metdata"), "no API is 'Metdata' .did you mean Meta"),
        (lambda trace: trace.lines("EndTx"), "there are AddOffsetsToTxn, .*, EndTxn, "),
        (lambda trace: trace.where(api="endtxn"), "no API is 'endtxn'"),
        (lambda trace: trace.where(kind="decisions"), "no kind of event is 'decisions' .did you"),
        (lambda trace: trace.where(knd="decision"), "no field of an event is 'knd' .did you mean"),
    ],
    ids=["lines", "part of a name", "where", "kind", "field"],
)
def test_a_filter_of_a_trace_that_nothing_fits_is_refused(
    asked: Callable[[Trace], object], said: str
) -> None:
    """A test that asserts that there is no such request would hold for ever."""
    with pytest.raises(ValueError, match=said):
        asked(Trace(LabClient(lambda: "127.0.0.1:1")))

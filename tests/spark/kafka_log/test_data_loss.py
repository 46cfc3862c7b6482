"""What a stream does when records are deleted before it has read them: as Spark's Kafka source.

`TABLE` has what a user sees, for each way in which a log may change between two batches.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .logs import batch, segment

if TYPE_CHECKING:
    from ottla.spark.kafka_log.stream import LogStreamReader


Rows = list[tuple[str, int]]
"""Partition and offset of each row."""


def log(directory: Path, offsets: range, topic_id: str = "") -> None:
    """Write a partition with these offsets, in place of the one that is there."""
    shutil.rmtree(directory, ignore_errors=True)
    segment(directory, offsets.start, [batch(each, [(b"k", b"v")]) for each in offsets])
    if topic_id:
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def reader(directory: Path, options: Mapping[str, str]) -> LogStreamReader:
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.stream import LogStreamReader

    parsed = parse({"path": str(directory), **options})
    return LogStreamReader(parsed, struct_type(parsed.level))


def batch_of(stream: LogStreamReader, start: dict[str, Any]) -> tuple[dict[str, Any], Rows]:
    """The end and the rows of the next batch, as Spark asks for them. Any: a position's JSON."""
    end = stream.latestOffset(start)
    return end, planned(stream, start, end)


def planned(stream: LogStreamReader, start: dict[str, Any], end: dict[str, Any]) -> Rows:
    """The rows of a batch whose range is known. Any: as above."""
    return [
        (f"{row['topic']}-{row['partition']}", row["offset"])
        for task in stream.partitions(start, end)
        for each in stream.read(task)
        for row in each.to_pylist()
    ]


@dataclass(frozen=True, slots=True)
class Case:
    """A change of a log between two batches of a stream, which has read t-0 from 2 to 6.

    Attributes:
        change: acts on the directory.
        error: what the error says with failOnDataLoss=true; empty: there is none.
        rows: those behind the change, with failOnDataLoss=false, and without an error.
        options: of the stream.
        topic_id: of the first log; some old logs have none.
    """

    change: Callable[[Path], None]
    error: str
    rows: Rows
    options: Mapping[str, str] = field(default_factory=dict)
    topic_id: str = "first"


def _t0(offsets: range, topic_id: str = "first") -> Callable[[Path], None]:
    return lambda directory: log(directory / "t-0", offsets, topic_id)


def _gone(directory: Path) -> None:
    shutil.rmtree(directory / "t-0")


def _added(offsets: range, name: str = "t-1") -> Callable[[Path], None]:
    return lambda directory: log(directory / name, offsets, "first" if name == "t-1" else "other")


def _rows(name: str, offsets: range) -> Rows:
    return [(name, offset) for offset in offsets]


OFFSETS = {"offsets": "3-9"}
TABLE = {
    "records are added": Case(_t0(range(2, 8)), "", _rows("t-0", range(6, 8))),
    "retention deletes records that were read": Case(
        _t0(range(5, 8)), "", _rows("t-0", range(6, 8))
    ),
    "retention deletes records that were not read": Case(
        _t0(range(8, 10)), "offsets 6 to 8 were deleted unread", _rows("t-0", range(8, 10))
    ),
    "retention deletes all": Case(_t0(range(9, 9)), "offsets 6 to 9 were deleted unread", []),
    "the topic is deleted": Case(_gone, "t-0 is gone", []),
    "the topic is made again, shorter": Case(
        _t0(range(3), "second"), "deleted and made again", _rows("t-0", range(3))
    ),
    "the topic is made again, empty": Case(_t0(range(0), "second"), "deleted and made again", []),
    "the topic is made again, as long": Case(
        _t0(range(6), "second"), "deleted and made again", _rows("t-0", range(6))
    ),
    "the topic is made again, longer": Case(  # Spark's source reads on at 6, without an error
        _t0(range(9), "second"), "deleted and made again", _rows("t-0", range(9))
    ),
    "the topic is made again, shorter, and ids are unknown": Case(
        _t0(range(3), ""), "ends at offset 3, before 6", [], topic_id=""
    ),
    "the log is cut": Case(_t0(range(2, 4)), "ends at offset 4, before 6", []),
    "a partition is added": Case(_added(range(3)), "", _rows("t-1", range(3))),
    "a topic of a pattern is added": Case(
        _added(range(3), "tea-0"), "", _rows("tea-0", range(3)), {"topic": "t*"}
    ),
    "a partition is added, and its beginning deleted": Case(
        _added(range(4, 6)), "t-1 is new, and begins at offset 4", _rows("t-1", range(4, 6))
    ),
    "a partition is added beside `offsets`": Case(
        _added(range(12)), "", _rows("t-1", range(3, 9)), OFFSETS
    ),
    "a partition is added, and begins within `offsets`": Case(
        _added(range(5, 12)), "offsets 3 to 5 were deleted", _rows("t-1", range(5, 9)), OFFSETS
    ),
    "a partition is added whose end is before `offsets`": Case(_added(range(2)), "", [], OFFSETS),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("is_new_run", [False, True], ids=["same run", "from its checkpoint"])
@pytest.mark.parametrize("fail", ["true", "false", ""])
def test_a_stream_after_a_change(name: str, is_new_run: bool, fail: str, tmp_path: Path) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    case = TABLE[name]
    options = {**case.options, **({"failOnDataLoss": fail} if fail else {})}
    log(tmp_path / "t-0", range(2, 6), case.topic_id)
    stream = reader(tmp_path, options)
    start, first = batch_of(stream, stream.initialOffset())
    assert [offset for _, offset in first] == list(range(3 if case.options is OFFSETS else 2, 6))
    if is_new_run:
        start, stream = json.loads(json.dumps(start)), reader(tmp_path, options)
    case.change(tmp_path)
    if case.error and fail != "false":
        with pytest.raises(DataLoss, match=case.error):
            batch_of(stream, start)
        return
    end, found = batch_of(stream, start)
    assert found == case.rows
    assert batch_of(stream, end) == (end, [])  # and nothing comes twice
    if (tmp_path / "t-0").exists():
        (base,) = (tmp_path / "t-0").glob("*.log")
        more = end["t-0"]
        base.write_bytes(base.read_bytes() + batch(more, [(b"k", b"v")]))
        is_wanted = case.options is not OFFSETS or more < 9
        assert batch_of(stream, end)[1] == ([("t-0", more)] if is_wanted else [])


STARTS = {
    "a topic that is not there": ({"topic": "nope"}, "no topic nope"),
    "offsets beyond the end": (
        {"startingOffsets": '{"t": {"0": 9}}'}, "ends at offset 6, before 9"
    ),
    "offsets before the beginning": (
        {"startingOffsets": '{"t": {"0": 0}}'}, "offsets 0 to 2 were deleted"
    ),
    "not all partitions": ({"startingOffsets": '{"u": {"0": 0}}'}, "lacks t-0"),
    "a partition that is not there": (
        {"startingOffsets": '{"t": {"0": 2, "7": 0}}'}, "names t-7"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_a_stream_does_not_begin_at(name: str, tmp_path: Path) -> None:
    options, said = STARTS[name]
    log(tmp_path / "t-0", range(2, 6), "first")
    stream = reader(tmp_path, options)
    with pytest.raises(Exception, match=said):
        batch_of(stream, stream.initialOffset())


@pytest.mark.parametrize(
    ("starting", "offsets"),
    [
        ("earliest", range(2, 6)),
        ("latest", range(0)),
        ('{"t": {"0": -2}}', range(2, 6)),
        ('{"t": {"0": -1}}', range(0)),
        ('{"t": {"0": 4}}', range(4, 6)),
        ('{"t": {"0": 6}}', range(0)),
    ],
)
def test_a_stream_begins_at(starting: str, offsets: range, tmp_path: Path) -> None:
    log(tmp_path / "t-0", range(2, 6), "first")
    stream = reader(tmp_path, {"startingOffsets": starting})
    assert batch_of(stream, stream.initialOffset())[1] == _rows("t-0", offsets)


def test_a_filter_by_offsets_waits_for_them(tmp_path: Path) -> None:
    log(tmp_path / "t-0", range(4), "first")
    stream = reader(tmp_path, {"offsets": "6-"})
    start, found = batch_of(stream, stream.initialOffset())
    log(tmp_path / "t-0", range(8), "first")
    assert (found, batch_of(stream, start)[1]) == ([], _rows("t-0", range(6, 8)))


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (_t0(range(9), "second"), []),
        (_t0(range(2, 5)), _rows("t-0", range(2, 5))),
        (_gone, []),
    ],
)
def test_a_batch_that_is_planned_again_lacks_nothing_in_silence(
    change: Callable[[Path], None], rows: Rows, tmp_path: Path
) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    log(tmp_path / "t-0", range(2, 6), "first")
    stream = reader(tmp_path, {})
    start = stream.initialOffset()
    end = stream.latestOffset(start)
    change(tmp_path)
    with pytest.raises(DataLoss):
        planned(reader(tmp_path, {}), start, end)
    assert planned(reader(tmp_path, {"failOnDataLoss": "false"}), start, end) == rows


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_task_does_not_read_the_file_of_another_topic(fail: str, tmp_path: Path) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    log(tmp_path / "t-0", range(6), "first")
    stream = reader(tmp_path, {"failOnDataLoss": fail})
    start = stream.initialOffset()
    (task,) = stream.partitions(start, stream.latestOffset(start))
    log(tmp_path / "t-0", range(6), "second")
    if fail == "false":
        assert list(stream.read(task)) == []
        return
    with pytest.raises(DataLoss, match="its topic made again"):
        list(stream.read(task))


def test_a_checkpoint_without_ids_of_topics_goes_on(tmp_path: Path) -> None:
    log(tmp_path / "t-0", range(6), "first")
    stream = reader(tmp_path, {})
    end, found = batch_of(stream, {"t-0": 4})
    assert (end, found) == ({"t-0": 6, "topic_ids": {"t": "first"}}, _rows("t-0", range(4, 6)))


def test_an_older_pyspark_finds_the_loss_when_it_plans(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    log(tmp_path / "t-0", range(6), "first")
    start = reader(tmp_path, {}).latestOffset()
    for change in (_gone, _t0(range(3)), _t0(range(6), "second")):
        change(tmp_path)
        stream = reader(tmp_path, {})
        with pytest.raises(DataLoss):
            stream.partitions(start, stream.latestOffset())


def test_the_lag_is_that_of_sparks_source() -> None:
    from ottla.spark.kafka_log import lag

    source = {
        "endOffset": {"t-0": 4, "t-1": 7, "topic_ids": {"t": "first"}},
        "latestOffset": '{"t-0": 10, "t-1": 7, "t-2": 9}',
    }
    kafka = {"endOffset": {"t": {"0": 3}}, "latestOffset": {"t": {"0": 5}}}
    assert lag({"sources": [source]}) == {
        "minOffsetsBehindLatest": 0,
        "maxOffsetsBehindLatest": 9,
        "avgOffsetsBehindLatest": 5.0,
    }
    assert lag({"sources": [kafka]})["maxOffsetsBehindLatest"] == 2
    for nothing in (None, {"sources": [{"endOffset": None, "latestOffset": None}]}):
        assert set(lag(nothing).values()) == {0}

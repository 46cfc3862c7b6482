"""A stream follows a directory that grows, within its limits; filters skip segments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.protocol.batch import TRANSACTIONAL

from .logs import Pair, batch, end_marker, segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

    from ottla.spark.kafka_log.stream import LogStreamReader


PAIRS: list[Pair] = [(b"k", b"v")] * 2


def reader(directory: Path, **options: str) -> LogStreamReader:
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.stream import LogStreamReader

    parsed = parse({"path": str(directory), **options})
    return LogStreamReader(parsed, struct_type(parsed.level))


def offsets_in(stream: LogStreamReader, start: dict[str, int], end: dict[str, int]) -> list[int]:
    return [
        offset
        for task in stream.partitions(start, end)
        for each in stream.read(task)
        for offset in each.column("offset").to_pylist()
    ]


def test_batches_of_a_stream_have_every_record_once(tmp_path: Path) -> None:
    limits = pytest.importorskip("pyspark.sql.streaming.datasource")
    path = segment(tmp_path / "t-0", 0, [batch(2 * n, PAIRS) for n in range(10)])
    stream = reader(tmp_path, maxOffsetsPerTrigger="3")
    limit = stream.getDefaultReadLimit()
    assert limit == limits.ReadMaxRows(3)
    start, found = stream.initialOffset(), []
    for turn in range(20):
        end = stream.latestOffset(start, limit)
        found.append(offsets_in(stream, start, end))
        start = end
        if turn == 2:
            path.write_bytes(path.read_bytes() + batch(20, PAIRS) + b"torn")
        if turn == 4:
            segment(tmp_path / "u-1", 0, [batch(0, PAIRS)])
    assert sorted(offset for each in found for offset in each) == sorted([*range(22), 0, 1])
    assert max(len(each) for each in found) == 4
    assert start == {"t-0": 22, "u-1": 2}


def test_a_committed_stream_ends_before_an_open_transaction(tmp_path: Path) -> None:
    path = segment(
        tmp_path / "t-0",
        0,
        [batch(0, PAIRS), batch(2, PAIRS, attributes=TRANSACTIONAL, producer=(1, 0, 0))],
    )
    stream = reader(tmp_path, isolationLevel="read_committed")
    first = stream.latestOffset(stream.initialOffset())
    assert first == {"t-0": 2}
    path.write_bytes(path.read_bytes() + end_marker(4, 1, commit=True))
    second = stream.latestOffset(first)
    assert second == {"t-0": 5}
    assert offsets_in(stream, first, second) == [2, 3]


def test_available_now_ends_at_the_end_of_its_start(tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource")
    path = segment(tmp_path / "t-0", 0, [batch(0, PAIRS)])
    stream = reader(tmp_path)
    stream.prepareForTriggerAvailableNow()
    path.write_bytes(path.read_bytes() + batch(2, PAIRS))
    assert stream.latestOffset(stream.initialOffset()) == {"t-0": 2}


def test_records_that_were_deleted_unread_fail_a_stream(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    segment(tmp_path / "t-0", 10, [batch(10, PAIRS)])
    with pytest.raises(DataLoss, match="offsets 4 to 10"):
        reader(tmp_path).partitions({"t-0": 4}, {"t-0": 12})
    stream = reader(tmp_path, failOnDataLoss="false")
    assert offsets_in(stream, {"t-0": 4}, {"t-0": 12}) == [10, 11]


def test_filters_skip_segments_and_partitions(tmp_path: Path) -> None:
    datasource = pytest.importorskip("pyspark.sql.datasource")
    if not hasattr(datasource, "EqualTo"):
        pytest.skip("PySpark 4.0 has no filter pushdown")
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.source import LogReader

    for name in ("t-0", "t-1", "u-0"):
        for base in (0, 2, 4):
            segment(tmp_path / name, base, [batch(base, PAIRS)])

    def planned(*filters: Filter) -> list[tuple[str, int, int]]:
        planner = LogReader(parse({"path": str(tmp_path)}), struct_type("records"))
        assert list(planner.pushFilters(list(filters))) == list(filters)
        tasks = [each.value.segment for each in planner.partitions()]
        return [(each.topic, each.partition, each.base_offset) for each in tasks]

    assert len(planned()) == 9
    assert planned(
        datasource.EqualTo(("topic",), "t"),
        datasource.In(("partition",), (1, 7)),
        datasource.GreaterThanOrEqual(("offset",), 2),
        datasource.LessThan(("offset",), 4),
    ) == [("t", 1, 2), ("t", 1, 4)]


def test_a_stream_finds_its_place_by_the_index(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.listing import partitions_in
    from ottla.spark.kafka_log.planning import position_before

    batches = [batch(2 * n, PAIRS) for n in range(50)]
    path = segment(tmp_path / "t-0", 0, batches)
    (partition,) = partitions_in(str(tmp_path))
    (only,) = partition.segments
    assert position_before(only, 60) == 29 * len(batches[0])
    path.with_suffix(".index").write_bytes(b"damaged!")
    assert position_before(only, 60) == 0


@pytest.mark.spark
def test_spark_follows_a_directory_and_pushes_filters(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = segment(log / "t-0", 0, [batch(0, PAIRS)])
    frame = spark.readStream.format("kafka-log").load(str(log))
    query = (
        frame.selectExpr("offset", "string(key)")
        .writeStream.format("memory")
        .queryName("kafka_log_stream")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        path.write_bytes(path.read_bytes() + batch(2, PAIRS))
        query.processAllAvailable()
    finally:
        query.stop()
    rows = spark.table("kafka_log_stream").collect()
    assert sorted(tuple(row) for row in rows) == [(n, "k") for n in range(4)]

    setting = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(setting, "true")
    try:
        found = spark.read.format("kafka-log").load(str(log)).where("offset between 1 and 2")
        assert sorted(row.offset for row in found.collect()) == [1, 2]
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize("twice", ["replicas", "path"])
def test_a_partition_in_two_directories_is_an_error(tmp_path: Path, twice: str) -> None:
    """Each of its records would be read twice by a batch, and those of one replica by a stream."""
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.planning import choose_partitions

    for broker in ("a", "b"):
        segment(tmp_path / broker / "orders-0", 0, [batch(0, PAIRS)])
        segment(tmp_path / broker / f"{broker}-0", 0, [batch(0, PAIRS)])
    paths = f"{tmp_path}/a,{tmp_path}/{'b' if twice == 'replicas' else 'a'}"
    with pytest.raises(ValueError, match=r"a/orders-0 and .*/orders-0 are the same partition"):
        choose_partitions(parse({"path": paths, "topic": "orders"}))
    stream = reader(Path(paths))
    for plan in (stream.initialOffset, stream.latestOffset):
        with pytest.raises(ValueError, match="are the same partition"):
            plan()
    assert len(choose_partitions(parse({"path": paths, "level": "damage"}))) == 4
    if twice == "replicas":
        assert len(choose_partitions(parse({"path": paths, "topic": "a,b"}))) == 2

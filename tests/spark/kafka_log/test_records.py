"""The levels `records` and `batches` return what the log's batches contain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.batch import TRANSACTIONAL, Compression, read_header
from ottla.protocol.records import records_in
from ottla.spark.kafka_log.options import OPTIONS

from .logs import Pair, batch, end_marker, rows, segment

PAIRS: list[Pair] = [(b"k", b"v"), (None, b"x" * 300), (b"gone", None), (b"", b""), (None, None)]


@pytest.mark.parametrize("codec", list(Compression))
def test_records_of_each_codec_are_returned(codec: Compression, tmp_path: Path) -> None:
    headers = (("trace", b"1"), ("none", None), ("é", b""))
    batches = [
        batch(0, PAIRS, codec=codec),
        batch(5, PAIRS * 100, codec=codec, headers=headers),
        batch(505, [(b"a", b"b")]),
    ]
    segment(tmp_path / "t-3", 0, batches)
    found = rows(tmp_path)
    expected = [
        (record.offset, record.key, record.value, int(record.timestamp_ms))
        for data in batches
        for record in records_in(data, 0, read_header(data))
    ]
    assert [
        (row["offset"], row["key"], row["value"], round(row["timestamp"].timestamp() * 1000))
        for row in found
    ] == expected
    assert {(row["topic"], row["partition"]) for row in found} == {("t", 3)}
    assert found[0]["headers"] is None
    assert found[7]["headers"] == [{"key": k, "value": v} for k, v in headers]
    assert found[0]["codec"] == codec.name.lower()
    assert {row["leader_epoch"] for row in found} == {7}


def test_offsets_behind_compaction_have_holes(tmp_path: Path) -> None:
    segment(
        tmp_path / "t-0",
        10,
        [batch(12, PAIRS[:3], offsets=[0, 4, 9], producer=(5, 1, 100)), batch(30, PAIRS[:2])],
    )
    found = rows(tmp_path)
    assert [row["offset"] for row in found] == [12, 16, 21, 30, 31]
    assert [row["sequence"] for row in found] == [100, 104, 109, -1, -1]
    assert [row["offset"] for row in rows(tmp_path, columns="offset")] == [12, 16, 21, 30, 31]


def transactions() -> list[bytes]:
    """Producer 1 commits, 2 aborts, 3 stays open."""
    return [
        batch(0, PAIRS[:2], attributes=TRANSACTIONAL, producer=(1, 0, 0)),
        batch(2, PAIRS[:1], attributes=TRANSACTIONAL, producer=(2, 0, 0)),
        batch(3, PAIRS[:1], attributes=TRANSACTIONAL, producer=(3, 0, 0)),
        end_marker(4, 1, commit=True),
        batch(5, PAIRS[:1]),
        batch(6, PAIRS[:1], attributes=TRANSACTIONAL, producer=(1, 0, 2)),
        end_marker(7, 2, commit=False),
        end_marker(8, 1, commit=True),
    ]


FATES = ["committed", "committed", "aborted", "open", None, "committed", "committed", None, None]


@pytest.mark.parametrize("cut", range(9))
def test_a_record_has_the_fate_of_its_transaction(cut: int, tmp_path: Path) -> None:
    """Its marker may be in the next segment."""
    batches = transactions()
    if 0 < cut < len(batches):
        segment(tmp_path / "t-0", 0, batches[:cut])
        segment(tmp_path / "t-0", read_header(batches[cut]).base_offset, batches[cut:])
    else:
        segment(tmp_path / "t-0", 0, batches)
    found = rows(tmp_path)
    assert [row["fate"] for row in found] == FATES
    assert [row["control"] for row in found] == [fate is None for fate in FATES]
    committed = rows(tmp_path, isolationLevel="read_committed", columns="offset")
    assert [row["offset"] for row in committed] == [0, 1, 5, 6]


@pytest.mark.parametrize("cut", range(1, 8))
def test_each_transaction_of_a_producer_has_its_own_fate(cut: int, tmp_path: Path) -> None:
    """Also if the markers of several are known at once."""
    ends = [False, True, False, True]
    batches = []
    for number, commit in enumerate(ends):
        batches += [
            batch(2 * number, PAIRS[:1], attributes=TRANSACTIONAL, producer=(1, 0, number)),
            end_marker(2 * number + 1, 1, commit=commit),
        ]
    segment(tmp_path / "t-0", 0, batches[:cut])
    segment(tmp_path / "t-0", cut, batches[cut:])
    fates = [row["fate"] for row in rows(tmp_path) if not row["control"]]
    assert fates == ["committed" if commit else "aborted" for commit in ends]
    committed = rows(tmp_path, isolationLevel="read_committed", columns="offset")
    assert [row["offset"] for row in committed] == [2, 6]


def test_a_segment_is_split_at_index_entries(tmp_path: Path) -> None:
    batches = transactions()
    segment(tmp_path / "t-0", 0, batches)
    whole = rows(tmp_path)
    for size in range(1, 200, 7):
        assert rows(tmp_path, minSplitBytes=size) == whole


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({"offsets": "3-6"}, [3, 4, 5]),
        ({"offsets": "7-"}, [7, 8]),
        ({"offsets": "-1"}, [0]),
        ({"partition": "1-4"}, []),
        ({"partition": "0"}, list(range(9))),
        ({"topic": "t*"}, list(range(9))),
        ({"topic": "x*,y*"}, []),
        ({"time": "1700000000001/"}, [1]),
        ({"time": "/2000"}, []),
        ({"time": "2023-01-01/2024-01-01"}, list(range(9))),
    ],
)
def test_options_select_records(
    options: dict[str, str], offsets: Sequence[int], tmp_path: Path
) -> None:
    segment(tmp_path / "t-0", 0, transactions())
    assert [row["offset"] for row in rows(tmp_path, **options)] == list(offsets)
    chosen = rows(tmp_path, columns="offset,codec", **options)
    assert [row["offset"] for row in chosen] == list(offsets)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"partition": "9"}, ["no topic that is read in {} has a partition 9"]),
        ({"partition": "0,1-4"}, ["no topic that is read in {} has a partition 1-4"]),
        ({"topic": "no*,t*"}, ["{} has no topic that matches no*"]),
        ({"topic": "no*", "partition": "9"}, ["{} has no topic that matches no*"]),
        ({"level": "offsets"}, ["{} has no topic __consumer_offsets, which level offsets reads"]),
        ({"topic": "t*", "partition": "0-9", "offsets": "20-"}, []),
    ],
)
def test_an_option_that_chooses_nothing_is_a_warning(
    options: dict[str, str], told: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Spark's Kafka source it is no error, but there it is not told either."""
    segment(tmp_path / "t-0", 0, transactions())
    rows(tmp_path, **options)
    assert caplog.messages == [f"kafka-log: {each.format(tmp_path)}" for each in told]


def test_a_directory_without_partitions_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert rows(tmp_path, topic="no*") == []
    assert caplog.messages == [f"kafka-log: {tmp_path} has no directory of a partition"]


def test_a_batch_has_a_row_with_its_header(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, transactions())
    found = rows(tmp_path, level="batches")
    assert [(row["base_offset"], row["last_offset"], row["control_type"]) for row in found] == [
        (0, 1, None), (2, 2, None), (3, 3, None), (4, 4, "commit"),
        (5, 5, None), (6, 6, None), (7, 7, "abort"), (8, 8, "commit"),
    ]  # fmt: skip
    assert [row["coordinator_epoch"] for row in found] == [None] * 3 + [3, None, None, 3, 3]
    first: dict[str, Any] = found[0]  # Any: values of columns
    assert (first["producer_id"], first["base_sequence"], first["last_sequence"]) == (1, 0, 1)
    assert first["size"] == found[1]["position"]
    assert all(row["crc_ok"] for row in found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"offsets": "20-10"}, "ends before it begins"),
        ({"time": "2000/1000"}, "ends before it begins"),
        ({"partition": "0,7-4"}, "7-4 ends before it begins"),
        ({"topic": "t,nope"}, "no topic nope; it has t"),
        ({"topic": "t,"}, "an empty name"),
        ({"topic": "orders", "level": "offsets"}, "reads __consumer_offsets alone"),
        ({"startingOffsets": "latest"}, "would have no rows"),
        ({"endingOffsets": "earliest"}, "would have no rows"),
        ({"endingOffsets": "late"}, "not earliest, latest or JSON"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "not earliest, latest or JSON"),
        ({"startingOffsets": '{"t": [0]}'}, "not earliest, latest or JSON"),
        ({"startingOffsets": '{"t": {"1": 0}}'}, "startingOffsets lacks t-0"),
        ({"endingOffsets": '{"t": {"0": -1, "1": 0}}'}, "endingOffsets names t-1"),
        ({"startingOffsets": '{"t": {"0": 0}}', "level": "damage"}, "has no startingOffsets"),
        *(({name: " "}, f"{name} is empty") for name in OPTIONS if name != "path"),
    ],
)
def test_options_that_would_select_nothing_are_errors(
    options: dict[str, str], said: str, tmp_path: Path
) -> None:
    segment(tmp_path / "t-0", 0, transactions())
    with pytest.raises(ValueError, match=said):
        rows(tmp_path, **options)


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({"startingOffsets": '{"t": {"0": 6}}'}, [6, 7, 8]),
        ({"startingOffsets": '{"t": {"0": -2}}', "endingOffsets": '{"t": {"0": 2}}'}, [0, 1]),
        ({"startingOffsets": "earliest", "endingOffsets": "latest"}, list(range(9))),
        ({"endingOffsets": '{"t": {"0": -1}}', "offsets": "7-"}, [7, 8]),
        ({"startingOffsets": '{"t": {"0": 7}}', "endingOffsets": '{"t": {"0": 20}}'}, [7, 8]),
    ],
)
def test_offsets_in_json_are_those_of_sparks_source(
    options: dict[str, str], offsets: Sequence[int], tmp_path: Path
) -> None:
    segment(tmp_path / "t-0", 0, transactions())
    assert [row["offset"] for row in rows(tmp_path, **options)] == list(offsets)


def test_offsets_in_json_that_are_gone_are_data_loss(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.reading import DataLoss

    segment(tmp_path / "t-0", 10, [batch(10, [(b"k", b"v")])])
    for options in (
        {"startingOffsets": '{"t": {"0": 4}}'},
        {"endingOffsets": '{"t": {"0": 12}}'},
    ):
        assert [row["offset"] for row in rows(tmp_path, **options)] == [10]
        with pytest.raises(DataLoss, match="has offsets 10 to 11"):
            rows(tmp_path, failOnDataLoss="true", **options)


@pytest.mark.parametrize("given", ["offsets", "time", "level", "damaged", "nothing"])
def test_a_wrong_option_is_named(given: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=given):
        rows(tmp_path, **{given: "wrong"})

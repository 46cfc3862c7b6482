"""A log directory that an Apache Kafka 4.1 wrote: every level of it.

`python -m tests.kafka.record_log` recorded it: transactions over the ends of segments, compaction,
each codec, committed offsets, a restart and an end by SIGKILL.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.protocol.batch import BatchHeader, read_header
from ottla.protocol.records import Record, records_in

from .logs import rows

ARCHIVE = Path(__file__).with_name("recorded-kafka.zip")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    with zipfile.ZipFile(ARCHIVE) as packed:
        packed.extractall(directory)
    return directory


def batches_of(directory: Path, topic: str) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """The batches of partition 0, by the broker's own reader."""
    for path in sorted((directory / f"{topic}-0").glob("*.log")):
        data, position = path.read_bytes(), 0
        while position < len(data):
            header = read_header(data, position)
            yield header, list(records_in(data, position, header))
            position += header.size_bytes


TOPICS = (
    "codecs", "stamped", "orders", "latest", "emptied",
    "__consumer_offsets", "__transaction_state", "__cluster_metadata",
)  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_its_records_are_those_of_the_brokers_reader(topic: str, recorded: Path) -> None:
    expected = [
        (record.offset, record.key, record.value, len(record.headers), header.producer_id)
        for header, records in batches_of(recorded, topic)
        for record in records
    ]
    found = rows(recorded, topic=topic)
    names = ("offset", "key", "value")
    assert [
        (*(row[name] for name in names), len(row["headers"] or ()), row["producer_id"])
        for row in found
    ] == expected
    assert [row["base_offset"] for row in rows(recorded, topic=topic, level="batches")] == [
        header.base_offset for header, _ in batches_of(recorded, topic)
    ]


@pytest.mark.parametrize("topic", ["orders", "latest", "emptied", "__consumer_offsets"])
def test_its_records_have_the_fates_that_its_markers_tell(topic: str, recorded: Path) -> None:
    fates: dict[int, str | None] = {}
    open_: dict[int, list[int]] = {}
    for header, records in batches_of(recorded, topic):
        offsets = [record.offset for record in records]
        if header.is_control:
            (marker,) = records
            is_commit = marker.key is not None and marker.key[2:4] == b"\0\1"
            fates |= dict.fromkeys(offsets)
            ended = open_.pop(header.producer_id, [])
            fates |= dict.fromkeys(ended, "committed" if is_commit else "aborted")
        else:
            fates |= dict.fromkeys(offsets, "committed")
            if header.is_transactional:
                open_.setdefault(header.producer_id, []).extend(offsets)
    for left in open_.values():
        fates |= dict.fromkeys(left, "open")
    found = rows(recorded, topic=topic, columns="offset,fate")
    assert {row["offset"]: row["fate"] for row in found} == fates
    for size in (200, 700):
        assert rows(recorded, topic=topic, columns="offset,fate", minSplitBytes=size) == found


def test_it_has_no_damage(recorded: Path) -> None:
    assert rows(recorded, level="damage") == []


def test_its_transactions(recorded: Path) -> None:
    found = rows(recorded, level="transactions", topic="orders")
    # Producers a, b and c, in two turns of six steps; c leaves its last one open.
    assert Counter(row["fate"] for row in found) == {"committed": 23, "aborted": 6, "open": 1}
    (left,) = (row for row in found if row["fate"] == "open")
    assert (left["records"], left["last_offset"]) == (3, None)


def test_its_coordinators_logs_are_decoded(recorded: Path) -> None:
    states = rows(recorded, level="txn_state")
    assert {row["error"] for row in states} == {None}
    last = {row["transactional_id"]: row["state"] for row in states}
    assert last == {
        "shop-a": "CompleteCommit",
        "shop-b": "CompleteAbort",
        "shop-c": "Ongoing",
        "in latest": "CompleteCommit",
        "in emptied": "CompleteCommit",
    }
    offsets = rows(recorded, level="offsets")
    assert {(row["kind"], row["topic"], row["error"]) for row in offsets} == {
        ("offset", "codecs", None)
    }
    committed = {row["group_id"]: row["committed_offset"] for row in offsets}
    assert committed == {"shop": 105, "readers": 12}


def test_its_metadata_is_decoded(recorded: Path) -> None:
    found = rows(recorded, level="metadata")
    assert {row["error"] for row in found} == {None}
    topics = {row["topic"] for row in found if row["type"] == "TopicRecord"}
    assert topics == set(TOPICS) - {"__cluster_metadata"}

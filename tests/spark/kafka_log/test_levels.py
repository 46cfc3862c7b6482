"""The levels that summarize or decode: transactions, offsets, txn_state, metadata."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.protocol.batch import TRANSACTIONAL, read_header
from ottla.storage.producer_state import producer_snapshot
from ottla.storage.producer_state.producers import ProducerEntry
from ottla.testing import RunningBroker

from .logs import Pair, batch, end_marker, rows, segment

PAIRS: list[Pair] = [(b"k", b"v")] * 2


def interleaved() -> list[bytes]:
    """Producer 1 commits two, 2 aborts one, 3 stays open; the last marker has no data."""

    def data(offset: int, producer_id: int) -> bytes:
        return batch(offset, PAIRS, attributes=TRANSACTIONAL, producer=(producer_id, 4, 0))

    return [
        data(0, 1),
        data(2, 2),
        data(4, 1),
        end_marker(6, 1, 4, commit=True),
        data(7, 3),
        data(9, 1),
        end_marker(11, 2, 4, commit=False),
        end_marker(12, 1, 4, commit=True),
        end_marker(13, 9, 4, commit=True),
    ]


# The transactions of `interleaved` that are open before each batch but the first.
OPEN_BEFORE: list[dict[int, int]] = [
    {1: 0}, {1: 0, 2: 2}, {1: 0, 2: 2}, {2: 2}, {2: 2, 3: 7}, {1: 9, 2: 2, 3: 7}, {1: 9, 3: 7},
    {3: 7},
]  # fmt: skip


def snapshot(open_transactions: dict[int, int]) -> bytes:
    """The content of a producer snapshot."""
    entries = []
    for producer_id, first_offset in open_transactions.items():
        entries.append(ProducerEntry(producer_id, 4))
        entries[-1].transaction_first_offset = first_offset
    return producer_snapshot.encode(entries)


@pytest.mark.parametrize("cut", range(9))
@pytest.mark.parametrize("snapshot_is", ["missing", "right", "damaged"])
def test_each_transaction_is_one_row(snapshot_is: str, cut: int, tmp_path: Path) -> None:
    """With a snapshot, right or damaged, each segment has a task of its own."""
    batches = interleaved()
    segment(tmp_path / "t-0", 0, batches[:cut] if cut else batches)
    if cut:
        second = segment(tmp_path / "t-0", read_header(batches[cut]).base_offset, batches[cut:])
        if snapshot_is != "missing":
            content = snapshot(OPEN_BEFORE[cut - 1]) if snapshot_is == "right" else b"?"
            second.with_suffix(".snapshot").write_bytes(content)
    found = rows(tmp_path, level="transactions")
    names = ("producer_id", "first_offset", "last_offset", "fate", "records", "batches")
    assert sorted(tuple(row[name] for name in names) for row in found if row["first_offset"]) == [
        (1, 9, 12, "committed", 2, 1),
        (2, 2, 11, "aborted", 2, 1),
        (3, 7, None, "open", 2, 1),
    ]
    others = [row for row in found if not row["first_offset"]]
    assert sorted((row["producer_id"], row["last_offset"], row["records"]) for row in others) == [
        (1, 6, 4),
        (9, 13, 0),
    ]


def test_internal_topics_are_decoded(ottla: RunningBroker, ottla_topic: str) -> None:
    ottla.produce(ottla_topic, [("k", "v")], transactional_id="levels")
    found = [
        row
        for row in rows(ottla.data_dir, level="txn_state")
        if row["transactional_id"] == "levels"
    ]
    assert [row["state"] for row in found] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "CompleteCommit",
    ]
    assert found[1]["partitions"] == [{"topic": ottla_topic, "partition": 0}]
    assert all(row["error"] is None for row in found)
    assert json.loads(found[0]["value_json"])["transaction_status"] == 0

    created = rows(ottla.data_dir, level="metadata")
    assert ottla_topic in {row["topic"] for row in created if row["type"] == "TopicRecord"}
    assert not [row["error"] for row in created if row["error"]]


def test_committed_offsets_are_decoded(ottla: RunningBroker, ottla_topic: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": ottla.bootstrap, "group.id": f"g-{ottla_topic}"})
    consumer.commit(offsets=[TopicPartition(ottla_topic, 0, 7)], asynchronous=False)
    consumer.close()
    (row,) = [
        row
        for row in rows(ottla.data_dir, level="offsets")
        if row["kind"] == "offset" and row["topic"] == ottla_topic
    ]
    assert (row["group_id"], row["committed_offset"]) == (f"g-{ottla_topic}", 7)
    assert row["fate"] == "committed"
    assert row["error"] is None

"""The events of logs over a whole node: appends, deletions, snapshots; each is emitted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.broker.events import (
    MarkerAppended,
    MetadataDecisionAppended,
    RecordsAppended,
    RecordsDeleted,
)
from ottla.metadata.records import PartitionRecord, RemoveTopicRecord, TopicRecord
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build, headers_in
from ottla.protocol.errors import Code
from ottla.storage.disk.file_events import (
    ProducerSnapshotWritten,
    SegmentDeleted,
    SegmentRolled,
    SegmentsSwapped,
    SnapshotWritten,
)
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS
from tests.broker.observing import committed, hear
from tests.broker.one_node import OneNode, one_node, until

METADATA = "__cluster_metadata"


def ends(log: PartitionLog, since: int) -> list[int]:
    """The offset after each batch of a log, beginning with the batch at `since`."""
    data = log.read(since, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
    return [header.next_offset for _, header in headers_in(data)]


async def produce(it: OneNode, value: bytes) -> None:
    records = bytes(build([(None, value)], timestamp_ms=START_MS))
    part = {"index": 0, "records": records}
    answer = await it.ask(
        ApiKey.PRODUCE, 7, transactional_id=None, acks=-1, timeout_ms=1000,
        topic_data=[{"name": "orders", "partition_data": [part]}],
    )  # fmt: skip
    assert answer["responses"][0]["partition_responses"][0]["error_code"] == Code.NONE


async def test_each_append_to_each_log_emits_one_event(tmp_path: Path) -> None:
    async with one_node(
        tmp_path, offsets_topic_num_partitions="1", transaction_state_log_num_partitions="1"
    ) as it:
        it.topic("orders", 2)
        before = it.log(METADATA).log_end_offset
        heard = hear(it)
        await produce(it, b"a")
        await committed(it)
        await produce(it, b"b")
        seen: dict[tuple[str, int], list[int]] = {}
        for event in heard.of(RecordsAppended, MarkerAppended):
            log_ends = seen.setdefault((event.topic, event.partition), [])
            log_ends.append(event.log_end_offset)
        logs = {("orders", 0), ("orders", 1), ("__consumer_offsets", 0), (METADATA, 0),
                ("__transaction_state", 0)}  # fmt: skip
        assert seen.keys() == logs
        for topic, partition in logs:
            since = before if topic == METADATA else 0
            assert seen[topic, partition] == ends(it.log(topic, partition), since), topic


async def test_decisions_of_the_controller_emit_events_with_their_records(it: OneNode) -> None:
    heard = hear(it)
    base_offset = it.log(METADATA).log_end_offset
    it.topic("orders", 2)
    appended, created = heard.events
    assert appended == RecordsAppended(METADATA, 0, base_offset + 3)
    assert (type(created), created.base_offset) == (MetadataDecisionAppended, base_offset)
    kinds = [type(record) for record in created.records]
    assert kinds == [TopicRecord, PartitionRecord, PartitionRecord]
    heard.events.clear()
    it.node.controller.delete_topic("orders")
    (deleted,) = heard.of(MetadataDecisionAppended)
    assert [type(record) for record in deleted.records] == [RemoveTopicRecord]


async def test_control_records_of_the_metadata_log_emit_an_event(it: OneNode) -> None:
    heard = hear(it)
    update = {"feature": "kraft.version", "max_version_level": 1, "upgrade_type": 1}
    answer = await it.ask(ApiKey.UPDATE_FEATURES, 1, timeout_ms=1000, feature_updates=[update])
    assert answer["error_code"] == Code.NONE
    end_offset = it.log(METADATA).log_end_offset
    assert heard.of(RecordsAppended)[0][:2] == (METADATA, 0)
    assert heard.of(RecordsAppended)[-1].log_end_offset == end_offset


@pytest.mark.real_time
async def test_rolled_and_deleted_segments_and_deleted_records_emit_events(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", b"a", b"b")
    heard = hear(it)
    it.log("orders").roll(0)
    (snapshot,) = heard.of(ProducerSnapshotWritten)
    (rolled,) = heard.of(SegmentRolled)
    assert snapshot.path.endswith("orders-0/00000000000000000002.snapshot")
    assert rolled.path.endswith("orders-0/00000000000000000002.log")
    it.append("orders", b"c")
    heard.events.clear()
    parts: list[dict[str, Any]] = [
        {"partition_index": 0, "offset": 2}, {"partition_index": 7, "offset": 0}
    ]  # fmt: skip
    topics = [{"name": "orders", "partitions": parts}]
    await it.ask(ApiKey.DELETE_RECORDS, 2, topics=topics, timeout_ms=1000)
    await until(lambda: bool(heard.of(SegmentDeleted)))  # once the log's start is on disk
    moved, deleted = heard.of(SegmentDeleted, RecordsDeleted)
    assert deleted.path.endswith("orders-0/00000000000000000000.log")
    assert deleted.base_offset == 0
    assert moved == RecordsDeleted("orders", 0, 2)


@pytest.mark.real_time
async def test_compaction_and_snapshots_of_the_metadata_emit_events(tmp_path: Path) -> None:
    often = {"metadata_log_max_record_bytes_between_snapshots": "500"}
    async with one_node(tmp_path, log_cleaner_backoff_ms="1000000", **often) as it:
        heard = hear(it)
        for number in range(10):
            it.topic(f"topic-{number}")
        await until(lambda: bool(heard.of(SnapshotWritten)))
        for snapshot in heard.of(SnapshotWritten):
            assert Path(snapshot.path).name.endswith(".checkpoint")
        it.topic("table", cleanup_policy="compact", segment_bytes=str(1 << 20))
        log = it.log("table")
        for _ in range(2):
            log.append(build([(b"k", b"v")], timestamp_ms=START_MS), now_ms=START_MS)
        log.roll(START_MS)
        assert await it.cleaner().clean_dirtiest()
        (swapped,) = heard.of(SegmentsSwapped)
        assert swapped.path.endswith("table-0/00000000000000000000.log")
        assert swapped.base_offset == 0

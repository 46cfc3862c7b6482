"""Scenes of DeleteRecords and OffsetForLeaderEpoch; see `admin_requests`."""

from __future__ import annotations

from typing import Any, Final

from tests.broker.handlers.topic_requests import Step, create, delete, topic
from tests.wire.batches import batch

RECORDS: Final = "filled"
EPOCHS: Final = "epochs"


def produced(name: str, *values: bytes, partition: int = 0) -> Step:
    """One batch of records of long ago, with keys."""
    records = batch(list(values), timestamp=1_600_000_000_000, keys=[b"k"] * len(values))
    data = [{"name": name, "partition_data": [{"index": partition, "records": records}]}]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 5000, "topic_data": data}
    return Step("Produce", 11, body)


def deleted(*offsets: tuple[str, dict[int, int]], version: int = 2, timeout_ms: int = 5000) -> Step:
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": index, "offset": offset} for index, offset in of_name.items()
            ],
        }
        for name, of_name in offsets
    ]
    return Step("DeleteRecords", version, {"topics": topics, "timeout_ms": timeout_ms})


def ends_of(
    *asked: tuple[str, list[tuple[int, int, int]]], version: int = 4, replica_id: int = -1
) -> Step:
    """OffsetForLeaderEpoch: partition, the epoch believed in and the epoch asked for."""
    topics = [
        {
            "topic": name,
            "partitions": [
                {"partition": index, "current_leader_epoch": current, "leader_epoch": epoch}
                for index, current, epoch in partitions
            ],
        }
        for name, partitions in asked
    ]
    body: dict[str, Any] = {"topics": topics}
    if version >= 3:
        body["replica_id"] = replica_id
    return Step("OffsetForLeaderEpoch", version, body)


RECORD_SCENES: Final[dict[str, list[Step]]] = {
    "records deleted": [
        create(
            topic(RECORDS, 2),
            topic("compacted", 1, configs={"cleanup.policy": "compact"}),
            topic("both", 1, configs={"cleanup.policy": "compact,delete"}),
        ),
        produced(RECORDS, b"a", b"b", b"c"),
        produced(RECORDS, b"d"),
        produced("compacted", b"a"),
        produced("both", b"a", b"b"),
        *(deleted((RECORDS, {0: 0}), version=version) for version in range(3)),
        deleted((RECORDS, {0: 1, 1: 0, 2: 0, -1: 0})),
        deleted((RECORDS, {0: 0})),
        deleted((RECORDS, {0: 5})),
        deleted((RECORDS, {0: -2})),
        deleted((RECORDS, {1: 1})),
        deleted((RECORDS, {1: -1})),
        deleted((RECORDS, {0: 3})),
        deleted((RECORDS, {0: -1})),
        deleted((RECORDS, {0: -1})),
        deleted(("compacted", {0: 1}), ("both", {0: 1})),
        deleted(("nobody", {0: 0}), ("..", {0: 0}), ("", {0: 0})),
        deleted(("__cluster_metadata", {0: 0})),
        deleted((RECORDS, {0: 0}), (RECORDS, {1: 0})),
        deleted(("both", {0: 2}), timeout_ms=0),
        deleted(("both", {0: -1}), timeout_ms=-1),
        deleted(),
        deleted((RECORDS, {})),
        delete(RECORDS),
        delete("compacted"),
        delete("both"),
    ],
    "ends of leader epochs": [
        create(topic(EPOCHS, 2)),
        ends_of((EPOCHS, [(0, -1, 0)])),
        produced(EPOCHS, b"a", b"b", b"c"),
        *(
            ends_of((EPOCHS, [(index, -1, 0) for index in (0, 1, 2, -1)]), version=version)
            for version in range(2, 5)
        ),
        *(ends_of((EPOCHS, [(0, current, 0)])) for current in (-2, -1, 0, 1, 9)),
        *(ends_of((EPOCHS, [(0, -1, epoch)])) for epoch in (-1, 0, 1, 9)),
        *(ends_of((EPOCHS, [(0, 0, 0)]), replica_id=replica_id) for replica_id in (-2, 1, 2)),
        ends_of(("nobody", [(0, -1, 0)]), ("..", [(0, -1, 0)]), (EPOCHS, [(1, 0, 0)])),
        ends_of(),
        ends_of((EPOCHS, [])),
        ends_of((EPOCHS, [(0, -1, 0), (0, 5, 0)])),
        delete(EPOCHS),
    ],
}

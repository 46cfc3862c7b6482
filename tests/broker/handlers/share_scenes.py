"""Requests of share groups, to a cluster on which they are switched off (share.version 0)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from tests.broker.handlers.topic_requests import Step

TOPIC: Final = UUID(int=109)


def state(*partitions: dict[str, Any]) -> dict[str, Any]:
    """What brokers ask each other of the partitions of a topic."""
    return {"group_id": "g", "topics": [{"topic_id": TOPIC, "partitions": list(partitions)}]}


_BATCH: Final = {"first_offset": 0, "last_offset": 3, "delivery_state": 0, "delivery_count": 1}
_FETCH: Final = {"max_wait_ms": 10, "min_bytes": 1, "max_bytes": 99, "max_records": 9}
_ACKNOWLEDGED: Final = {"first_offset": 0, "last_offset": 3, "acknowledge_types": [1]}
_PARTITION: Final = {"partition_index": 0, "acknowledgement_batches": [_ACKNOWLEDGED]}
_TOPICS: Final = [{"topic_id": TOPIC, "partitions": [_PARTITION]}]
_MEMBER: Final = {"group_id": "g", "member_id": "m", "share_session_epoch": 0}

STATE_STEPS: Final = [
    Step(
        "InitializeShareGroupState",
        0,
        state(
            {"partition": 0, "state_epoch": 1, "start_offset": 0},
            {"partition": 1, "state_epoch": 1, "start_offset": 0},
        ),
    ),
    Step("ReadShareGroupState", 0, state({"partition": 0, "leader_epoch": 0})),
    Step(
        "WriteShareGroupState",
        0,
        state({"partition": 0, "state_epoch": 1, "start_offset": 0, "state_batches": [_BATCH]}),
    ),
    Step("DeleteShareGroupState", 0, state({"partition": 0})),
    Step("ReadShareGroupStateSummary", 0, state({"partition": 0, "leader_epoch": 0})),
]
CLIENT_STEPS: Final = [
    Step(
        "ShareGroupHeartbeat",
        1,
        {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["one"]},
    ),
    Step("ShareGroupDescribe", 1, {"group_ids": ["g", "h"], "include_authorized_operations": True}),
    Step("ShareFetch", 1, {**_MEMBER, **_FETCH, "batch_size": 9, "topics": _TOPICS}),
    Step("ShareAcknowledge", 1, {**_MEMBER, "topics": _TOPICS}),
    Step(
        "DescribeShareGroupOffsets",
        0,
        {
            "groups": [
                {"group_id": "g", "topics": [{"topic_name": "one", "partitions": [0]}]},
                {"group_id": "h", "topics": None},
            ]
        },
    ),
    Step(
        "AlterShareGroupOffsets",
        0,
        {
            "group_id": "g",
            "topics": [
                {"topic_name": "one", "partitions": [{"partition_index": 0, "start_offset": 0}]}
            ],
        },
    ),
    Step("DeleteShareGroupOffsets", 0, {"group_id": "g", "topics": [{"topic_name": "one"}]}),
]
SHARE_SCENES: Final = {
    "share groups": [*CLIENT_STEPS, *STATE_STEPS],
    "share groups of nobody": [
        Step("ShareGroupDescribe", 1, {"group_ids": []}),
        Step("DescribeShareGroupOffsets", 0, {"groups": []}),
        Step("WriteShareGroupState", 0, {"group_id": "", "topics": []}),
        Step("ShareFetch", 1, {"group_id": None, "member_id": None, "topics": []}),
    ],
}

"""The line of each API: what it asks and what it gets, from fixed fields."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.trace.events import Fault, events_of
from ottla.trace.view import changed, lines_of
from ottla.trace.words import _ASKED, _GOT

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
NAMES = {"topics": [{"topic_id": ID, "name": "orders", "partitions": [{}, {}]}], "brokers": [{}]}
MEMBER = "me-bf4c9b62-ec2a-4ed9-9678-67ffa3c173c6"
BATCH = {"partition": 0, "base_sequence": 4, "records": 2, "last_offset": 8}


def of(topic: str = "orders", field: str = "partitions", **partition: Any) -> list[dict[str, Any]]:
    """A topic with its partition 0."""
    return [{"name": topic, field: [{"partition_index": 0, **partition}]}]


def shared(**partition: Any) -> list[dict[str, Any]]:
    """The same by the topic's id, as in the APIs of share groups."""
    return [{"topic_id": ID, "partitions": [{"partition_index": 0, **partition}]}]


# API, request, response, what the line says of both.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "Produce",
        {
            "transactional_id": "shop",
            "topic_data": of(field="partition_data", index=0, records="<2500 bytes>"),
            "batches": [{"topic": "orders", **BATCH}],
        },
        {"responses": of(field="partition_responses", base_offset=7)},
        "shop orders-0 seq 4+2 2.5 kB -> ok 1.0 ms: orders-0 at 7",
    ),
    (
        "Produce",
        {"batches": []},
        {
            "responses": [
                *of(field="partition_responses", error_code=6),
                *of("a", "partition_responses", base_offset=2),
            ]
        },
        "-> NOT_LEADER_OR_FOLLOWER 1.0 ms: orders-0 failed, a-0 at 2",
    ),
    (
        "Produce",
        {"batches": []},
        {"responses": of(field="partition_responses", error_code=6)},
        "-> NOT_LEADER_OR_FOLLOWER 1.0 ms",
    ),
    (
        "Fetch",
        {
            "topics": [{"topic_id": ID, "partitions": [{"partition": 0, "fetch_offset": 7}]}],
            "session_id": 3, "isolation_level": 1,
            "forgotten_topics_data": [{"topic_id": ID, "partitions": [1]}],
        },
        {
            "responses": [
                {
                    "topic_id": ID, **of("", records="<90 bytes>", aborted_transactions=[{}])[0],
                }
            ],
            "batches": [{"topic": ID, **BATCH}],
        },
        "orders-0 from 7 without orders-1 session 3 read_committed"
        " -> ok 1.0 ms: orders-0 90 B 1 aborted (2 records to 8)",
    ),
    ("Fetch", {"session_id": 3}, {"responses": []}, "session 3 -> ok 1.0 ms: no records"),
    (
        "Fetch",
        {"isolation_level": 0},
        {"responses": []},
        "read_uncommitted -> ok 1.0 ms: no records",
    ),
    (
        "ListOffsets",
        {"topics": of(timestamp=-2)},
        {"topics": of(offset=5)},
        "orders-0 earliest -> ok 1.0 ms: orders-0 5",
    ),
    (
        "ListOffsets",
        {"topics": of(timestamp=-1), "isolation_level": 1},
        {"topics": of(offset=5)},
        "orders-0 latest read_committed -> ok 1.0 ms: orders-0 5",
    ),
    ("Metadata", {"topics": None}, NAMES, "all topics -> ok 1.0 ms: 1 broker orders(2)"),
    ("Metadata", {"topics": []}, {"brokers": [{}, {}]}, "no topics -> ok 1.0 ms: 2 brokers"),
    (
        "OffsetCommit",
        {"group_id": "g", "member_id": MEMBER, "topics": of(committed_offset=3)},
        {"topics": of(error_code=0)},
        "g me-bf4c9b62 orders-0 at 3 -> ok 1.0 ms",
    ),
    (
        "OffsetCommit",
        {
            "group_id": "g", "member_id": "m", "group_instance_id": "packer",
            "generation_id_or_member_epoch": 4, "topics": of(committed_offset=3),
        },
        {"topics": of(error_code=0)},
        "g m instance packer generation 4 orders-0 at 3 -> ok 1.0 ms",
    ),
    (
        "OffsetCommit",
        {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": of(committed_offset=3)},
        {"topics": of(error_code=0)},
        "g orders-0 at 3 -> ok 1.0 ms",
    ),
    (
        "OffsetFetch",
        {"groups": [{"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}]}]},
        {"groups": [{"topics": of(committed_offset=-1)}]},
        "g orders-0 -> ok 1.0 ms: orders-0 none",
    ),
    (
        "OffsetFetch",
        {"groups": [{"group_id": "g", "member_id": "m", "member_epoch": 2, "topics": None}]},
        {"groups": [{"topics": of(committed_offset=4)}]},
        "g m epoch 2 all -> ok 1.0 ms: orders-0 at 4",
    ),
    (
        "OffsetFetch",
        {"group_id": "g", "topics": None},
        {"topics": of(committed_offset=4)},
        "g all -> ok 1.0 ms: orders-0 at 4",
    ),
    (
        "FindCoordinator",
        {"key_type": 1, "coordinator_keys": ["shop"]},
        {"coordinators": [{"node_id": 2}]},
        "transaction shop -> ok 1.0 ms: node 2",
    ),
    ("FindCoordinator", {"key": "g"}, {"node_id": 0}, "group g -> ok 1.0 ms: node 0"),
    (
        "JoinGroup",
        {"group_id": "g", "member_id": "", "protocols": [{"name": "range"}]},
        {
            "error_code": 0, "generation_id": 2, "member_id": MEMBER, "leader": MEMBER,
            "members": [{}, {}], "protocol_name": "range",
        },
        "g new member (range)"
        " -> ok 1.0 ms: generation 2 as me-bf4c9b62 leads 2 members by range",
    ),
    (
        "JoinGroup",
        {"group_id": "g", "member_id": "", "group_instance_id": "packer"},
        {"error_code": 79, "generation_id": -1},
        "g new member instance packer -> MEMBER_ID_REQUIRED 1.0 ms",
    ),
    (
        "SyncGroup",
        {"group_id": "g", "member_id": "m", "generation_id": 2, "assignments": [{}, {}]},
        {"assignment": "<26 bytes>"},
        "g m generation 2 with 2 assignments -> ok 1.0 ms: assignment of 26 B",
    ),
    (
        "Heartbeat",
        {"group_id": "g", "member_id": "m", "generation_id": 2},
        {"error_code": 27},
        "g m generation 2 -> REBALANCE_IN_PROGRESS 1.0 ms",
    ),
    ("LeaveGroup", {"group_id": "g", "members": [{"member_id": "m"}]}, {}, "g m -> ok 1.0 ms"),
    (
        "DescribeGroups",
        {"groups": ["g"]},
        {"groups": [{"group_id": "g", "group_state": "Stable", "members": [{}]}]},
        "g -> ok 1.0 ms: g Stable 1 member",
    ),
    ("ListGroups", {}, {"groups": [{"group_id": "g"}, {"group_id": "h"}]}, "-> ok 1.0 ms: g, h"),
    ("SaslHandshake", {"mechanism": "PLAIN"}, {}, "PLAIN -> ok 1.0 ms"),
    (
        "ApiVersions",
        {"client_software_name": "lib", "client_software_version": "2"},
        {"api_keys": [{}, {}]},
        "lib 2 -> ok 1.0 ms: 2 APIs",
    ),
    (
        "CreateTopics",
        {
            "topics": [
                {
                    "name": "a", "num_partitions": 2, "replication_factor": 3,
                    "configs": [{"name": "retention.ms", "value": "5"}],
                },
                {"name": "b", "num_partitions": -1, "replication_factor": -1},
                {"name": "c", "num_partitions": -1, "assignments": [{}]},
                {"name": "d"},
            ],
            "validate_only": True,
        },
        {"topics": [{"name": "a", "error_code": 36}]},
        "a (2 partitions, 3 replicas, retention.ms=5), b (default partitions), c (1 partition)"
        " and 1 more validate only -> TOPIC_ALREADY_EXISTS 1.0 ms",
    ),
    ("DeleteTopics", {"topics": [{"topic_id": ID}]}, {}, "orders -> ok 1.0 ms"),
    ("DeleteTopics", {"topic_names": ["a"]}, {}, "a -> ok 1.0 ms"),
    (
        "DeleteRecords",
        {"topics": of(offset=5)},
        {"topics": of(low_watermark=5)},
        "orders-0 before 5 -> ok 1.0 ms: orders-0 begins at 5",
    ),
    (
        "InitProducerId",
        {"transactional_id": "shop", "producer_id": -1},
        {"producer_id": 9, "producer_epoch": 1},
        "shop -> ok 1.0 ms: producer 9 epoch 1",
    ),
    (
        "OffsetForLeaderEpoch",
        {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "leader_epoch": 1}]}]},
        {"topics": of(leader_epoch=1, end_offset=8)},
        "orders-0 epoch 1 -> ok 1.0 ms: orders-0 epoch 1 ends at 8",
    ),
    (
        "AddPartitionsToTxn",
        {
            "transactions": [
                {
                    "transactional_id": "shop", "verify_only": True,
                    "topics": [{"name": "orders", "partitions": [0, 1, 2, 3]}],
                }
            ]
        },
        {},
        "shop orders-0, orders-1, orders-2 and 1 more (verify only) -> ok 1.0 ms",
    ),
    (
        "AddOffsetsToTxn",
        {"transactional_id": "shop", "group_id": "g"},
        {},
        "shop group g -> ok 1.0 ms",
    ),
    (
        "TxnOffsetCommit",
        {
            "transactional_id": "shop", "group_id": "g", "member_id": "m", "generation_id": 4,
            "topics": of(committed_offset=3),
        },
        {},
        "shop g m generation 4 orders-0 at 3 -> ok 1.0 ms",
    ),
    (
        "EndTxn",
        {"transactional_id": "shop", "committed": False},
        {"producer_id": 9, "producer_epoch": 2},
        "shop abort -> ok 1.0 ms: producer 9 epoch 2",
    ),
    (
        "WriteTxnMarkers",
        {
            "markers": [
                {
                    "producer_id": 9, "producer_epoch": 1, "transaction_result": True,
                    "topics": [{"name": "orders", "partition_indexes": [0]}],
                }
            ]
        },
        {},
        "commit producer 9 epoch 1 orders-0 -> ok 1.0 ms",
    ),
    (
        "DescribeConfigs",
        {"resources": [{"resource_type": 2, "resource_name": "orders"}]},
        {"results": [{"configs": [{}, {}]}]},
        "topic orders -> ok 1.0 ms: 2 settings",
    ),
    (
        "IncrementalAlterConfigs",
        {
            "resources": [
                {
                    "resource_type": 4, "resource_name": "1",
                    "configs": [{"name": "x", "value": "(hidden)"}],
                }
            ]
        },
        {},
        "broker 1 x=(hidden) -> ok 1.0 ms",
    ),
    ("CreatePartitions", {"topics": [{"name": "a", "count": 4}]}, {}, "a to 4 -> ok 1.0 ms"),
    ("DeleteGroups", {"groups_names": ["g"]}, {}, "g -> ok 1.0 ms"),
    (
        "DescribeTransactions",
        {"transactional_ids": ["shop"]},
        {"transaction_states": [{"transactional_id": "shop", "transaction_state": "Ongoing"}]},
        "shop -> ok 1.0 ms: shop Ongoing",
    ),
    (
        "ListTransactions",
        {},
        {"transaction_states": [{"transactional_id": "shop", "transaction_state": "Empty"}]},
        "-> ok 1.0 ms: shop Empty",
    ),
    (
        "ConsumerGroupHeartbeat",
        {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["a"]},
        {
            "member_epoch": 1,
            "assignment": {"topic_partitions": [{"topic_id": ID, "partitions": [0, 1]}]},
        },
        "g m joins a -> ok 1.0 ms: epoch 1 orders-0, orders-1",
    ),
    (
        "ConsumerGroupDescribe",
        {"group_ids": ["g"]},
        {"groups": [{"group_id": "g", "group_state": "Empty", "members": []}]},
        "g -> ok 1.0 ms: g Empty 0 members",
    ),
    (
        "ShareGroupHeartbeat",
        {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["a"]},
        {
            "member_epoch": 2,
            "assignment": {"topic_partitions": [{"topic_id": ID, "partitions": [0]}]},
        },
        "g m joins a -> ok 1.0 ms: epoch 2 orders-0",
    ),
    (
        "ShareGroupDescribe",
        {"group_ids": ["g"]},
        {"groups": [{"group_id": "g", "group_state": "Stable", "members": [{}]}]},
        "g -> ok 1.0 ms: g Stable 1 member",
    ),
    (
        "ShareFetch",
        {
            "group_id": "g", "member_id": "m", "share_session_epoch": 3,
            "topics": shared(
                acknowledgement_batches=[
                    {"first_offset": 4, "last_offset": 4, "acknowledge_types": [1]},
                    {"first_offset": 5, "last_offset": 7, "acknowledge_types": [2, 3, 2]},
                ]
            ),
        },
        {
            "responses": shared(
                acquired_records=[{"first_offset": 8, "last_offset": 9, "delivery_count": 2}]
            )
        },
        "g m session epoch 3 orders-0 accept 4, release/reject 5-7"
        " -> ok 1.0 ms: orders-0 8-9 delivery 2",
    ),
    (
        "ShareFetch",
        {"group_id": "g", "member_id": "m", "share_session_epoch": -1},
        {"responses": shared()},
        "g m closes its session -> ok 1.0 ms: no records",
    ),
    (
        "ShareAcknowledge",
        {
            "group_id": "g", "member_id": "m", "share_session_epoch": 1,
            "topics": shared(
                acknowledgement_batches=[
                    {"first_offset": 0, "last_offset": 9, "acknowledge_types": [4]}
                ]
            ),
        },
        {},
        "g m session epoch 1 orders-0 renew 0-9 -> ok 1.0 ms",
    ),
    (
        "DescribeShareGroupOffsets",
        {"groups": [{"group_id": "g"}]},
        {"groups": [{"topics": shared(start_offset=4, lag=2)}]},
        "g -> ok 1.0 ms: orders-0 from 4, lag 2",
    ),
    (
        "AlterShareGroupOffsets",
        {"group_id": "g", "topics": of(start_offset=4)},
        {},
        "g orders-0 from 4 -> ok 1.0 ms",
    ),
    (
        "DeleteShareGroupOffsets",
        {"group_id": "g", "topics": [{"topic_name": "orders"}]},
        {},
        "g orders -> ok 1.0 ms",
    ),
    *(
        (api, {"group_id": "g", "topics": shared(**start)}, {}, f"g orders-0{said} -> ok 1.0 ms")
        for api, start, said in (
            ("InitializeShareGroupState", {"start_offset": 3}, " from 3"),
            ("WriteShareGroupState", {"start_offset": 3}, " from 3"),
            ("ReadShareGroupState", {}, ""),
            ("DeleteShareGroupState", {}, ""),
            ("ReadShareGroupStateSummary", {}, ""),
        )
    ),
    (
        "StreamsGroupHeartbeat",
        {
            "group_id": "g", "member_id": "m", "member_epoch": 0,
            "topology": {"subtopologies": [{}]},
        },
        {
            "member_epoch": 2,
            "active_tasks": [{"subtopology_id": "0", "partitions": [0, 1]}],
            "standby_tasks": [{"subtopology_id": "1", "partitions": [0]}],
            "status": [{"status_code": 5}],
        },
        "g m joins with 1 subtopology"
        " -> ok 1.0 ms: epoch 2 0_0, 0_1, standby 1_0 (assignment delayed)",
    ),
    (
        "StreamsGroupHeartbeat",
        {"group_id": "g", "member_id": "m", "member_epoch": -2},
        {"error_code": 25},
        "g m leaves for a while -> UNKNOWN_MEMBER_ID 1.0 ms",
    ),
    (
        "StreamsGroupDescribe",
        {"group_ids": ["g"]},
        {"groups": [{"group_id": "g", "group_state": "NotReady", "members": []}]},
        "g -> ok 1.0 ms: g NotReady 0 members",
    ),
    ("DescribeCluster", {}, {"brokers": [{}]}, "-> ok 1.0 ms: 1 broker"),
    ("DescribeProducers", {"topics": [{"name": "a"}]}, {}, "a -> ok 1.0 ms"),
    ("AlterConfigs", {"resources": "... 5 more"}, {}, "-> ok 1.0 ms"),
]  # fmt: skip


def line(api: str, request: object, response: object) -> str:
    """What the line of a request says; a Metadata before it has the name of a topic."""
    known = [
        {"seq": 1, "at_ms": 0, "kind": "answer", "cause": 0, "api": "Metadata", "response": NAMES},
        {
            "seq": 2, "at_ms": 0, "kind": "request", "api": api, "version": 9, "client_id": "me",
            "request": request,
        },
        {
            "seq": 3, "at_ms": 0, "kind": "answer", "cause": 2, "api": api, "took_us": 1000,
            "response": response,
        },
    ]  # fmt: skip
    (text,) = [text for text, _ in lines_of(events_of(known)) if f" {api} " in text]
    return text.partition(" me ")[2].strip()


@pytest.mark.parametrize(
    ("api", "request_fields", "response", "said"), CASES, ids=[case[0] for case in CASES]
)
def test_a_line_has_request_and_answer_in_words(
    api: str, request_fields: dict[str, Any], response: dict[str, Any], said: str
) -> None:
    assert line(api, request_fields, response) == said


def test_every_api_with_words_of_its_own_has_a_case() -> None:
    assert _ASKED.keys() | _GOT.keys() <= {case[0] for case in CASES}


@pytest.mark.parametrize("api", sorted(_ASKED.keys() | _GOT.keys()))
def test_fields_that_were_cut_break_no_line(api: str) -> None:
    for cut in ({"...": "9 more fields"}, {"topics": ["... 7 more"], "groups": [None]}, {}):
        assert "ok 1.0 ms" in line(api, cut, cut)


def test_a_crash_is_shown_with_its_step_and_its_node() -> None:
    crash = {"kind": "crash", "point": "marker"}
    assert changed(Fault(id=1, action=crash, node_id=2)) == "fault 1: crash at marker, node 2"
    assert changed(Fault(id=1, action=crash, name="mine")) == "fault 1 mine: crash at marker"
    assert changed(Fault(id=1, action={"kind": "hold", "point": "after"})) == "fault 1: hold"

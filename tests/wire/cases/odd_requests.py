"""Requests that no client sends: elements named twice, or missing."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import Broker
from ..client import error_name
from ..consumers import heartbeat_raw
from ..groups import join_raw, subscription
from ..registry import case
from ..transactions import partition_of

MISSING = "odd-missing"


def _named(broker: Broker, api: str, version: int, body: dict[str, Any], *, topic: str) -> Any:
    """The answers by topic, in the order of names, each partition with its error."""
    told = {}
    for answered in broker.call(api, version, body)["topics"]:
        label = "t" if answered["name"] == topic else answered["name"]
        told[label] = sorted(
            (part["partition_index"], error_name(part["error_code"]))
            for part in answered["partitions"]
        )
    return dict(sorted(told.items()))


def _offsets(*indexes: int) -> list[dict[str, Any]]:
    return [{"partition_index": index, "committed_offset": 1} for index in indexes]


@case
def odd__topics_twice_or_without_partitions(broker: Broker) -> Any:
    """A topic is answered once; a known topic without partitions is not answered."""
    topic, group = broker.topic(2), broker.fresh("g")
    empty = [{"name": topic, "partitions": []}, {"name": MISSING, "partitions": []}]
    commits = [
        {"name": topic, "partitions": _offsets(0)},
        *empty,
        {"name": topic, "partitions": _offsets(1, 7)},
    ]
    committer = {"group_id": group, "generation_id_or_member_epoch": -1}
    transaction = {
        "transactional_id": broker.fresh("x"),
        "group_id": group,
        "producer_id": 5,
        "producer_epoch": 0,
    }
    places = [
        {"name": topic, "partitions": [{"partition_index": 0}]},
        *empty,
        {"name": topic, "partitions": [{"partition_index": 7}]},
    ]
    asked = [{"partition_index": 0, "timestamp": -1}]
    times = [
        {"name": topic, "partitions": asked},
        *empty,
        {"name": topic, "partitions": [*asked, {"partition_index": 1, "timestamp": -1}]},
    ]
    return {
        "OffsetCommit": [
            _named(broker, "OffsetCommit", 8, {**committer, "topics": topics}, topic=topic)
            for topics in (commits, empty)
        ],
        "TxnOffsetCommit": [
            _named(broker, "TxnOffsetCommit", 3, {**transaction, "topics": topics}, topic=topic)
            for topics in (commits, empty)
        ],
        "OffsetDelete": [
            _named(broker, "OffsetDelete", 0, {"group_id": group, "topics": topics}, topic=topic)
            for topics in (places, empty)
        ],
        "ListOffsets": [
            _named(broker, "ListOffsets", 6, {"replica_id": -1, "topics": topics}, topic=topic)
            for topics in (times, empty)
        ],
        "Produce": _produced(broker, topic, [(topic, []), (MISSING, [])], acks=-1),
    }


def _produced(
    broker: Broker, topic: str, parts: list[tuple[str, list[tuple[int, bytes]]]], *, acks: int
) -> Any:
    topics = [
        {
            "name": name,
            "partition_data": [{"index": index, "records": records} for index, records in each],
        }
        for name, each in parts
    ]
    body = {"transactional_id": None, "acks": acks, "timeout_ms": 5_000, "topic_data": topics}
    told = {
        "t" if answered["name"] == topic else answered["name"]: sorted(
            (part["index"], error_name(part["error_code"]), part["log_start_offset"])
            for part in answered["partition_responses"]
        )
        for answered in broker.call("Produce", 9, body)["responses"]
    }
    return dict(sorted(told.items()))


@case
def odd__wrong_acks_beside_other_errors(broker: Broker) -> Any:
    """Unknown partitions and malformed batches get their errors before other checks."""
    topic, good = broker.topic(3), batch()
    parts = [
        (topic, [(0, good), (1, b"no batch"), (7, good)]),
        ("__transaction_state", [(0, good), (1, b"no batch")]),
        (MISSING, [(0, good)]),
    ]
    return {acks: _produced(broker, topic, parts, acks=acks) for acks in (2, -1)}


@case
def odd__a_malformed_batch_fails_the_request(broker: Broker) -> Any:
    """The other batches are refused too, because Kafka checks all batches first."""
    topic, good = broker.topic(2), batch()
    out = {}
    for field, value in (("magic", 3), ("magic", -1), ("magic", 1), ("length", 13), ("length", -3)):
        wrong: dict[str, Any] = {field: value}
        parts = [(topic, [(0, good), (1, batch(**wrong))])]
        out[f"{field} {value}"] = _produced(broker, topic, parts, acks=-1)
    return {**out, "taken": broker.ends(topic)}


@case
def odd__two_producers_and_one_unknown_partition(broker: Broker) -> Any:
    """Transactional batches of two producers for known partitions fail the whole request."""
    topic = broker.topic(2)
    producer, other = broker.open_transaction(topic), broker.producer()
    out = {}
    for name, index in (("there", 1), ("not_there", 7)):
        parts = [
            (topic, 0, producer.batch(sequence=1 if name == "there" else 3)),
            (topic, index, other.batch()),
        ]
        answers = broker.produce_raw(parts, transactional_id=producer.transactional_id)
        out[name] = [
            [error_name(answer["error_code"]), answer["log_start_offset"], answer["error_message"]]
            for answer in answers
        ]
    return out


@case
def odd__markers_without_a_producer(broker: Broker) -> Any:
    """A marker without a producer for a known partition fails the whole request."""
    topic, group = broker.topic(), broker.fresh("g")
    offsets = partition_of(group, 50)

    def marker(producer_id: int, epoch: int, *places: tuple[str, list[int]]) -> dict[str, Any]:
        return {
            "producer_id": producer_id, "producer_epoch": epoch, "transaction_result": True,
            "coordinator_epoch": 0,
            "topics": [{"name": name, "partition_indexes": each} for name, each in places],
        }  # fmt: skip

    def told(*markers: dict[str, Any]) -> Any:
        answer = broker.call("WriteTxnMarkers", 1, {"markers": list(markers)})
        return sorted(
            [
                one["producer_id"],
                "t" if each["name"] == topic else each["name"],
                "offsets" if each["name"] == "__consumer_offsets" else part["partition_index"],
                error_name(part["error_code"]),
            ]
            for one in answer["markers"]
            for each in one["topics"]
            for part in each["partitions"]
        )

    return {
        "nowhere": told(marker(-1, 0, (MISSING, [0]), (topic, [7]))),
        "no_id": told(marker(-1, 0, (topic, [0, 7]))),
        "no_epoch": told(marker(1, -1, (topic, [0, 7]))),
        "beside_others": told(marker(1, 0, (MISSING, [0])), marker(-1, 0, (topic, [0]))),
        "named_again": told(marker(-1, 0, (topic, [0])), marker(-1, 0, (MISSING, [0]))),
        "offsets": told(marker(-1, 0, ("__consumer_offsets", [offsets]))),
    }


@case
def odd__a_consumer_group_refuses_classic_members(broker: Broker) -> Any:
    """A refusal by a group of the other protocol does not repeat the member id."""
    topic, group = broker.topic(), broker.fresh("g")
    heartbeat_raw(
        broker, group, "m", 0, instance_id="i", subscribed_topic_names=[topic],
        rebalance_timeout_ms=10_000, topic_partitions=[],
    )  # fmt: skip
    range_ = (("range", subscription(topic)),)
    out = {}
    wrong: dict[str, dict[str, Any]] = {
        "instance_of_another": {"instance": "i"},
        "instance_of_nobody": {"instance": "j"},
        "no_protocols": {"protocols": ()},
        "no_subscription": {"protocols": (("range", b"?"),)},
        "session_too_short": {"session_timeout_ms": 1},
    }
    for name, asked in wrong.items():
        given: dict[str, Any] = {"protocols": range_, **asked}
        answer = join_raw(broker, group, member_id="me", **given)
        out[name] = [answer["error"], answer["member_id"]]
    fresh = join_raw(broker, group, member_id="", protocols=range_)
    return {**out, "fresh_id": [fresh["error"], len(fresh["member_id"])]}


@case
def odd__allow_replication_factor_change(broker: Broker, topic: str) -> Any:
    """The answer repeats it only if an operation was tried."""
    place = {"name": topic, "partitions": [{"partition_index": 0, "replicas": [1]}]}
    out = []
    for topics, timeout_ms in (([], 5_000), ([], 0), ([place], 0), ([place], 5_000)):
        body = {
            "timeout_ms": timeout_ms, "allow_replication_factor_change": False, "topics": topics,
        }  # fmt: skip
        answer = broker.call("AlterPartitionReassignments", 1, body)
        out.append([error_name(answer["error_code"]), answer["allow_replication_factor_change"]])
    return out


@case
def odd__a_refused_topic_does_not_show_whether_it_is_internal(broker: Broker) -> Any:
    body = {
        "topics": [{"name": "__transaction_state"}],
        "response_partition_limit": 10,
        "cursor": {"topic_name": "zzz", "partition_index": 0},
    }
    answer = broker.call("DescribeTopicPartitions", 0, body)
    return [(error_name(t["error_code"]), t["is_internal"]) for t in answer["topics"]]


@case
def odd__the_least_isr_of_one_broker(broker: Broker) -> Any:
    """With eligible leader replicas min.insync.replicas belongs to the cluster; no deletion."""
    out = {}
    tried: dict[str, list[tuple[str, int, str | None]]] = {
        "delete": [("min.insync.replicas", 1, None)],
        "set": [("min.insync.replicas", 0, "1")],
        "beside_a_wrong_value": [("min.insync.replicas", 1, None), ("log.retention.ms", 0, "x")],
    }
    for name, changes in tried.items():
        configs = [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ]
        resource = {"resource_type": 4, "resource_name": "1", "configs": configs}
        body = {"resources": [resource], "validate_only": True}
        told = broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]
        out[name] = [error_name(told["error_code"]), told["error_message"]]
    return out


@case
def odd__a_diverging_fetch_has_no_aborted_transactions(broker: Broker, topic: str) -> Any:
    out = {}
    for name, (offset, epoch) in {"diverged": (50, 0), "not": (0, 0)}.items():
        asked = {
            "partition": 0, "fetch_offset": offset, "last_fetched_epoch": epoch,
            "partition_max_bytes": 1 << 20, "current_leader_epoch": -1,
        }  # fmt: skip
        body = {
            "max_wait_ms": 10, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 1,
            "session_epoch": -1, "topics": [{"topic": topic, "partitions": [asked]}],
        }  # fmt: skip
        part = broker.call("Fetch", 12, body)["responses"][0]["partitions"][0]
        out[name] = [error_name(part["error_code"]), part["aborted_transactions"]]
    return out


@case
def odd__the_metadata_log_is_not_a_topic(broker: Broker) -> Any:
    name = "__cluster_metadata"
    fetched = broker.fetch(name)
    asked = [{"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]}]
    ended = broker.call("OffsetForLeaderEpoch", 4, {"replica_id": -1, "topics": asked})
    return {
        "Fetch": [error_name(fetched["error_code"]), fetched["aborted_transactions"]],
        "ListOffsets": broker.list_offset(name)[0],
        "OffsetForLeaderEpoch": error_name(ended["topics"][0]["partitions"][0]["error_code"]),
    }


@case
def odd__negative_epochs(broker: Broker, topic: str) -> Any:
    """Fetch ignores negative epochs; an epoch before the first one ends at its start."""
    broker.produce_raw([(topic, 0, batch((b"a", b"b")))])
    out: dict[str, Any] = {}
    for epoch in (-3, -2, -1):
        for field in ("current_leader_epoch", "last_fetched_epoch"):
            asked = {
                "partition": 0,
                "fetch_offset": 0,
                "partition_max_bytes": 1 << 20,
                field: epoch,
            }
            body = {
                "max_wait_ms": 10, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1,
                "topics": [{"topic": topic, "partitions": [asked]}],
            }  # fmt: skip
            part = broker.call("Fetch", 12, body)["responses"][0]["partitions"][0]
            out[f"{field} {epoch}"] = [error_name(part["error_code"]), part["high_watermark"]]
        end = {"partition": 0, "leader_epoch": epoch}
        body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [end]}]}
        told = broker.call("OffsetForLeaderEpoch", 4, body)["topics"][0]["partitions"][0]
        out[f"end {epoch}"] = [told["leader_epoch"], told["end_offset"]]
    return out


@case
def odd__a_token_for_an_unknown_principal_type(broker: Broker) -> Any:
    body: dict[str, Any] = {
        "owner_principal_type": None, "owner_principal_name": "me", "renewers": [],
        "max_lifetime_ms": -1,
    }  # fmt: skip
    answer = broker.call("CreateDelegationToken", 3, body)
    return [
        error_name(answer.pop("error_code")),
        {name: value for name, value in answer.items() if value not in ("", b"", 0)},
    ]


@case
def odd__less_than_a_batch_read_committed(broker: Broker) -> Any:
    """An answer without a batch has no aborted transactions either."""
    topic = broker.topic(3)
    broker.produce_raw([(topic, index, batch((b"a" * 50,))) for index in (0, 1)])
    out = {}
    for name, second, offset, limit in (
        ("no_room", 1, 0, 30), ("none_wanted", 1, 0, 0), ("nothing_there", 2, 0, 30),
        ("at_the_end", 1, 1, 30), ("room", 1, 0, 1 << 20),
    ):  # fmt: skip
        asked = [
            {
                "partition": index, "fetch_offset": position, "partition_max_bytes": most,
                "current_leader_epoch": -1, "last_fetched_epoch": -1,
            }
            for index, position, most in ((0, 0, 1 << 20), (second, offset, limit))
        ]  # fmt: skip
        body = {
            "max_wait_ms": 10, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 1,
            "session_epoch": -1, "topics": [{"topic": topic, "partitions": asked}],
        }  # fmt: skip
        part = broker.call("Fetch", 12, body)["responses"][0]["partitions"][1]
        out[name] = [len(part["records"]), part["aborted_transactions"]]
    return out


@case
def odd__one_of_many_wrong_settings_is_reported(broker: Broker) -> Any:
    """The first in the order of a hash table, not of the request."""
    names = ["alpha", "wrong", "nonsense", "zebra", "q", "another"]
    wrong: dict[str, str | None] = dict.fromkeys(names, "1")
    created = [
        broker.create_raw(broker.fresh(), configs=dict(sorted(wrong.items(), reverse=reverse)))
        for reverse in (False, True)
    ]
    changes = [{"name": name, "config_operation": 2, "value": "1"} for name in names]
    resource = {"resource_type": 2, "resource_name": broker.topic(), "configs": changes}
    body = {"resources": [resource], "validate_only": True}
    altered = broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]
    return [*(each["error_message"] for each in created), altered["error_message"]]


@case
def odd__an_unknown_isolation_level(broker: Broker, topic: str) -> Any:
    """The whole request is refused before any element is checked."""
    asked = [{"partition_index": index, "timestamp": -1} for index in (0, 0, 7)]
    topics = [{"name": name, "partitions": asked} for name in (topic, MISSING)]
    out = []
    for level in (2, -1):
        body = {"replica_id": -1, "isolation_level": level, "topics": topics}
        out.append(_named(broker, "ListOffsets", 6, body, topic=topic))
    return out


@case
def odd__epochs_of_a_log_without_any(broker: Broker, topic: str) -> Any:
    out = {}
    for epoch in (-3, -2, -1, 0):
        end = {"partition": 0, "leader_epoch": epoch}
        body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [end]}]}
        told = broker.call("OffsetForLeaderEpoch", 4, body)["topics"][0]["partitions"][0]
        out[epoch] = [error_name(told["error_code"]), told["leader_epoch"], told["end_offset"]]
    return out


@case
def odd__a_portion_of_topics_without_a_name(broker: Broker, topic: str) -> Any:
    """Kafka fails for an empty name, unless there is a cursor."""
    out = {}
    for name, names, cursor in (
        ("no_cursor", [""], None), ("among_others", ["", topic], None),
        ("cursor_at_it", [""], ("", 0)), ("cursor_behind", ["", topic], (topic, 0)),
        ("cursor_elsewhere", [""], (topic, 0)), ("cursor_negative", [""], ("", -1)),
    ):  # fmt: skip
        body = {
            "topics": [{"name": each} for each in names],
            "response_partition_limit": 10,
            "cursor": cursor and {"topic_name": cursor[0], "partition_index": cursor[1]},
        }
        answer = broker.call("DescribeTopicPartitions", 0, body)
        out[name] = [(t["name"] == topic, error_name(t["error_code"])) for t in answer["topics"]]
    return out


@case
def odd__a_retention_that_overflows(broker: Broker) -> Any:
    """Any retention is accepted; the expiry time overflows."""
    topic, group = broker.topic(), broker.fresh("g")
    out = {}
    for retention_ms in (2**63 - 1, -(2**63), -2, 0):
        part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
        body = {
            "group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
            "retention_time_ms": retention_ms, "topics": [{"name": topic, "partitions": [part]}],
        }  # fmt: skip
        out[retention_ms] = _named(broker, "OffsetCommit", 3, body, topic=topic)
    return out

"""When the answers to all other APIs come: groups that wait for members, and what never waits."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, Broker
from ..groups import Member
from ..moments import Ask, Moment, moments_of, when
from ..registry import case

REBALANCE_MS = 10_000
SHORT_MS = 1_500

# Requests without content, in the version that is named: an answer comes at once whatever it says.
EMPTY = {
    "AddOffsetsToTxn": 3, "AddPartitionsToTxn": 3, "AddRaftVoter": 0, "AlterClientQuotas": 1,
    "AlterConfigs": 2, "AlterPartitionReassignments": 0, "AlterReplicaLogDirs": 2,
    "AlterShareGroupOffsets": 0, "AlterUserScramCredentials": 0, "ApiVersions": 3,
    "ConsumerGroupDescribe": 0,
    "ConsumerGroupHeartbeat": 0, "CreateAcls": 3, "CreateDelegationToken": 3,
    "CreatePartitions": 3, "CreateTopics": 7, "DeleteAcls": 3, "DeleteGroups": 2,
    "DeleteRecords": 2, "DeleteShareGroupOffsets": 0, "DeleteShareGroupState": 0,
    "DeleteTopics": 5, "DescribeAcls": 3, "DescribeClientQuotas": 1,
    "DescribeCluster": 1, "DescribeConfigs": 4, "DescribeDelegationToken": 3, "DescribeGroups": 5,
    "DescribeLogDirs": 4, "DescribeProducers": 0, "DescribeQuorum": 1,
    "DescribeShareGroupOffsets": 1,
    "DescribeTopicPartitions": 0, "DescribeTransactions": 0, "DescribeUserScramCredentials": 0,
    "ElectLeaders": 2, "EndTxn": 4, "ExpireDelegationToken": 2, "FindCoordinator": 4,
    "Heartbeat": 4, "IncrementalAlterConfigs": 1, "InitProducerId": 4,
    "InitializeShareGroupState": 0, "LeaveGroup": 4,
    "ListConfigResources": 0, "ListGroups": 4, "ListOffsets": 7, "ListPartitionReassignments": 0,
    "ListTransactions": 0, "Metadata": 12, "OffsetCommit": 8, "OffsetDelete": 0, "OffsetFetch": 7,
    "OffsetForLeaderEpoch": 4, "Produce": 9, "ReadShareGroupState": 0,
    "ReadShareGroupStateSummary": 1, "RemoveRaftVoter": 0, "RenewDelegationToken": 2,
    "ShareAcknowledge": 2, "ShareGroupDescribe": 1, "ShareGroupHeartbeat": 1,
    "StreamsGroupDescribe": 1, "StreamsGroupHeartbeat": 1,
    "StreamsGroupTopologyDescriptionUpdate": 0, "TxnOffsetCommit": 3, "UnregisterBroker": 0,
    "UnregisterController": 0, "UpdateFeatures": 1,
    "WriteShareGroupState": 1, "WriteTxnMarkers": 1,
}  # fmt: skip


def join_of(group: str, member_id: str = "", instance: str | None = None, **fields: Any) -> Ask:
    """A JoinGroup that needs no member id before."""
    body = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": fields.get("rebalance_timeout_ms", REBALANCE_MS),
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": fields.get("protocol", "range"), "metadata": b"\0\0"}],
    }
    version = fields.get("version", 3 if instance is None else 5)
    return Ask(
        "JoinGroup", version, body | ({"group_instance_id": instance} if version > 4 else {})
    )


def sync_of(member: Member, *assigned: str, **fields: Any) -> Ask:
    """A SyncGroup, of the leader with assignments."""
    body = {
        "group_id": member.group,
        "generation_id": member.generation_id,
        "member_id": member.member_id,
        "assignments": [{"member_id": each, "assignment": b"a"} for each in assigned],
    }
    return Ask("SyncGroup", 2, body | fields)


def two_members(broker: Broker, group: str) -> tuple[Member, Member]:
    """The leader and the other member of a group that waits for the leader's SyncGroup."""
    first = Member.joined(broker, group, version=3)
    found = moments_of(broker, {"second": join_of(group)}, lambda: rejoined(first))
    answer = found["second"].answer or {}
    second = Member(broker, group, answer["member_id"], answer["generation_id"])
    first = first.but(generation_id=answer["generation_id"])
    return (first, second) if answer["leader"] == first.member_id else (second, first)


def rejoined(member: Member) -> str:
    """Send JoinGroup of a member again; the error's name."""
    return str(member.rejoin_raw(version=3)["error"])


@case
def moments__join_a_group(broker: Broker) -> Any:
    """A member comes to a stable group: it waits until the other one has joined again."""
    group, topic = broker.fresh("g"), broker.topic()
    first = Member.joined(broker, group, version=3)
    first.sync([(first.member_id, b"a")], version=2)
    asked = {
        "second": join_of(group),
        "alone": join_of(broker.fresh("g")),
        "unknown": join_of(group, "nobody"),
        "without_id": join_of(broker.fresh("g"), version=7),
        "other_protocol": join_of(group, protocol="nothing"),
        "other_group": join_of(""),
        "sync": sync_of(first),
        "sync_unknown": sync_of(first.but(member_id="nobody")),
        "describe": Ask("DescribeGroups", 5, {"groups": [group]}),
        "delete": Ask("DeleteGroups", 2, {"groups_names": [group]}),
        "heartbeat": Ask("Heartbeat", 2, _of(first)),
        "commit": Ask("OffsetCommit", 6, _of(first, key="generation_id_or_member_epoch")
                      | {"topics": [_offset(topic)]}),
        "fetch": Ask("OffsetFetch", 7, {"group_id": group, "topics": None, "require_stable": True}),
    }  # fmt: skip
    return when(moments_of(broker, asked, lambda: rejoined(first)))


def _of(member: Member, key: str = "generation_id") -> dict[str, Any]:
    return {
        "group_id": member.group, key: member.generation_id, "member_id": member.member_id,
    }  # fmt: skip


def _offset(topic: str) -> dict[str, Any]:
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    return {"name": topic, "partitions": [part]}


@case
def moments__join_until_a_timeout_or_a_leave(broker: Broker) -> Any:
    groups = {name: broker.fresh("g") for name in ("timeout", "leave", "static")}
    short: dict[str, Any] = {"rebalance_timeout_ms": SHORT_MS}
    members = {
        name: Member.joined(broker, group, "i" if name == "static" else None,
                            version=5 if name == "static" else 3, **short)
        for name, group in groups.items()
    }  # fmt: skip
    for member in members.values():
        member.sync([(member.member_id, b"a")], version=3)
    long: dict[str, Any] = {"rebalance_timeout_ms": REBALANCE_MS}
    out = when(moments_of(broker, {"timeout": join_of(groups["timeout"], **short)},
                          limit_ms=SHORT_MS))  # fmt: skip
    out |= when(moments_of(broker, {"leave": join_of(groups["leave"], **long)},
                           lambda: members["leave"].leave_alone()))  # fmt: skip
    again: dict[str, Any] = {"instance": "i", "version": 5, **short}
    waiting = {"static": join_of(groups["static"], **long)}
    static = members["static"].but(member_id="")
    out |= when(moments_of(broker, waiting, lambda: static.rejoin_raw(**again)))
    return out


@case
def moments__sync_a_group(broker: Broker) -> Any:
    """The other member waits for the leader; others have their answers at once."""
    leader, second = two_members(broker, broker.fresh("g"))
    asked = {
        "second": sync_of(second),
        "old_generation": sync_of(second, generation_id=1),
        "unknown": sync_of(second, member_id="nobody"),
        "heartbeat": Ask("Heartbeat", 2, _of(second)),
    }
    assigned = leader.member_id, second.member_id
    out = [when(moments_of(broker, asked, lambda: broker.call(*sync_of(leader, *assigned))))]
    out.append(when(moments_of(broker, {"stable": sync_of(second)})))
    leader, second = two_members(broker, broker.fresh("g"))
    gone = moments_of(broker, {"second": sync_of(second)}, lambda: leader.leave_alone())
    return [*out, when(gone)]


@case
def moments__of_what_never_waits(broker: Broker) -> Any:
    """A request without content of each other API."""
    asked = {api: Ask(api, version, _content(api)) for api, version in EMPTY.items()}
    return when(_one_after_the_other(broker, asked))


def _content(api: str) -> dict[str, Any]:
    if api == "Metadata":
        return {"topics": []}
    if api == "Produce":
        return {"acks": -1}
    if api == "StreamsGroupTopologyDescriptionUpdate":
        return {"topology_description": {"subtopologies": [], "global_stores": []}}
    return {"validate_only": True} if api == "UpdateFeatures" else {}


def _one_after_the_other(broker: Broker, asked: dict[str, Ask]) -> dict[str, Moment]:
    """In parts: a broker of tests has few threads for all at once."""
    names = list(asked)
    found: dict[str, Moment] = {}
    for start in range(0, len(names), 20):
        found |= moments_of(broker, {name: asked[name] for name in names[start : start + 20]})
    return found


@case
def moments__of_transactions(broker: Broker) -> Any:
    """A transaction that is open, or that its coordinator completes: nothing waits for its end."""
    topic, group = broker.topic(), broker.fresh("g")
    producer = broker.open_transaction(topic)
    producer.add_offsets(group)
    producer.commit_offset(group, topic)
    who = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    parts = [{"name": topic, "partition_indexes": [0]}]
    asked = {
        "unstable": Ask("OffsetFetch", 7, {
            "group_id": group, "topics": parts, "require_stable": True}),
        "committed_end": Ask("ListOffsets", 7, {
            "replica_id": -1, "isolation_level": 1,
            "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}),
        "largest_timestamp": Ask("ListOffsets", 10, {
            "replica_id": -1, "timeout_ms": 9_000,
            "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -3}]}]}),
        "producers": Ask("DescribeProducers", 0, {"topics": [parts[0]]}),
        "produce": Ask("Produce", 9, {
            "transactional_id": producer.transactional_id, "acks": -1, "timeout_ms": 9_000,
            "topic_data": [{"name": topic, "partition_data": [
                {"index": 0, "records": producer.batch(sequence=1)}]}]}),
        "unknown_coordinator": Ask("AddOffsetsToTxn", 3, who | {"group_id": "", "producer_id": 7}),
    }  # fmt: skip
    out = [when(moments_of(broker, asked))]
    init = {"transactional_id": producer.transactional_id, "transaction_timeout_ms": 60_000}
    add = {"v3_and_below_" + key: value for key, value in who.items()}
    add["v3_and_below_topics"] = [{"name": topic, "partitions": [0]}]
    for name, ask in (
        ("end", Ask("EndTxn", 4, who | {"committed": True})),
        ("add_after_the_end", Ask("AddPartitionsToTxn", 3, add)),
        ("init", Ask("InitProducerId", 4, init | {"producer_id": -1, "producer_epoch": -1})),
        ("init_again", Ask("InitProducerId", 4, init | {"producer_id": -1, "producer_epoch": -1})),
    ):
        out.append(when(moments_of(broker, {name: ask})))
    return out


@case
def moments__of_timeouts(broker: Broker) -> Any:
    """timeout_ms of 0, below it, and long."""
    topic = broker.filled_topic()
    asked: dict[str, Ask] = {}
    for limit in (-1, 0, 9_000):
        created = {"name": broker.fresh(), "num_partitions": 1, "replication_factor": 1}
        more = {"name": broker.filled_topic(1), "count": 3, "assignments": None}
        gone = broker.filled_topic(1)
        before = {"partition_index": 0, "offset": 1}
        of_topic = [{"topic": topic, "partitions": [0]}]
        moved = [{"partition_index": 0, "replicas": [broker.node_id()]}]
        data = [{"index": 0, "records": batch()}]
        asked |= {
            f"{api}{limit}": Ask(api, version, body | {"timeout_ms": limit})
            for api, version, body in (
                ("CreateTopics", 7, {"topics": [created]}),
                ("CreatePartitions", 3, {"topics": [more], "validate_only": False}),
                ("DeleteTopics", 5, {"topic_names": [gone]}),
                ("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [before]}]}),
                ("ElectLeaders", 2, {"election_type": 0, "topic_partitions": of_topic}),
                ("AlterPartitionReassignments", 0,
                 {"topics": [{"name": topic, "partitions": moved}]}),
                ("ListPartitionReassignments", 0, {"topics": None}),
                ("Produce", 9, {"transactional_id": None, "acks": -1,
                                "topic_data": [{"name": topic, "partition_data": data}]}),
            )
        }  # fmt: skip
    asked["too_few_in_sync"] = Ask("Produce", 9, {
        "transactional_id": None, "acks": -1, "timeout_ms": 9_000, "topic_data": [
            {"name": broker.topic(min_insync_replicas=2), "partition_data": [
                {"index": 0, "records": batch()}]}]})  # fmt: skip
    asked["made_by_metadata"] = Ask("Metadata", 9, {"topics": [{"name": broker.fresh()}]})
    epochs = [{"partition": 0, "leader_epoch": 3}]
    by_epoch = {"replica_id": -1, "topics": [{"topic": NO_SUCH_TOPIC, "partitions": epochs}]}
    asked["offsets_by_epoch"] = Ask("OffsetForLeaderEpoch", 4, by_epoch)
    return when(_one_after_the_other(broker, asked))

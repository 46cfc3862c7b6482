"""Requests of a user with some rights: one of each API, and of each version that differs.

Resources that begin with `mine` are those that rights are given to; `other` never is. What would
change something asks for what changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from tests.broker.handlers.share_scenes import CLIENT_STEPS, STATE_STEPS
from tests.broker.handlers.topic_requests import IdOf, Step
from tests.wire.batches import batch

NAMES: Final = ("mine", "other")
STRANGER: Final = "127.0.0.2"
NOBODY: Final = UUID(int=77)
THEN_MS: Final = 1_700_000_000_000
Right = tuple[AclResource, Operation]


def acl(right: Right, host: str, name: str, pattern_type: PatternType) -> dict[str, Any]:
    resource, operation = right
    is_cluster = resource == AclResource.CLUSTER
    return {
        "resource_type": resource,
        "resource_name": "kafka-cluster" if is_cluster else name,
        "resource_pattern_type": PatternType.LITERAL if is_cluster else pattern_type,
        "principal": "User:ANONYMOUS",
        "host": host,
        "operation": operation,
        "permission_type": Permission.ALLOW,
    }


def heartbeat(group_id: str, epoch: int, *names: str, regex: str | None = None) -> Step:
    """The heartbeat of a member of a consumer group that joins (epoch 0) or stays."""
    return Step(
        "ConsumerGroupHeartbeat",
        1,
        {
            "group_id": group_id,
            "member_id": "member",
            "member_epoch": epoch,
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": list(names) or None,
            "subscribed_topic_regex": regex,
            "topic_partitions": [] if epoch == 0 else None,
        },
    )


def of_stranger() -> dict[str, Any]:
    return {
        "resource_type_filter": AclResource.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": STRANGER,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }


def topics(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def records(transactional: bool = False) -> bytes:
    if transactional:
        return batch(timestamp=THEN_MS, transactional=True, producer_id=4711, epoch=0, sequence=0)
    return batch(timestamp=THEN_MS)


def _produce(version: int, transactional_id: str | None, *, transactional: bool = False) -> Step:
    data = {"partition_data": [{"index": 0, "records": records(transactional)}]}
    named = [
        {**({"topic_id": IdOf(name)} if version >= 13 else {"name": name}), **data}
        for name in NAMES
    ]
    body = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 5000}
    return Step("Produce", version, {**body, "topic_data": named})


def _fetch(version: int, replica_id: int = -1) -> Step:
    partition = {"partition": 0, "fetch_offset": 9, "partition_max_bytes": 1000}
    named = [
        {
            **({"topic_id": IdOf(name)} if version >= 13 else {"topic": name}),
            "partitions": [partition],
        }
        for name in (*NAMES, *(() if version >= 13 else ("mine-missing", "missing")))
    ]
    if version >= 13:
        named.append({"topic_id": NOBODY, "partitions": [partition]})
    replica = {"replica_id": replica_id} if version < 15 else {}
    body = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "topics": named}
    return Step("Fetch", version, {**replica, **body})


def _offsets(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "partitions": [{"partition_index": 0, "committed_offset": 3, **fields}]}


def _clients() -> Iterator[Step]:
    """What producers and consumers ask."""
    missing = ("mine-missing", "missing")
    for version in (9, 13):
        yield _produce(version, None)
        yield _produce(version, "mine", transactional=True)
        yield _produce(version, "mine")
    for version in (11, 13, 17):
        yield _fetch(version)
    yield _fetch(11, replica_id=1)
    for name in (*NAMES, *missing):
        asked = {"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}
        yield Step("ListOffsets", 5, {"replica_id": -1, "isolation_level": 0, "topics": [asked]})
        epoch = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}
        asked = {"topic": name, "partitions": [epoch]}
        yield Step("OffsetForLeaderEpoch", 4, {"replica_id": -1, "topics": [asked]})


def _describers() -> Iterator[Step]:
    """What every client asks first."""
    missing = ("mine-missing", "missing")
    for version in (4, 8, 12):
        told: dict[str, bool] = {}
        if version >= 8:
            told["include_topic_authorized_operations"] = True
        if 8 <= version <= 10:
            told["include_cluster_authorized_operations"] = True
        quiet = {"allow_auto_topic_creation": False}
        yield Step("Metadata", version, {"topics": None, **quiet, **told})
        named = topics(*NAMES, *missing)
        yield Step("Metadata", version, {"topics": named, **quiet, **told})
    ids = [{"topic_id": each, "name": None} for each in (IdOf("mine"), IdOf("other"), NOBODY)]
    yield Step("Metadata", 12, {"topics": ids, "allow_auto_topic_creation": False})
    for name in ("mine-made!", "other-made!"):  # no legal name: it is never made
        yield Step("Metadata", 9, {"topics": topics(name), "allow_auto_topic_creation": True})
    for name in ("mine", "other"):
        for kind in (0, 1, 2):
            yield Step("FindCoordinator", 2, {"key": name, "key_type": kind})
    for kind in (0, 1):
        yield Step("FindCoordinator", 4, {"key_type": kind, "coordinator_keys": [*NAMES]})
    yield Step(
        "DescribeTopicPartitions",
        0,
        {"topics": topics(*NAMES, *missing), "response_partition_limit": 100, "cursor": None},
    )


def _groups() -> Iterator[Step]:
    """What members and watchers of groups ask."""
    for group in NAMES:
        one = {"group_id": group}
        yield Step(
            "OffsetCommit",
            8,
            {**one, "topics": [_offsets(name) for name in (*NAMES, "mine-missing")]},
        )
        for version in (1, 7):
            for asked in ([{"name": name, "partition_indexes": [0]} for name in NAMES], None):
                if asked is not None or version > 1:
                    stable = {"require_stable": False} if version >= 7 else {}
                    yield Step("OffsetFetch", version, {**one, "topics": asked, **stable})
        member = {"member_id": "x", "group_instance_id": None}
        yield Step("Heartbeat", 4, {**one, "generation_id": 1, **member})
        yield Step(
            "JoinGroup",
            7,
            {
                **one,
                **member,
                "session_timeout_ms": 6000,
                "rebalance_timeout_ms": 6000,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": b""}],
            },
        )
        protocol = {"protocol_type": "consumer", "protocol_name": "range"}
        yield Step("SyncGroup", 5, {**one, **member, "generation_id": 1, **protocol})
        yield Step("LeaveGroup", 2, {**one, "member_id": "x"})
        yield Step("LeaveGroup", 4, {**one, "members": [member]})
        partitions = [{"partition_index": 0}]
        yield Step(
            "OffsetDelete",
            0,
            {**one, "topics": topics("mine-missing", "other-missing", partitions=partitions)},
        )


def _consumers() -> Iterator[Step]:
    """What members and watchers of consumer groups ask (KIP-848)."""
    for group_id in ("mine-missing", "missing"):
        yield heartbeat(group_id, 5, "mine")
        yield heartbeat(group_id, 5, "mine", "other")
        yield heartbeat(group_id, 5, regex="mine.*")
    groups = ["mine-own", "mine-both", "mine-missing", "missing"]
    for told in (False, True):
        yield Step(
            "ConsumerGroupDescribe", 0, {"group_ids": groups, "include_authorized_operations": told}
        )


def _watchers() -> Iterator[Step]:
    """What watchers of groups ask."""
    groups = [
        {"group_id": name, "topics": [{"name": each, "partition_indexes": [0]} for each in NAMES]}
        for name in NAMES
    ]
    yield Step("OffsetFetch", 8, {"groups": groups, "require_stable": False})
    every = [{"group_id": name, "topics": None} for name in NAMES]
    yield Step("OffsetFetch", 8, {"groups": every, "require_stable": False})
    yield Step("DescribeGroups", 5, {"groups": [*NAMES], "include_authorized_operations": True})
    yield Step("DescribeGroups", 6, {"groups": ["mine-missing", "missing"]})
    yield Step("ListGroups", 4, {"states_filter": []})
    yield Step("DeleteGroups", 2, {"groups_names": ["mine-missing", "missing"]})


def _transactions() -> Iterator[Step]:
    """What transactional and idempotent producers ask, and who watches them."""
    for name in (None, "mine", "other"):
        yield Step(
            "InitProducerId",
            4,
            {
                "transactional_id": name,
                "transaction_timeout_ms": 60_000,
                "producer_id": -1 if name is None else 4711,
                "producer_epoch": -1 if name is None else 0,
            },
        )
    for name in NAMES:
        one = {"transactional_id": name, "producer_id": 4711, "producer_epoch": 0}
        below = {f"v3_and_below_{field}": value for field, value in one.items()}
        alone = topics("mine", partitions=[0])
        for asked in (topics(*NAMES, partitions=[0]), alone):
            yield Step("AddPartitionsToTxn", 3, {**below, "v3_and_below_topics": asked})
        verified = {**one, "verify_only": True, "topics": alone}
        yield Step("AddPartitionsToTxn", 4, {"transactions": [verified]})
        for group in NAMES:
            yield Step("AddOffsetsToTxn", 3, {**one, "group_id": group})
            yield Step(
                "TxnOffsetCommit",
                3,
                {
                    **one,
                    "group_id": group,
                    "topics": [_offsets(each) for each in (*NAMES, "mine-missing")],
                },
            )
        yield Step("EndTxn", 3, {**one, "committed": True})


def _transaction_watchers() -> Iterator[Step]:
    """What brokers and watchers ask of transactions."""
    marker = {
        "producer_id": 4711,
        "producer_epoch": 0,
        "transaction_result": True,
        "topics": topics("missing", partition_indexes=[0]),
        "coordinator_epoch": 0,
    }
    yield Step("WriteTxnMarkers", 1, {"markers": [marker]})
    yield Step("DescribeTransactions", 0, {"transactional_ids": [*NAMES, "mine-missing"]})
    yield Step("ListTransactions", 0, {"state_filters": [], "producer_id_filters": []})
    yield Step("DescribeProducers", 0, {"topics": topics(*NAMES, "missing", partition_indexes=[0])})


def _administration() -> Iterator[Step]:
    """What administrators ask; what would change something asks for what changes nothing."""
    new = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    for version in (4, 7):
        yield Step(
            "CreateTopics",
            version,
            {
                "topics": [{"name": name, **new} for name in ("mine", "mine-new", "new")],
                "timeout_ms": 5000,
                "validate_only": True,
            },
        )
    gone = ["mine-missing", "missing"]
    yield Step("DeleteTopics", 4, {"topic_names": gone, "timeout_ms": 5000})
    by_id = [{"name": None, "topic_id": each} for each in (IdOf("other"), NOBODY)]
    yield Step("DeleteTopics", 6, {"topics": by_id, "timeout_ms": 5000})
    more = topics(*NAMES, "missing", count=1, assignments=None)
    yield Step("CreatePartitions", 3, {"topics": more, "timeout_ms": 5000, "validate_only": True})
    cut = [{"partition_index": 0, "offset": 0}]
    yield Step(
        "DeleteRecords",
        2,
        {"topics": topics(*NAMES, "missing", partitions=cut), "timeout_ms": 5000},
    )


def _settings() -> Iterator[Step]:
    """Requests about settings."""
    resources = [(2, "mine"), (2, "other"), (4, "1"), (8, "1"), (32, "mine"), (32, "other")]
    yield Step(
        "DescribeConfigs",
        4,
        {
            "resources": [
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configuration_keys": ["retention.ms", "node.id", "kafka.server"],
                }
                for kind, name in resources
            ],
            "include_synonyms": False,
        },
    )
    for kind, name in resources:
        change = {"name": "nothing.of.the.kind", "value": "1"}
        named = {"resource_type": kind, "resource_name": name}
        yield Step(
            "IncrementalAlterConfigs",
            1,
            {
                "resources": [{**named, "configs": [{**change, "config_operation": 0}]}],
                "validate_only": True,
            },
        )
        if kind != 32:
            yield Step(
                "AlterConfigs",
                2,
                {"resources": [{**named, "configs": [change]}], "validate_only": True},
            )


def _cluster() -> Iterator[Step]:
    """Requests about the cluster and its replicas."""
    yield Step(
        "DescribeCluster", 1, {"include_cluster_authorized_operations": True, "endpoint_type": 1}
    )
    yield Step("DescribeLogDirs", 4, {"topics": [{"topic": "missing", "partitions": [0]}]})
    moved = {"path": "/nowhere", "topics": topics("missing", partitions=[0])}
    yield Step("AlterReplicaLogDirs", 2, {"dirs": [moved]})
    yield Step(
        "ElectLeaders",
        2,
        {
            "election_type": 0,
            "topic_partitions": [{"topic": "missing", "partitions": [0]}],
            "timeout_ms": 5000,
        },
    )
    reassigned = [{"partition_index": 0, "replicas": [1]}]
    yield Step(
        "AlterPartitionReassignments",
        0,
        {"timeout_ms": 5000, "topics": topics("missing", partitions=reassigned)},
    )
    yield Step("ListPartitionReassignments", 0, {"timeout_ms": 5000, "topics": None})


def _security() -> Iterator[Step]:
    """Requests about ACLs, quotas, users and features."""
    yield Step("DescribeAcls", 3, {**of_stranger(), "host_filter": "nowhere"})
    new_acl = acl((AclResource.CLUSTER, Operation.READ), "nowhere", "x", PatternType.LITERAL)
    yield Step("CreateAcls", 3, {"creations": [{**new_acl, "resource_name": "x"}]})
    yield Step("DeleteAcls", 3, {"filters": [{**of_stranger(), "host_filter": "nowhere"}]})
    yield Step("DescribeClientQuotas", 1, {"components": [], "strict": False})
    alice = {
        "entity": [{"entity_type": "user", "entity_name": "alice"}],
        "ops": [{"key": "request_percentage", "value": 1.0, "remove": False}],
    }
    yield Step("AlterClientQuotas", 1, {"entries": [alice], "validate_only": True})
    yield Step("DescribeUserScramCredentials", 0, {"users": [{"name": "nobody"}]})
    yield Step(
        "AlterUserScramCredentials",
        0,
        {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []},
    )
    features = {"timeout_ms": 5000, "feature_updates": [], "validate_only": True}
    yield Step("UpdateFeatures", 1, features)
    quorum = [{"topic_name": "nothing", "partitions": [{"partition_index": 0}]}]
    yield Step("DescribeQuorum", 0, {"topics": quorum})
    yield Step("UnregisterBroker", 0, {"broker_id": 77})
    yield Step("ListConfigResources", 0, {})
    voter = {"cluster_id": None, "voter_id": 77, "voter_directory_id": NOBODY}
    yield Step("AddRaftVoter", 0, {**voter, "timeout_ms": 5000, "listeners": []})
    yield Step("RemoveRaftVoter", 0, voter)


def all_steps() -> list[Step]:
    """Every request that is asked with every row of rights."""
    parts = (
        _clients(), _describers(), _groups(), _consumers(), _watchers(), _transactions(),
        _transaction_watchers(), _administration(), _settings(), _cluster(), _security(),
        CLIENT_STEPS, STATE_STEPS,
    )  # fmt: skip
    return [step for part in parts for step in part]

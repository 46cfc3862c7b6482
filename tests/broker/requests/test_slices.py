"""No handler works for longer in one turn of the event loop because a request has more elements.

Each handler is given a request of some elements and one of four times as many, with slices of no
length, and the lines of Python that run between two turns are counted. What grows with the request
is a loop without a pause. Decisions of a state machine are made in one turn: those are named.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any, Final
from uuid import UUID

import pytest

from ottla.broker.requests.context import Context
from ottla.broker.requests.dispatch import api_of
from ottla.broker.requests.guards.guard import guarded
from ottla.broker.requests.reads.fetch_reads import MANY as MANY_IN_A_STEP
from ottla.broker.requests.served_apis import HANDLERS
from ottla.broker.runtime.share.share_sessions import SessionKey
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.broker.scheduling.turns import set_slice_s
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Refused
from ottla.protocol.messages import read_request, read_request_header
from tests.broker.one_node import OneNode, one_node

pytestmark = pytest.mark.real_time

FEW: Final = 25
FEW_STEPS: Final = MANY_IN_A_STEP + 10  # of a Produce or Fetch, which takes some in a step
AUTHORIZED: Final = {
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": "1",
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": "User:ANONYMOUS",
}
ORDERS: Final = "orders"
Fields = Callable[[int], dict[str, Any]]


def _topics(partitions: Callable[[int], Any], *, name: str = "name", field: str) -> Fields:
    """One topic with very many partitions."""
    return lambda count: {"topics": [{name: ORDERS, field: [*map(partitions, range(count))]}]}


def _names(field: str) -> Fields:
    return lambda count: {field: [f"t{number}" for number in range(count)]}


def _structs(field: str, of: Callable[[int], dict[str, Any]], **more: Any) -> Fields:
    return lambda count: {**more, field: [of(number) for number in range(count)]}


def _records() -> bytes:
    return bytes(build([(None, b"a")], timestamp_ms=1))


def _acl(number: int, suffix: str = "") -> dict[str, Any]:
    return {
        f"resource_type{suffix}": AclResource.TOPIC, f"resource_name{suffix}": f"t{number}",
        f"resource_pattern_type{suffix}"[: None if not suffix else 99]: PatternType.LITERAL,
        f"principal{suffix}": "User:a", f"host{suffix}": "*",
        "operation": Operation.READ, "permission_type": Permission.ALLOW,
    }  # fmt: skip


def _filter(number: int) -> dict[str, Any]:
    return {
        "resource_type_filter": AclResource.TOPIC, "resource_name_filter": f"t{number}",
        "pattern_type_filter": PatternType.LITERAL, "principal_filter": None, "host_filter": None,
        "operation": Operation.ANY, "permission_type": Permission.ANY,
    }  # fmt: skip


def _states(**fields: Any) -> Fields:
    """Partitions of a share group, as brokers ask each other."""
    return lambda count: {"group_id": "g", "topics": [
        {"topic_id": UUID(int=1), "partitions": [
            {"partition": index, **fields} for index in range(count)]}]}  # fmt: skip


SHARE_MEMBER: Final = {"group_id": "g", "member_id": "m"}


def _shared(count: int, acknowledged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Partitions of a topic in ShareFetch and ShareAcknowledge; the topic may be another one."""
    return [
        {
            "topic_id": UUID(int=1),
            "partitions": [
                {"partition_index": index, "acknowledgement_batches": acknowledged}
                for index in range(count)
            ],
        }
    ]


EVERY_ACL: Final = {
    **_filter(0), "resource_name_filter": None, "pattern_type_filter": PatternType.ANY,
    "resource_type_filter": AclResource.ANY,
}  # fmt: skip


def _offset(index: int) -> dict[str, Any]:
    return {"partition_index": index, "committed_offset": 0}


def _resource(number: int) -> dict[str, Any]:
    return {"resource_type": 2, "resource_name": f"t{number}"}


def _all_settings_of(number: int) -> dict[str, Any]:
    return {**_resource(number), "configuration_keys": None}


SLICED: Final[dict[ApiKey, tuple[int, Fields]]] = {
    ApiKey.PRODUCE: (9, lambda count: {"acks": -1, "timeout_ms": 1, "topic_data": [
        {"name": ORDERS, "partition_data": [
            {"index": index, "records": _records()} for index in range(count)]}]}),
    ApiKey.FETCH: (12, lambda count: {
        "max_bytes": 1000, "min_bytes": 0, "session_epoch": 0, "topics": [
            {"topic": ORDERS, "partitions": [{"partition": index} for index in range(count)]}]}),
    ApiKey.LIST_OFFSETS: (7, _topics(
        lambda index: {"partition_index": index, "timestamp": -1}, field="partitions")),
    ApiKey.METADATA: (12, _structs(
        "topics", lambda number: {"topic_id": None, "name": f"t{number}"})),
    ApiKey.OFFSET_FETCH: (8, lambda count: {"groups": [
        {"group_id": "g", "topics": [{"name": ORDERS, "partition_indexes": [*range(count)]}]}]}),
    ApiKey.FIND_COORDINATOR: (4, _names("coordinator_keys")),
    ApiKey.DESCRIBE_GROUPS: (5, _names("groups")),
    ApiKey.LIST_GROUPS: (5, lambda count: {
        **_names("states_filter")(count), **_names("types_filter")(count)}),
    ApiKey.CREATE_TOPICS: (7, _structs(
        "topics", lambda number: {
            "name": f"t{number}", "num_partitions": 1, "replication_factor": 1},
        timeout_ms=1)),
    ApiKey.DELETE_TOPICS: (5, lambda count: {**_names("topic_names")(count), "timeout_ms": 1}),
    ApiKey.DELETE_RECORDS: (2, _topics(
        lambda index: {"partition_index": index, "offset": 0}, field="partitions")),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (4, _topics(
        lambda index: {"partition": index, "leader_epoch": 0}, name="topic", field="partitions")),
    ApiKey.WRITE_TXN_MARKERS: (1, lambda count: {"markers": [
        {"producer_id": 7, "producer_epoch": 0, "topics": [
            {"name": ORDERS, "partition_indexes": [*range(count)]}]}]}),
    ApiKey.DESCRIBE_ACLS: (3, lambda count: {**_filter(0), "resource_name_filter": None}),
    ApiKey.DELETE_ACLS: (3, _structs("filters", _filter)),
    ApiKey.DESCRIBE_CONFIGS: (4, _structs("resources", _all_settings_of)),
    ApiKey.ALTER_CONFIGS: (2, _structs("resources", _resource, validate_only=True)),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (2, lambda count: {"dirs": [
        {"path": "/elsewhere", "topics": [{"name": ORDERS, "partitions": [*range(count)]}]}]}),
    ApiKey.DESCRIBE_LOG_DIRS: (4, lambda count: {"topics": None}),
    ApiKey.CREATE_PARTITIONS: (3, _structs(
        "topics", lambda number: {"name": f"t{number}", "count": 2, "assignments": None},
        timeout_ms=1)),
    ApiKey.ELECT_LEADERS: (2, lambda count: {"topic_partitions": None, "timeout_ms": 1}),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (1, _structs("resources", _resource, validate_only=True)),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, lambda count: {"timeout_ms": 1, "topics": [
        {"name": ORDERS, "partitions": [
            {"partition_index": index, "replicas": [1]} for index in range(count)]}]}),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, lambda count: {"topics": None, "timeout_ms": 1}),
    ApiKey.DESCRIBE_PRODUCERS: (0, _topics(lambda index: index, field="partition_indexes")),
    ApiKey.DESCRIBE_TRANSACTIONS: (0, _names("transactional_ids")),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (0, _states(state_epoch=1, start_offset=0)),
    ApiKey.READ_SHARE_GROUP_STATE: (0, _states(leader_epoch=1)),
    ApiKey.WRITE_SHARE_GROUP_STATE: (1, _states(
        state_epoch=1, leader_epoch=1, start_offset=0, delivery_complete_count=0,
        state_batches=[])),
    ApiKey.DELETE_SHARE_GROUP_STATE: (0, _states()),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (1, _states(leader_epoch=1)),
    ApiKey.LIST_TRANSACTIONS: (2, lambda count: {
        **_names("state_filters")(count), "producer_id_filters": [*range(count)]}),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (0, _structs(
        "users", lambda number: {"name": f"u{number}"})),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (0, _names("group_ids")),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, lambda count: {
        "topics": [], "response_partition_limit": 2000, "cursor": None}),
    ApiKey.LIST_CONFIG_RESOURCES: (1, lambda count: {"resource_types": [2]}),
    ApiKey.SHARE_GROUP_DESCRIBE: (1, _names("group_ids")),
    ApiKey.SHARE_FETCH: (2, lambda count: {
        **SHARE_MEMBER, "share_session_epoch": 0, "max_bytes": 1, "max_records": 1,
        "batch_size": 1, "topics": _shared(count, [])}),
    ApiKey.SHARE_ACKNOWLEDGE: (2, lambda count: {
        **SHARE_MEMBER, "share_session_epoch": 1, "topics": _shared(count, [
            {"first_offset": 0, "last_offset": 1, "acknowledge_types": [1]}])}),
    ApiKey.STREAMS_GROUP_DESCRIBE: (1, _names("group_ids")),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        1,
        _structs("groups", lambda number: {"group_id": f"g{number}", "topics": None}),
    ),
}  # fmt: skip

WALKERS: Final = {
    ApiKey.DESCRIBE_LOG_DIRS, ApiKey.ELECT_LEADERS, ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.LIST_CONFIG_RESOURCES, ApiKey.METADATA,
}  # fmt: skip
NAMING: Final = WALKERS | {
    ApiKey.DELETE_TOPICS, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.CREATE_PARTITIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
}  # fmt: skip

AT_ONCE: Final = {
    # A decision of a state machine: its records are one batch of the log, of 1 MB at most.
    ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_DELETE,
    ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.DELETE_GROUPS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    # A decision of the controller: all or nothing of a request is true.
    ApiKey.CREATE_ACLS, ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS, ApiKey.UPDATE_FEATURES,
    # The order of the answer is that of a hash map of all quotas.
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    # Nothing in it is more than a few.
    ApiKey.HEARTBEAT, ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.DESCRIBE_QUORUM,
    ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN, ApiKey.DESCRIBE_CLUSTER,
    ApiKey.UNREGISTER_BROKER, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UNREGISTER_CONTROLLER,
    # Refused as a whole.
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
}  # fmt: skip


class Steps:
    """The lines that run between two turns of the event loop."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        self._now += event == "line"
        return self._trace

    async def of(self, handling: Coroutine[Any, Any, Any]) -> Any:
        """Let a handler work to its end."""
        waited_for: Any = None
        while True:
            self._now = 0
            before = sys.gettrace()
            gc.disable()  # what it would finalize is of other tests, and runs lines, too
            sys.settrace(self._trace)
            try:
                waited_for = handling.send(None)
            except StopIteration as done:
                return done.value
            finally:
                sys.settrace(before)
                gc.enable()
                self.most = max(self.most, self._now)
            if waited_for is not None:
                waited_for._asyncio_future_blocking = False
                await waited_for


async def longest_run(one: OneNode, key: ApiKey, count: int) -> int:
    """The most lines of a request of so many elements that run in one turn."""
    version, fields = SLICED[key]
    return await longest(one, key, version, fields(count))


async def longest(
    one: OneNode, key: ApiKey, version: int, fields: dict[str, Any], refused: Code | None = None
) -> int:
    """The most lines of a request that run in one turn, with an answer or a refusal."""
    data = memoryview(one.frame(key, version, **fields))
    header = read_request_header(data)
    request = read_request(header, data)
    context = Context(key, version, 0, None, one.connection)
    steps = Steps()
    handler = guarded(api_of(key))
    code: Code | None = None
    try:
        assert await steps.of(handler(one.node, context, request)) is not None
    except Refused as why:
        code = why.code
    finally:
        context.turns.leave()
    assert code == refused
    return steps.most


def furnished(one: OneNode, key: ApiKey, count: int) -> None:
    """Create as many of the things that a handler iterates over."""
    one.topic(ORDERS, partitions=count if key in WALKERS else 4 * FEW_STEPS)
    for coordinated in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        one.node.controller.create_internal_topic(coordinated)
    if key is ApiKey.SHARE_ACKNOWLEDGE:
        one.node.share_partitions.sessions.begin(SessionKey("g", "m"), "here")
    if key in NAMING:
        for number in range(count):
            one.topic(f"t{number}")


@pytest.mark.parametrize("key", SLICED, ids=lambda key: key.name)
async def test_more_elements_do_not_make_a_turn_longer(tmp_path: Path, key: ApiKey) -> None:
    set_slice_s(0.0)
    limits = WorkLimits(logs_made_at_once=4 * FEW_STEPS)
    in_steps = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS)
    few = FEW_STEPS if key in in_steps else FEW
    found: list[int] = []
    for count in (few, few, 4 * few):  # the first time some things are made for later
        async with one_node(tmp_path / f"{len(found)}", limits, **AUTHORIZED) as one:
            furnished(one, key, count)
            found.append(await longest_run(one, key, count))
    assert found[2] < 1.5 * found[1] + 100, found


def _credential(number: int) -> dict[str, Any]:
    secret = b"s" * 32
    return {
        "name": f"u{number}", "mechanism": 1, "iterations": 4096, "salt": secret,
        "salted_password": secret,
    }  # fmt: skip


def _quota(number: int) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": "user", "entity_name": f"u{number}"}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
    }


def _joins(count: int) -> dict[str, Any]:
    """The first heartbeat of a member of a Streams group."""
    topics = [{"name": f"store-{number}", "partitions": 0, "replication_factor": 0,
               "topic_configs": []} for number in range(500 + count)]  # fmt: skip
    subtopologies = [
        {"subtopology_id": f"{number}", "source_topics": [ORDERS], "source_topic_regex": [],
         "state_changelog_topics": [topic], "repartition_sink_topics": [],
         "repartition_source_topics": [], "copartition_groups": []}
        for number, topic in enumerate(topics)
    ]  # fmt: skip
    return {
        "group_id": "g", "member_id": "m", "member_epoch": 0, "endpoint_information_epoch": 0,
        "rebalance_timeout_ms": 1000, "process_id": "p", "active_tasks": [], "standby_tasks": [],
        "warmup_tasks": [], "topology": {"epoch": 0, "subtopologies": subtopologies},
    }  # fmt: skip


def _joins_copartitioned(count: int) -> dict[str, Any]:
    """The first heartbeat of a member of a Streams group that has one subtopology."""
    group = {"source_topics": [0] * 100, "source_topic_regex": [], "repartition_source_topics": []}
    fields = _joins(-499)
    (subtopology,) = fields["topology"]["subtopologies"]
    subtopology["copartition_groups"] = [group] * (50 + count)
    return fields


DECIDED: Final[dict[str, tuple[ApiKey, int, Fields, float]]] = {
    # The lines that the longest turn may run for each element: its part in the one append.
    "ACLs": (ApiKey.CREATE_ACLS, 3, _structs("creations", _acl), 20),
    "all ACLs by one filter": (ApiKey.DELETE_ACLS, 3, lambda count: {"filters": [EVERY_ACL]}, 20),
    "credentials": (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, _structs(
        "upsertions", _credential, deletions=[]), 50),
    "quotas": (ApiKey.ALTER_CLIENT_QUOTAS, 1, _structs(
        "entries", _quota, validate_only=False), 60),
    "partitions of a topic": (ApiKey.CREATE_TOPICS, 7, lambda count: {
        "timeout_ms": 1, "topics": [
            {"name": "new", "num_partitions": 500 + count, "replication_factor": 1}]}, 30),
    "partitions of a deleted topic of the name": (ApiKey.CREATE_TOPICS, 7, lambda count: {
        "timeout_ms": 1, "topics": [
            {"name": ORDERS, "num_partitions": 1, "replication_factor": 1}]}, 1),
    "more partitions": (ApiKey.CREATE_PARTITIONS, 3, lambda count: {
        "timeout_ms": 1, "topics": [
            {"name": ORDERS, "count": 500 + count, "assignments": None}]}, 30),
    "offsets": (ApiKey.OFFSET_COMMIT, 8, lambda count: {
        "group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "",
        **_topics(_offset, field="partitions")(500 + count)}, 8),
    "offsets to delete": (ApiKey.OFFSET_DELETE, 0, lambda count: {
        "group_id": "g", **_topics(
            lambda index: {"partition_index": index}, field="partitions")(500 + count)}, 16),
    "subtopologies of a member that joins": (ApiKey.STREAMS_GROUP_HEARTBEAT, 1, _joins, 45),
    "copartition groups of a member that joins": (
        ApiKey.STREAMS_GROUP_HEARTBEAT, 1, _joins_copartitioned, 30),
    "a group with offsets": (ApiKey.DELETE_GROUPS, 2, lambda count: {"groups_names": ["g"]}, 16),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
async def test_a_decision_is_made_and_encoded_in_slices(tmp_path: Path, name: str) -> None:
    """Only its append and its replay are one turn."""
    set_slice_s(0.0)
    key, version, fields, most = DECIDED[name]
    found: list[int] = []
    few = 30
    for count in (few, few, 5 * few):  # the first time some things are made for later
        async with one_node(tmp_path / f"{len(found)}", **AUTHORIZED) as one:
            await prepared(one, name, key, count)
            found.append(await longest(one, key, version, fields(count)))
    assert found[2] - found[1] < most * 4 * few, found


@pytest.mark.parametrize("many", ["subtopologies", "copartition groups"])
async def test_a_topology_that_the_log_would_refuse_is_not_decided_on(
    tmp_path: Path, many: str
) -> None:
    set_slice_s(0.0)
    key, version, fields, _ = DECIDED[f"{many} of a member that joins"]
    found: list[int] = []
    for count in (30, 30, 150):  # the first time some things are made for later
        settings = {**AUTHORIZED, "message_max_bytes": "10000"}
        async with one_node(tmp_path / f"{len(found)}", **settings) as one:
            one.node.controller.create_internal_topic(CONSUMER_OFFSETS)
            found.append(await longest(one, key, version, fields(count), Code.UNKNOWN_SERVER_ERROR))
    assert found[2] - found[1] < 5 * 120, found


async def prepared(one: OneNode, name: str, key: ApiKey, count: int) -> None:
    """What a request of `DECIDED` deletes."""
    for coordinated in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        one.node.controller.create_internal_topic(coordinated)
    if key in (ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS):
        one.topic(ORDERS, partitions=500 + count)
    elif key is ApiKey.CREATE_PARTITIONS:
        one.topic(ORDERS)
    elif "deleted" in name:
        one.topic(ORDERS, partitions=count)
        one.node.controller.delete_topics([one.node.catalog.topics[ORDERS]])
    if key in (ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS):
        _, version, fields, _ = DECIDED["offsets"]
        await longest(one, ApiKey.OFFSET_COMMIT, version, fields(count))
    elif key is ApiKey.DELETE_ACLS:
        _, version, fields, _ = DECIDED["ACLs"]
        await longest(one, ApiKey.CREATE_ACLS, version, fields(count))


def test_every_api_declares_how_its_turns_are_bounded() -> None:
    assert SLICED.keys() | AT_ONCE == HANDLERS.keys()
    assert not SLICED.keys() & AT_ONCE

"""Where the answers of each API have errors, as Kafka's getErrorResponse has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code

Body = dict[str, Any]
Whole = Callable[[Any, int, Code], Body]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Shape(NamedTuple):
    """A list of a request, and the list of its answer with an element for each.

    Attributes:
        asked, answered: the names of the lists.
        keys: fields of an answer's element by fields of the request's; a plain value has "".
        extra: further fields of an element with an error.
        inner: the list inside; None: the error is in this element.
        code: the field of the error code.
        message: the field of its text; empty if there is none.
        kind: what an element is: "topic", "partition", or neither.
    """

    asked: str
    answered: str
    keys: Mapping[str, str]
    extra: Mapping[str, Any] = _NOTHING
    inner: Shape | None = None
    code: str = "error_code"
    message: str = ""
    kind: str = ""


def _topics(
    asked: str,
    answered: str,
    inner: Shape,
    keys: Mapping[str, str] = MappingProxyType({"name": "name"}),
) -> Shape:
    return Shape(asked, answered, keys, inner=inner, kind="topic")


def _partitions(**more: Any) -> Shape:
    found = {
        "asked": "partitions", "answered": "partitions",
        "keys": {"partition_index": "partition_index"}, "kind": "partition",
    } | more  # fmt: skip
    return Shape(**found)


def _names(asked: str, answered: str, key: str, **more: Any) -> Shape:
    return Shape(asked, answered, {"": key}, **more)


_NO_OFFSET: Final = {"offset": -1, "timestamp": -1, "leader_epoch": -1}
_NOT_PRODUCED: Final = {"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1}
_NO_EXTRA: Final[dict[str, Any]] = {}
_NAME_OR_ID: Final = {"name": "name", "topic_id": "topic_id"}
_ANY: Final = (0, 1000)
_NO_STATE: Final = {"state_epoch": 0, "start_offset": 0}
_NOWHERE: Final = {"node_id": -1, "host": "", "port": -1}

# By API: the versions, and the list whose elements get the error.
SHAPES: Final[dict[ApiKey, list[tuple[tuple[int, int], Shape]]]] = {
    ApiKey.PRODUCE: [(_ANY, _topics(
        "topic_data", "responses",
        _partitions(asked="partition_data", answered="partition_responses",
                    keys={"index": "index"}, extra=_NOT_PRODUCED, message="error_message"),
        _NAME_OR_ID))],
    ApiKey.LIST_OFFSETS: [(_ANY, _topics("topics", "topics", _partitions(extra=_NO_OFFSET)))],
    ApiKey.OFFSET_COMMIT: [(_ANY, _topics("topics", "topics", _partitions(), _NAME_OR_ID))],
    ApiKey.TXN_OFFSET_COMMIT: [(_ANY, _topics("topics", "topics", _partitions(), _NAME_OR_ID))],
    ApiKey.OFFSET_FETCH: [
        ((0, 1), _topics("topics", "topics", _partitions(
            asked="partition_indexes", keys={"": "partition_index"},
            extra={"committed_offset": -1, "metadata": ""}))),
        ((8, 1000), Shape("groups", "groups", {"group_id": "group_id"}, {"topics": []}))],
    ApiKey.ADD_PARTITIONS_TO_TXN: [((0, 3), _topics(
        "v3_and_below_topics", "results_by_topic_v3_and_below",
        _partitions(answered="results_by_partition", keys={"": "partition_index"},
                    code="partition_error_code")))],
    ApiKey.CREATE_ACLS: [(_ANY, Shape("creations", "results", {}, message="error_message"))],
    ApiKey.DELETE_ACLS: [(_ANY, Shape(
        "filters", "filter_results", {}, {"matching_acls": []}, message="error_message"))],
    ApiKey.ELECT_LEADERS: [(_ANY, _topics(
        "topic_partitions", "replica_election_results",
        _partitions(answered="partition_result", keys={"": "partition_id"},
                    message="error_message"), {"topic": "topic"}))],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [(_ANY, _topics(
        "topics", "responses", _partitions(message="error_message")))],
    ApiKey.ALTER_CLIENT_QUOTAS: [(_ANY, Shape(
        "entries", "entries", {"entity": "entity"}, message="error_message"))],
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: [(_ANY, Shape(
        "topics", "topics", {"name": "name"}, {"partitions": []}, kind="topic"))],
    ApiKey.SHARE_GROUP_DESCRIBE: [(_ANY, _names(
        "group_ids", "groups", "group_id",
        extra={"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "assignor_name": "",
               "members": []}, message="error_message"))],
    ApiKey.STREAMS_GROUP_DESCRIBE: [(_ANY, _names(
        "group_ids", "groups", "group_id",
        extra={"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "topology": None,
               "assignor_name": None, "members": []}, message="error_message"))],
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: [(_ANY, Shape(
        "groups", "groups", {"group_id": "group_id"}, {"topics": []}, message="error_message"))],
    **{key: [(_ANY, _topics(
        "topics", "results",
        _partitions(keys={"partition": "partition"}, extra=extra, message="error_message"),
        {"topic_id": "topic_id"}))]
       for key, extra in (
           (ApiKey.INITIALIZE_SHARE_GROUP_STATE, _NO_EXTRA),
           (ApiKey.READ_SHARE_GROUP_STATE, _NO_STATE | {"state_batches": []}),
           (ApiKey.WRITE_SHARE_GROUP_STATE, _NO_EXTRA),
           (ApiKey.DELETE_SHARE_GROUP_STATE, _NO_EXTRA),
           (ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, _NO_STATE))},
    ApiKey.FIND_COORDINATOR: [((4, 1000), _names(
        "coordinator_keys", "coordinators", "key", extra=_NOWHERE, message="error_message"))],
    ApiKey.DELETE_RECORDS: [(_ANY, _topics(
        "topics", "topics", _partitions(extra={"low_watermark": -1})))],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [(_ANY, _topics(
        "topics", "topics",
        _partitions(keys={"partition": "partition"}, extra={"leader_epoch": -1, "end_offset": -1}),
        {"topic": "topic"}))],
    ApiKey.CREATE_TOPICS: [(_ANY, Shape(
        "topics", "topics", {"name": "name"}, message="error_message", kind="topic"))],
    ApiKey.DELETE_TOPICS: [
        ((0, 5), _names("topic_names", "responses", "name", kind="topic")),
        ((6, 1000), Shape("topics", "responses", {"name": "name", "topic_id": "topic_id"},
                          message="error_message", kind="topic"))],
    ApiKey.CREATE_PARTITIONS: [(_ANY, Shape(
        "topics", "results", {"name": "name"}, message="error_message", kind="topic"))],
    ApiKey.DESCRIBE_GROUPS: [(_ANY, _names(
        "groups", "groups", "group_id",
        extra={"group_state": "", "protocol_type": "", "protocol_data": "", "members": []}))],
    ApiKey.DELETE_GROUPS: [(_ANY, _names("groups_names", "results", "group_id"))],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [(_ANY, _names(
        "group_ids", "groups", "group_id",
        extra={"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "assignor_name": "",
               "members": []}, message="error_message"))],
    ApiKey.WRITE_TXN_MARKERS: [(_ANY, Shape(
        "markers", "markers", {"producer_id": "producer_id"},
        inner=_topics("topics", "topics", _partitions(
            asked="partition_indexes", keys={"": "partition_index"}))))],
    ApiKey.DESCRIBE_TRANSACTIONS: [(_ANY, _names(
        "transactional_ids", "transaction_states", "transactional_id",
        extra={"transaction_state": "", "transaction_timeout_ms": 0,
               "transaction_start_time_ms": 0, "producer_id": 0, "producer_epoch": 0,
               "topics": []}))],
    ApiKey.DESCRIBE_PRODUCERS: [(_ANY, _topics(
        "topics", "topics", _partitions(
            asked="partition_indexes", keys={"": "partition_index"},
            extra={"active_producers": []}, message="error_message")))],
    **{key: [(_ANY, Shape(
        "resources", answered,
        {"resource_type": "resource_type", "resource_name": "resource_name"},
        extra=extra, message="error_message"))]
       for key, answered, extra in (
           (ApiKey.DESCRIBE_CONFIGS, "results", {"configs": list[Any]()}),
           (ApiKey.ALTER_CONFIGS, "responses", _NO_EXTRA),
           (ApiKey.INCREMENTAL_ALTER_CONFIGS, "responses", _NO_EXTRA))},
}  # fmt: skip


def _unfetched_partitions(request: Any, version: int, code: Code) -> Body:
    body: Body = {"responses": []}
    if version >= 7:
        body["session_id"] = request.session_id
    if version < 13:
        body["responses"] = [
            {
                "topic": topic.topic,
                "partitions": [
                    unfetched({"partition_index": each.partition}, code)
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    return body


def unfetched(partition: Body, code: Code) -> Body:
    """The answer to a Fetch for a partition that has an error."""
    return {
        "partition_index": partition["partition_index"], "error_code": code,
        "high_watermark": -1, "last_stable_offset": -1, "log_start_offset": -1,
        "aborted_transactions": [], "preferred_read_replica": -1, "records": b"",
    }  # fmt: skip


def _no_token(request: Any, version: int, code: Code) -> Body:
    user = {"principal_type": "User", "principal_name": "ANONYMOUS"}
    if version >= 3:
        user |= {f"token_requester_{name}": value for name, value in user.items()}
    times = dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), -1)
    return {**user, **times}


def _reassignments(request: Any, version: int, code: Code) -> Body:
    none: Body = {"replicas": [], "adding_replicas": [], "removing_replicas": []}
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [{"partition_index": i, **none} for i in topic.partition_indexes],
            }
            for topic in request.topics or ()
        ]
    }


def _described_users(request: Any, version: int, code: Code) -> Body:
    # Kafka leaves out their names.
    return {"results": [{"user": "", "error_code": code} for _ in request.users or ()]}


def _altered_users(request: Any, version: int, code: Code) -> Body:
    users = dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
    return {"results": [{"user": user, "error_code": code} for user in users]}


def _moved_replicas(request: Any, version: int, code: Code) -> Body:
    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [
                    {"partition_index": i, "error_code": code} for i in topic.partitions
                ],
            }
            for directory in request.dirs
            for topic in directory.topics
        ]
    }


def _fixed(**fields: Any) -> Whole:
    return lambda request, version, code: fields


WHOLE: Final[dict[ApiKey, Whole]] = {
    ApiKey.FETCH: _unfetched_partitions,
    ApiKey.FIND_COORDINATOR: _fixed(**_NOWHERE),
    ApiKey.JOIN_GROUP: lambda request, version, code: (
        {"protocol_name": None} if version >= 7 else {}
    ),
    ApiKey.INIT_PRODUCER_ID: _fixed(producer_id=-1, producer_epoch=-1),
    ApiKey.CREATE_DELEGATION_TOKEN: _no_token,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _fixed(entries=None),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _reassignments,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _described_users,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _altered_users,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _moved_replicas,
}
"""Further fields of answers that have an error as a whole, by request, version and code."""
IN_LISTS: Final = frozenset({ApiKey.ALTER_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_REPLICA_LOG_DIRS})
"""APIs of WHOLE whose answers have errors in those fields alone."""

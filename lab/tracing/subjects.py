"""What a decoded request names: topics, partitions, ids and groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol import codec
from ...protocol.api_keys import ApiKey
from ...protocol.batch import headers_in
from ...protocol.errors import Malformed

TopicName = Callable[[UUID], "str | None"]

# The lists of topics of each API, with the list of partitions of a topic; "" for none.
_TOPICS: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.PRODUCE: ("topic_data", "partition_data"),
    ApiKey.FETCH: ("topics", "partitions"),
    ApiKey.LIST_OFFSETS: ("topics", "partitions"),
    ApiKey.METADATA: ("topics", ""),
    ApiKey.OFFSET_COMMIT: ("topics", "partitions"),
    ApiKey.OFFSET_FETCH: ("topics", "partition_indexes"),
    ApiKey.TXN_OFFSET_COMMIT: ("topics", "partitions"),
    ApiKey.ADD_PARTITIONS_TO_TXN: ("v3_and_below_topics", "partitions"),
    ApiKey.CREATE_TOPICS: ("topics", ""),
    ApiKey.DELETE_TOPICS: ("topics", ""),
    ApiKey.DELETE_RECORDS: ("topics", "partitions"),
    ApiKey.CREATE_PARTITIONS: ("topics", ""),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("topics", "partitions"),
    ApiKey.OFFSET_DELETE: ("topics", "partitions"),
    ApiKey.DESCRIBE_PRODUCERS: ("topics", "partition_indexes"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("topics", ""),
    ApiKey.ELECT_LEADERS: ("topic_partitions", "partitions"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ("topics", "partitions"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ("topics", "partition_indexes"),
    ApiKey.DESCRIBE_LOG_DIRS: ("topics", "partitions"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("topics", "partitions"),
    ApiKey.DESCRIBE_QUORUM: ("topics", "partitions"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("topic_partitions", "partitions"),
    ApiKey.SHARE_FETCH: ("topics", "partitions"),
    ApiKey.SHARE_ACKNOWLEDGE: ("topics", "partitions"),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: ("topics", "partitions"),
    ApiKey.READ_SHARE_GROUP_STATE: ("topics", "partitions"),
    ApiKey.WRITE_SHARE_GROUP_STATE: ("topics", "partitions"),
    ApiKey.DELETE_SHARE_GROUP_STATE: ("topics", "partitions"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: ("topics", "partitions"),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("topics", "partitions"),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ("topics", "partitions"),
}
_NESTED: Final[dict[ApiKey, str]] = {
    ApiKey.OFFSET_FETCH: "groups",
    ApiKey.ADD_PARTITIONS_TO_TXN: "transactions",
    ApiKey.WRITE_TXN_MARKERS: "markers",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "dirs",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "groups",
}
_NAMES: Final[dict[ApiKey, tuple[str, str]]] = {
    ApiKey.DELETE_TOPICS: ("topics", "topic_names"),
    ApiKey.DESCRIBE_GROUPS: ("groups", "groups"),
    ApiKey.DELETE_GROUPS: ("groups", "groups_names"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("groups", "group_ids"),
    ApiKey.DESCRIBE_TRANSACTIONS: ("transactional_ids", "transactional_ids"),
    ApiKey.LIST_TRANSACTIONS: ("producer_ids", "producer_id_filters"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("topics", "subscribed_topic_names"),
    ApiKey.SHARE_GROUP_HEARTBEAT: ("topics", "subscribed_topic_names"),
    ApiKey.SHARE_GROUP_DESCRIBE: ("groups", "group_ids"),
    ApiKey.STREAMS_GROUP_DESCRIBE: ("groups", "group_ids"),
}
_KIND_OF_FIELD: Final = {
    **dict.fromkeys(
        ("topics", "topic_data", "topic_names", "topic_partitions", "v3_and_below_topics",
         "forgotten_topics_data", "subscribed_topic_names", "cursor"), "topics"),
    **dict.fromkeys(
        ("partitions", "partition_data", "partition_index", "partition_indexes", "index"),
        "partitions"),
    **dict.fromkeys(("group_id", "group_ids", "groups_names"), "groups"),
    **dict.fromkeys(
        ("transactional_id", "transactional_ids", "v3_and_below_transactional_id"),
        "transactional_ids"),
    **dict.fromkeys(
        ("producer_id", "producer_id_filters", "v3_and_below_producer_id"), "producer_ids"),
    **dict.fromkeys(("member_id", "group_instance_id", "instance_id"), "members"),
}  # fmt: skip
_OF_CONFIGS: Final = frozenset(
    {ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS}
)
_OF_ACLS: Final = {
    ApiKey.CREATE_ACLS: "creations", ApiKey.DELETE_ACLS: "filters", ApiKey.DESCRIBE_ACLS: "",
}  # fmt: skip
# Numbers of ResourceType in ACLs, and of CoordinatorType.
_OF_RESOURCE: Final = {2: "topics", 3: "groups", 5: "transactional_ids"}
_OF_COORDINATOR: Final = {0: "groups", 1: "transactional_ids"}
_OF_SHARE_PARTITION: Final = 2
_CONFIGS_OF_TOPIC: Final = 2
_CONFIGS_OF_GROUP: Final = 32
_FURTHER_KINDS: Final[dict[ApiKey, tuple[str, ...]]] = {
    **dict.fromkeys(_OF_CONFIGS, ("topics", "groups")),
    **dict.fromkeys(_OF_ACLS, ("topics", "groups", "transactional_ids")),
    ApiKey.FIND_COORDINATOR: ("groups", "transactional_ids"),
    ApiKey.DESCRIBE_GROUPS: ("groups",),
    ApiKey.PRODUCE: ("producer_ids",),
}


class Subjects(NamedTuple):
    """The names in a request.

    Attributes:
        topics: names; partitions: of them, with their index.
        members: member ids and group instance ids.
    """

    topics: frozenset[str]
    partitions: frozenset[tuple[str, int]]
    transactional_ids: frozenset[str]
    producer_ids: frozenset[int]
    groups: frozenset[str]
    members: frozenset[str]


@cache
def kinds_of(api_key: ApiKey) -> frozenset[str]:
    """What requests of an API can name: fields of `Subjects`."""
    found = set(_FURTHER_KINDS.get(api_key, ()))
    fields = [*codec.message_class(api_key, "Request")._struct.fields.values()]
    while fields:
        field = fields.pop()
        if field.name in _KIND_OF_FIELD:
            found.add(_KIND_OF_FIELD[field.name])
        fields += field.fields.values()
    if "topics" not in found:
        found.discard("partitions")
    return frozenset(found)


def subjects_of(api_key: ApiKey, version: int, request: Any, topic_name: TopicName) -> Subjects:
    """What a request names.

    Args:
        topic_name: the name of a topic by its id; None if there is none.
    """
    found: dict[str, set[Any]] = {name: set() for name in Subjects._fields}
    _add(api_key, request, topic_name, found)
    if api_key in _NAMES:
        kind, field = _NAMES[api_key]
        found[kind].update(getattr(request, field, None) or ())
    if api_key is ApiKey.FIND_COORDINATOR:
        keys = getattr(request, "coordinator_keys", None) or [getattr(request, "key", "")]
        key_type = getattr(request, "key_type", 0) or 0
        if key_type == _OF_SHARE_PARTITION:  # group:id of the topic:partition
            found["groups"].update(key.split(":")[0] for key in keys)
        elif key_type in _OF_COORDINATOR:
            found[_OF_COORDINATOR[key_type]].update(keys)
    if api_key is ApiKey.PRODUCE:
        found["producer_ids"].update(_producer_ids(request))
    if api_key is ApiKey.LEAVE_GROUP:
        for member in getattr(request, "members", None) or ():
            found["members"].update(_texts(member, "member_id", "group_instance_id"))
    if api_key is ApiKey.SYNC_GROUP:
        for assignment in request.assignments or ():
            found["members"].update(_texts(assignment, "member_id"))
    for topic in getattr(request, "forgotten_topics_data", None) or ():
        found["topics"].update(filter(None, [_name(topic, topic_name)]))
    cursor = getattr(request, "cursor", None)
    if cursor is not None:
        found["topics"].update(_texts(cursor, "topic_name"))
    if api_key in _OF_ACLS:
        _add_resources(request, _OF_ACLS[api_key], found)
    if api_key in _OF_CONFIGS:
        for resource in request.resources or ():
            if resource.resource_type == _CONFIGS_OF_TOPIC:
                found["topics"].update(_texts(resource, "resource_name"))
            elif resource.resource_type == _CONFIGS_OF_GROUP:
                found["groups"].update(_texts(resource, "resource_name"))
    return Subjects(**{name: frozenset(values) for name, values in found.items()})


def _add_resources(request: Any, of_list: str, found: dict[str, set[Any]]) -> None:
    """The resources of ACLs, or of filters of ACLs."""
    for each in getattr(request, of_list) if of_list else [request]:
        kind = getattr(each, "resource_type", None)
        kind = _OF_RESOURCE.get(each.resource_type_filter if kind is None else kind)
        if kind is not None:
            found[kind].update(_texts(each, "resource_name", "resource_name_filter"))


def _add(api_key: ApiKey, request: Any, topic_name: TopicName, found: dict[str, set[Any]]) -> None:
    found["transactional_ids"].update(
        _texts(request, "transactional_id", "v3_and_below_transactional_id")
    )
    for field in ("producer_id", "v3_and_below_producer_id"):
        producer_id = getattr(request, field, -1)
        if producer_id is not None and producer_id >= 0:
            found["producer_ids"].add(producer_id)
    found["groups"].update(_texts(request, "group_id"))
    found["members"].update(_texts(request, "member_id", "group_instance_id", "instance_id"))
    of_topics, of_partitions = _TOPICS.get(api_key, ("topics", "partition_indexes"))
    lists = [getattr(request, of_topics, None)]
    if api_key in _NESTED:
        if not hasattr(request, of_topics):
            lists.append(getattr(request, "topics", None))
        for each in getattr(request, _NESTED[api_key], None) or ():
            _add(api_key, each, topic_name, found)
    for topics in lists:
        for topic in topics or ():
            name = _name(topic, topic_name)
            if name:
                found["topics"].add(name)
                indexes = getattr(topic, of_partitions, None) if of_partitions else ()
                found["partitions"].update((name, _index(each)) for each in indexes or ())


def _name(topic: Any, topic_name: TopicName) -> str | None:
    name: str | None = next(iter(_texts(topic, "name", "topic", "topic_name")), None)
    if name:
        return name
    topic_id = getattr(topic, "topic_id", None)
    return topic_name(topic_id) if topic_id is not None and topic_id.int else None


def _index(partition: Any) -> int:
    if isinstance(partition, int):
        return partition
    for field in ("partition_index", "index", "partition"):
        index = getattr(partition, field, None)
        if index is not None:
            return int(index)
    return -1


def _texts(request: Any, *fields: str) -> set[str]:
    return {text for field in fields if (text := getattr(request, field, None))}


def _producer_ids(request: Any) -> set[int]:
    found = set()
    for topic in request.topic_data:
        for partition in topic.partition_data:
            try:
                for _, header in headers_in(partition.records or b""):
                    if header.producer_id >= 0:
                        found.add(header.producer_id)
            except Malformed:
                continue
    return found

"""What requests of the real codec name."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from ottla.lab.tracing.subjects import Subjects, kinds_of, subjects_of
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey

from .error_answers import body_of, sample, served

_ID = UUID(int=7)
_BY_ID = [{"topic_id": _ID, "partitions": [3]}]
_CONFIG = {"resources": [
    {"resource_type": 2, "resource_name": "named"},
    {"resource_type": 32, "resource_name": "group"},
    {"resource_type": 4, "resource_name": "1"},
]}  # fmt: skip
_SHARED = {"topics": [{"topic_id": _ID, "partitions": [{"partition": 3}]}], "group_id": "group"}
_FETCHED = {
    "topics": [{"topic_id": _ID, "partitions": [{"partition_index": 3}]}],
    "group_id": "group", "member_id": "member",
}  # fmt: skip
_PLACE = {"topics": {"named"}, "partitions": {("named", 3)}}
_REQUESTS: list[tuple[ApiKey, int, dict[str, Any], dict[str, Any]]] = [
    (ApiKey.ALTER_REPLICA_LOG_DIRS, 2,
     {"dirs": [{"path": "/", "topics": [{"name": "named", "partitions": [3]}]}]}, _PLACE),
    (ApiKey.DESCRIBE_QUORUM, 2,
     {"topics": [{"topic_name": "named", "partitions": [{"partition_index": 3}]}]}, _PLACE),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1,
     {"group_id": "group", "member_id": "member", "topic_partitions": _BY_ID},
     _PLACE | {"groups": {"group"}, "members": {"member"}}),
    (ApiKey.SHARE_GROUP_HEARTBEAT, 1,
     {"group_id": "group", "member_id": "member", "subscribed_topic_names": ["named"]},
     {"topics": {"named"}, "groups": {"group"}, "members": {"member"}}),
    (ApiKey.SHARE_GROUP_DESCRIBE, 1, {"group_ids": ["group"]}, {"groups": {"group"}}),
    *((key, 1, _FETCHED, _PLACE | {"groups": {"group"}, "members": {"member"}})
      for key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)),
    *((key, 0, _SHARED, _PLACE | {"groups": {"group"}})
      for key in (ApiKey.READ_SHARE_GROUP_STATE, ApiKey.DELETE_SHARE_GROUP_STATE,
                  ApiKey.READ_SHARE_GROUP_STATE_SUMMARY)),
    (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0,
     {"groups": [{"group_id": "group", "topics": [{"topic_name": "named", "partitions": [3]}]}]},
     _PLACE | {"groups": {"group"}}),
    (ApiKey.SYNC_GROUP, 5,
     {"group_id": "group", "member_id": "leader",
      "assignments": [{"member_id": "follower", "assignment": b""}]},
     {"groups": {"group"}, "members": {"leader", "follower"}}),
    (ApiKey.FIND_COORDINATOR, 6, {"key_type": 2, "coordinator_keys": ["group:BwAAAAA:3"]},
     {"groups": {"group"}}),
    (ApiKey.CREATE_ACLS, 3,
     {"creations": [{"resource_type": kind, "resource_name": name} for kind, name in
                    ((2, "named"), (3, "group"), (5, "shop"), (4, "cluster"))]},
     {"topics": {"named"}, "groups": {"group"}, "transactional_ids": {"shop"}}),
    (ApiKey.DELETE_ACLS, 3,
     {"filters": [{"resource_type_filter": 5, "resource_name_filter": "shop"}]},
     {"transactional_ids": {"shop"}}),
    (ApiKey.DESCRIBE_ACLS, 3, {"resource_type_filter": 3, "resource_name_filter": "group"},
     {"groups": {"group"}}),
    *((key, 1, _CONFIG, {"topics": {"named"}, "groups": {"group"}})
      for key in (ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)),
]  # fmt: skip


@pytest.mark.parametrize(("api_key", "version", "fields", "named"), _REQUESTS)
def test_each_name_of_a_request_is_found(
    api_key: ApiKey, version: int, fields: dict[str, Any], named: dict[str, Any]
) -> None:
    cls = codec.message_class(api_key, "Request")
    frame = bytearray()
    codec.encoder(cls, version)(fields, frame)
    request, _ = codec.decoder(cls, version)(memoryview(frame), 0, None)
    found = subjects_of(api_key, version, request, {_ID: "named"}.get)
    nothing = dict.fromkeys(Subjects._fields, frozenset[Any]())
    assert found._asdict() == nothing | named


# Fields by what they name; a `name` in a list of topics is a topic's.
_KINDS = {
    **dict.fromkeys(("topic", "topic_name", "topic_names", "subscribed_topic_names"), "topics"),
    **dict.fromkeys(("group_id", "group_ids", "groups_names"), "groups"),
    **dict.fromkeys(("transactional_id", "transactional_ids"), "transactional_ids"),
    **dict.fromkeys(("producer_id", "v3_and_below_producer_id"), "producer_ids"),
    **dict.fromkeys(("member_id", "group_instance_id", "instance_id"), "members"),
    "v3_and_below_transactional_id": "transactional_ids",
}
_LISTS_OF_TOPICS = {"topics", "topic_data", "v3_and_below_topics", "forgotten_topics_data"}


def _named(value: Any, of_list: str = "", field: str = "") -> Iterator[tuple[str, Any]]:
    """What each field of a request names, with its kind."""
    if isinstance(value, dict):
        has_name = "name" in value
        for name, each in value.items():
            if name != "topic_id" or not has_name:  # the name is enough
                yield from _named(each, of_list, name)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each, field, field)
    elif isinstance(value, UUID):
        yield "topics", f"id{value.int}"
    elif field in _KINDS:
        yield _KINDS[field], value
    elif field == "name" and of_list in _LISTS_OF_TOPICS:
        yield "topics", value
    elif field in ("topics", "groups") and isinstance(value, str):
        yield field, value


@pytest.mark.parametrize(("api_key", "version"), served())
def test_every_field_that_names_something_is_found(api_key: ApiKey, version: int) -> None:
    decoder = codec.decoder(codec.message_class(api_key, "Request"), version)
    request, _ = decoder(memoryview(body_of(api_key, version)), 0, None)
    found = subjects_of(api_key, version, request, lambda topic_id: f"id{topic_id.int}")
    missing = [
        (kind, name)
        for kind, name in _named(sample(api_key, version))
        if name not in getattr(found, kind)
    ]
    assert (api_key in _NAMES_NOTHING) or missing == []


# Their UUIDs are no ids of topics.
_NAMES_NOTHING = {
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
}


@pytest.mark.parametrize(("api_key", "version"), served())
def test_requests_name_nothing_beyond_the_kinds_of_their_api(api_key: ApiKey, version: int) -> None:
    decoder = codec.decoder(codec.message_class(api_key, "Request"), version)
    request, _ = decoder(memoryview(body_of(api_key, version)), 0, None)
    found = subjects_of(api_key, version, request, lambda topic_id: f"id{topic_id.int}")
    assert {kind for kind, names in found._asdict().items() if names} <= kinds_of(api_key)


def test_some_apis_name_nothing_of_a_kind() -> None:
    assert kinds_of(ApiKey.METADATA) == {"topics"}
    assert kinds_of(ApiKey.END_TXN) == {"transactional_ids", "producer_ids"}
    assert kinds_of(ApiKey.HEARTBEAT) == {"groups", "members"}
    assert kinds_of(ApiKey.LIST_GROUPS) == set()
    assert kinds_of(ApiKey.OFFSET_COMMIT) == {"topics", "partitions", "groups", "members"}

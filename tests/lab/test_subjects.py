"""What requests of the real codec name."""

from typing import Any
from uuid import UUID

import pytest

from ottla.lab.subjects import Subjects, subjects_of
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey

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

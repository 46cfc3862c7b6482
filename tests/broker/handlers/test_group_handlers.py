"""The APIs of groups while the group coordinator does not exist: their answers report it.

A broker is in this state until FindCoordinator creates `__consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.node import Node
from ottla.broker.requests.context import Context
from ottla.broker.requests.dispatch import api_of
from ottla.broker.runtime.groups.group_settings import group_settings
from ottla.broker.settings.config import BrokerConfig
from ottla.coordinator.classic.requests import GroupSettings
from ottla.metadata.records import EndPoint
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.protocol.messages import answer
from tests.broker.fakes import connection_info
from tests.clocks import LoopClock
from tests.requests import fields_of, request

COMMIT = {"partition_index": 1, "committed_offset": 5}
OFFSETS = [
    {"name": name, "partitions": [COMMIT], "partition_indexes": [1]}
    for name in ("orders", "missing")
]
MEMBER = {"group_id": "g", "member_id": "m", "group_instance_id": None, "generation_id": 1}
FIELDS: dict[ApiKey, dict[str, Any]] = {
    ApiKey.JOIN_GROUP: {
        **MEMBER, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer", "protocols": [],
    },
    ApiKey.SYNC_GROUP: {
        **MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": [],
    },
    ApiKey.HEARTBEAT: MEMBER,
    ApiKey.LEAVE_GROUP: {**MEMBER, "members": []},
    ApiKey.OFFSET_COMMIT: {
        **MEMBER, "generation_id_or_member_epoch": 1, "retention_time_ms": -1, "topics": OFFSETS,
    },
    ApiKey.TXN_OFFSET_COMMIT: {
        **MEMBER, "transactional_id": "t", "producer_id": 1, "producer_epoch": 0, "topics": OFFSETS,
    },
    ApiKey.OFFSET_DELETE: {
        "group_id": "g", "topics": [{"name": "orders", "partitions": [{"partition_index": 1}]}],
    },
    ApiKey.OFFSET_FETCH: {"group_id": "g", "topics": OFFSETS, "require_stable": False},
    ApiKey.DESCRIBE_GROUPS: {"groups": ["g"], "include_authorized_operations": True},
    ApiKey.DELETE_GROUPS: {"groups_names": ["g", "g"]},
    ApiKey.LIST_GROUPS: {"states_filter": [], "types_filter": []},
}  # fmt: skip

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask a node with one topic; the answer of the handler, or of dispatch to its refusal."""
    directory: Path = tmp_path_factory.mktemp("node")
    node = Node(BrokerConfig.from_settings({}), directory, LoopClock())
    node.controller.register_broker(1, [EndPoint("PLAINTEXT", "localhost", 9092, 0)])
    node.controller.create_topic("orders", partitions=2)

    def ask(api_key: ApiKey, version: int, **changed: Any) -> dict[str, Any]:
        context = Context(api_key, version, 1, "c", connection_info())
        fields = fields_of(api_key, version, FIELDS[api_key]) | changed
        handling = api_of(api_key).handler(node, context, request(api_key, version, **fields))
        try:
            handling.send(None)
        except StopIteration as done:
            body: dict[str, Any] = done.value
        except Refused as refused:
            body = {"error_code": refused.code}
        else:
            raise AssertionError("it waits")
        assert answer(api_key, version, 1, body), "every name is one of the response"
        return body

    yield ask
    node.close()


@pytest.mark.parametrize("version", range(10))
def test_join_group_names_the_member_and_no_generation(version: int, ask: Ask) -> None:
    body = ask(ApiKey.JOIN_GROUP, version)
    assert body["error_code"] is Code.NOT_COORDINATOR
    assert (body["member_id"], body["generation_id"], body["leader"]) == ("m", -1, "")
    assert body["protocol_name"] == (None if version >= 7 else ""), "null since version 7"


@pytest.mark.parametrize(
    ("api_key", "versions"),
    [
        (ApiKey.SYNC_GROUP, range(6)),
        (ApiKey.HEARTBEAT, range(5)),
        (ApiKey.LEAVE_GROUP, range(6)),
        (ApiKey.OFFSET_DELETE, range(1)),
    ],
)
def test_an_answer_with_one_error_code_reports_not_coordinator(
    api_key: ApiKey, versions: range, ask: Ask
) -> None:
    for version in versions:
        assert ask(api_key, version) == {"error_code": Code.NOT_COORDINATOR}


def test_sync_group_requires_the_protocol_since_version_5(ask: Ask) -> None:
    for missing in ("protocol_type", "protocol_name"):
        body = ask(ApiKey.SYNC_GROUP, 5, **{missing: None})
        assert body == {"error_code": Code.INCONSISTENT_GROUP_PROTOCOL}


@pytest.mark.parametrize(
    ("api_key", "versions"),
    [(ApiKey.OFFSET_COMMIT, range(2, 10)), (ApiKey.TXN_OFFSET_COMMIT, range(6))],
)
def test_commits_are_answered_for_each_partition(
    api_key: ApiKey, versions: range, ask: Ask
) -> None:
    for version in versions:
        assert ask(api_key, version)["topics"] == [
            partition("orders", Code.NOT_COORDINATOR),
            partition("missing", Code.UNKNOWN_TOPIC_OR_PARTITION),
        ]


def partition(topic: str, code: Code) -> dict[str, Any]:
    return {"name": topic, "partitions": [{"partition_index": 1, "error_code": code}]}


def test_a_commit_for_unknown_topics_alone_does_not_reach_the_coordinator(ask: Ask) -> None:
    topics = [{"name": "missing", "partitions": [COMMIT]}]
    body = ask(ApiKey.OFFSET_COMMIT, 9, topics=topics)
    assert body["topics"] == [partition("missing", Code.UNKNOWN_TOPIC_OR_PARTITION)]


def test_offset_fetch_of_version_1_answers_for_each_partition(ask: Ask) -> None:
    body = ask(ApiKey.OFFSET_FETCH, 1)
    assert "error_code" not in body
    for topic in body["topics"]:
        (place,) = topic["partitions"]
        assert (place["error_code"], place["committed_offset"]) == (Code.NOT_COORDINATOR, -1)


@pytest.mark.parametrize("version", range(2, 8))
def test_offset_fetch_answers_for_the_group(version: int, ask: Ask) -> None:
    assert ask(ApiKey.OFFSET_FETCH, version) == {"topics": [], "error_code": Code.NOT_COORDINATOR}


@pytest.mark.parametrize("version", [8, 9])
def test_offset_fetch_answers_for_each_group(version: int, ask: Ask) -> None:
    groups = [{"group_id": name, "topics": None} for name in ("g", "h")]
    assert ask(ApiKey.OFFSET_FETCH, version, groups=groups) == {
        "groups": [
            {"group_id": name, "topics": [], "error_code": Code.NOT_COORDINATOR}
            for name in ("g", "h")
        ]
    }


@pytest.mark.parametrize("version", range(7))
def test_describe_groups_answers_for_each_group(version: int, ask: Ask) -> None:
    assert ask(ApiKey.DESCRIBE_GROUPS, version, groups=["g", "h"]) == {
        "groups": [
            {
                "error_code": Code.NOT_COORDINATOR,
                "group_id": group_id,
                "group_state": "",
                "protocol_type": "",
                "protocol_data": "",
                "members": [],
            }
            for group_id in ("g", "h")
        ]
    }


def test_delete_groups_answers_once_for_a_group_named_twice(ask: Ask) -> None:
    assert ask(ApiKey.DELETE_GROUPS, 2) == {
        "results": [{"group_id": "g", "error_code": Code.NOT_COORDINATOR}]
    }


@pytest.mark.parametrize("version", range(6))
def test_list_groups_returns_no_groups(version: int, ask: Ask) -> None:
    assert ask(ApiKey.LIST_GROUPS, version) == {"groups": []}


def test_the_group_limits_come_from_the_configuration() -> None:
    assert group_settings(BrokerConfig.from_settings({})) == GroupSettings()
    changed = BrokerConfig.from_settings(
        {
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": "2",
            "group.initial.rebalance.delay.ms": "3",
            "group.max.size": "4",
            "offset.metadata.max.bytes": "5",
            "offsets.retention.minutes": "6",
            "offsets.retention.check.interval.ms": "7",
        }
    )
    assert group_settings(changed) == GroupSettings(
        min_session_timeout_ms=1,
        max_session_timeout_ms=2,
        initial_rebalance_delay_ms=3,
        max_size=4,
        offset_metadata_max_size=5,
        offsets_retention_ms=360_000,
        offsets_retention_check_interval_ms=7,
    )

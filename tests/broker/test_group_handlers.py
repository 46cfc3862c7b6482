"""The APIs of groups while nobody coordinates them: each says so where its answer has room for it.

A broker is in this state until FindCoordinator has made `__consumer_offsets`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from ottla.broker.requests.context import ConnectionInfo, Context
from ottla.broker.requests.dispatch import handler_of
from ottla.broker.runtime.coordinators import Coordinator
from ottla.broker.runtime.group_settings import group_settings
from ottla.broker.runtime.loading import Loading
from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.groups import Groups
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.protocol.messages import answer

NOBODY: Coordinator[Groups] = Coordinator(CONSUMER_OFFSETS, lambda partition: 1 / 0, Loading())  # type: ignore
CONNECTION = ConnectionInfo("here-there-1", "there:1", "there", ("localhost", 9092))
TOPICS = {"orders": SimpleNamespace(partitions=(0, 1), topic_id=UUID(int=1))}
NODE: Any = SimpleNamespace(
    groups=NOBODY,
    catalog=SimpleNamespace(topics=TOPICS),
    log_of=lambda topic, partition: object() if topic in TOPICS else None,
)
COMMIT = SimpleNamespace(
    partition_index=1, committed_offset=5, committed_leader_epoch=-1, committed_metadata=""
)
OFFSETS = [
    SimpleNamespace(name="orders", partitions=[COMMIT], partition_indexes=[1]),
    SimpleNamespace(name="missing", partitions=[COMMIT], partition_indexes=[1]),
]
REQUEST = SimpleNamespace(
    group_id="g", member_id="m", group_instance_id=None, generation_id=1,
    generation_id_or_member_epoch=1, retention_time_ms=-1, topics=OFFSETS, require_stable=False,
    protocol_type="consumer", protocol_name="range", protocols=[], assignments=[],
    session_timeout_ms=10_000, rebalance_timeout_ms=10_000, members=[],
    groups=["g"], groups_names=["g", "g"], include_authorized_operations=True,
    states_filter=[], types_filter=[], transactional_id="t", producer_id=1, producer_epoch=0,
)  # fmt: skip


def told(api_key: ApiKey, version: int, **changed: Any) -> dict[str, Any]:
    """What the handler answers, or what dispatch makes of its refusal."""
    context = Context(api_key, version, 1, "c", CONNECTION)
    request = SimpleNamespace(**{**vars(REQUEST), **changed})
    handling = handler_of(api_key)(NODE, context, request)
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


@pytest.mark.parametrize("version", range(10))
def test_join_group(version: int) -> None:
    body = told(ApiKey.JOIN_GROUP, version)
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
def test_those_with_an_error_of_the_whole_answer(api_key: ApiKey, versions: range) -> None:
    for version in versions:
        assert told(api_key, version) == {"error_code": Code.NOT_COORDINATOR}


def test_sync_group_wants_the_protocol_from_version_5_on() -> None:
    for missing in ("protocol_type", "protocol_name"):
        body = told(ApiKey.SYNC_GROUP, 5, **{missing: None})
        assert body == {"error_code": Code.INCONSISTENT_GROUP_PROTOCOL}


@pytest.mark.parametrize(
    ("api_key", "versions"),
    [(ApiKey.OFFSET_COMMIT, range(2, 10)), (ApiKey.TXN_OFFSET_COMMIT, range(6))],
)
def test_commits_are_answered_for_each_partition(api_key: ApiKey, versions: range) -> None:
    for version in versions:
        assert told(api_key, version)["topics"] == [
            partition("orders", Code.NOT_COORDINATOR),
            partition("missing", Code.UNKNOWN_TOPIC_OR_PARTITION),
        ]


def partition(topic: str, code: Code) -> dict[str, Any]:
    return {"name": topic, "partitions": [{"partition_index": 1, "error_code": code}]}


def test_a_commit_for_nothing_that_exists_asks_nobody() -> None:
    body = told(ApiKey.OFFSET_COMMIT, 9, topics=OFFSETS[1:])
    assert body["topics"] == [partition("missing", Code.UNKNOWN_TOPIC_OR_PARTITION)]


def test_offset_fetch_of_version_1_answers_for_each_partition() -> None:
    body = told(ApiKey.OFFSET_FETCH, 1)
    assert "error_code" not in body
    for topic in body["topics"]:
        (place,) = topic["partitions"]
        assert (place["error_code"], place["committed_offset"]) == (Code.NOT_COORDINATOR, -1)


@pytest.mark.parametrize("version", range(2, 8))
def test_offset_fetch_answers_for_the_group(version: int) -> None:
    assert told(ApiKey.OFFSET_FETCH, version) == {
        "topics": [],
        "error_code": Code.NOT_COORDINATOR,
    }


@pytest.mark.parametrize("version", [8, 9])
def test_offset_fetch_answers_for_each_group(version: int) -> None:
    groups = [SimpleNamespace(group_id=name, topics=None) for name in ("g", "h")]
    assert told(ApiKey.OFFSET_FETCH, version, groups=groups) == {
        "groups": [
            {"group_id": name, "topics": [], "error_code": Code.NOT_COORDINATOR}
            for name in ("g", "h")
        ]
    }


@pytest.mark.parametrize("version", range(7))
def test_describe_groups(version: int) -> None:
    assert told(ApiKey.DESCRIBE_GROUPS, version) == {
        "groups": [{"group_id": "g", "error_code": Code.NOT_COORDINATOR}]
    }


def test_delete_groups_names_each_once() -> None:
    assert told(ApiKey.DELETE_GROUPS, 2) == {
        "results": [{"group_id": "g", "error_code": Code.NOT_COORDINATOR}]
    }


@pytest.mark.parametrize("version", range(6))
def test_there_are_no_groups_to_list(version: int) -> None:
    assert told(ApiKey.LIST_GROUPS, version) == {"groups": []}


def test_the_limits_are_those_of_the_configuration() -> None:
    from ottla.broker.settings.config import BrokerConfig

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

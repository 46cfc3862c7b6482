"""The handlers of streams groups: what the node adds to the coordinator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.controller.creation_errors import CreationErrors
from ottla.metadata.catalog import ResourceType
from ottla.metadata.records import FeatureLevelRecord
from ottla.protocol.acls import AclResource, Operation
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, one_node
from tests.broker.rights import Rights
from tests.clocks import VirtualClock

WORDS = "words"
CHANGELOG = "words-counts-changelog"
MISSING_INTERNAL_TOPICS = 3
AT_ONCE = {"streams.initial.rebalance.delay.ms": "0", "streams.assignment.interval.ms": "0"}
Allowed = set[tuple[Operation, AclResource, str]]


SETTINGS = {"offsets_topic_num_partitions": "1"}


async def prepared(it: OneNode, **settings: str) -> None:
    """The source topic, the coordinator, and a group that does not wait."""
    it.topic("lines", 2)
    own = {**AT_ONCE, **{name.replace("_", "."): value for name, value in settings.items()}}
    it.node.controller.set_configs(ResourceType.GROUP, WORDS, own)
    for _ in range(3):
        found = await it.ask(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[WORDS])
        if not found["coordinators"][0]["error_code"]:
            break
        await asyncio.sleep(1)


def subtopology(*sources: str, changelog: str = CHANGELOG, **fields: Any) -> dict[str, Any]:
    info = {
        "name": changelog, "partitions": 0, "replication_factor": 0,
        "topic_configs": [{"key": "cleanup.policy", "value": "compact"}],
    }  # fmt: skip
    return {
        "subtopology_id": "0",
        "source_topics": list(sources or ["lines"]),
        "state_changelog_topics": [{**info, **fields}],
    }


async def beat(it: OneNode, epoch: int = 0, version: int = 1, **fields: Any) -> Any:
    """A heartbeat of member `m`, which owns nothing."""
    body: dict[str, Any] = {
        "group_id": WORDS, "member_id": "m", "member_epoch": epoch, "active_tasks": [],
        "standby_tasks": [], "warmup_tasks": [],
    }  # fmt: skip
    if epoch == 0:
        topology = {"epoch": 0, "subtopologies": [subtopology()]}
        body |= {"topology": topology, "rebalance_timeout_ms": 10_000, "process_id": "p"}
    return await it.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, version, **{**body, **fields})


async def describe(it: OneNode, *groups: str, version: int = 1, **fields: Any) -> list[Any]:
    body = {"group_ids": list(groups or [WORDS]), "include_authorized_operations": False}
    answer = await it.ask(ApiKey.STREAMS_GROUP_DESCRIBE, version, **body, **fields)
    found: list[Any] = answer["groups"]
    return found


def topology_of(*subtopologies: dict[str, Any]) -> dict[str, Any]:
    return {"epoch": 0, "subtopologies": list(subtopologies)}


async def test_the_broker_makes_internal_topics_and_the_next_heartbeat_has_tasks(
    it: OneNode,
) -> None:
    await prepared(it)
    first = await beat(it)
    assert [each["status_code"] for each in first["status"]] == [MISSING_INTERNAL_TOPICS]
    assert first["active_tasks"] == []
    made = it.node.catalog.topics[CHANGELOG]
    assert len(made.partitions) == 2
    overrides = it.node.catalog.overrides(ResourceType.TOPIC, CHANGELOG)
    assert dict(overrides) == {"cleanup.policy": "compact"}
    second = await beat(it, first["member_epoch"])
    assert second["active_tasks"] == [{"subtopology_id": "0", "partitions": [0, 1]}]
    assert (second["status"], second["acceptable_recovery_lag"]) == ([], 10_000)
    third = await beat(it, second["member_epoch"], version=0)
    assert third["active_tasks"] is None


async def test_a_member_leaves_with_an_answer_of_version_0_and_1(it: OneNode) -> None:
    await prepared(it)
    for version in (0, 1):
        await beat(it)
        left = await beat(it, -1, version)
        assert (left["error_code"], left["member_epoch"]) == (Code.NONE, -1)


async def test_streams_groups_are_refused_in_a_cluster_without_the_feature(it: OneNode) -> None:
    await prepared(it)
    it.node.controller._commit([FeatureLevelRecord("streams.version", 0)])
    assert (await beat(it))["error_code"] == Code.UNSUPPORTED_VERSION
    assert (await describe(it))[0]["error_code"] == Code.UNSUPPORTED_VERSION


async def test_streams_groups_are_refused_without_their_rebalance_protocol(tmp_path: Path) -> None:
    async with one_node(
        tmp_path, **SETTINGS, group_coordinator_rebalance_protocols="classic,consumer"
    ) as it:
        await prepared(it)
        assert (await beat(it))["error_code"] == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        (["a b", "lines"], "Topic names a b are not valid topic names."),
        (
            ["__consumer_offsets"],
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is "
            "prohibited.",
        ),
    ],
)
async def test_a_topology_with_a_topic_that_it_may_not_have_is_refused(
    it: OneNode, sources: list[str], why: str
) -> None:
    await prepared(it)
    answer = await beat(it, topology=topology_of(subtopology(*sources)))
    told = answer["error_code"], answer["error_message"]
    assert told == (Code.STREAMS_INVALID_TOPOLOGY, why)


async def test_the_next_heartbeat_says_why_an_internal_topic_was_not_made(it: OneNode) -> None:
    await prepared(it)
    bad = subtopology(topic_configs=[{"key": "no.such.thing", "value": "1"}])
    first = await beat(it, topology=topology_of(bad))
    missing = f"Internal topics are missing: {CHANGELOG}"
    assert [each["status_detail"] for each in first["status"]] == [missing]
    second = await beat(it, first["member_epoch"])
    why = f"; Creation failed: {CHANGELOG} (Unknown topic config name: no.such.thing)."
    assert [each["status_detail"] for each in second["status"]] == [missing + why]


@pytest.mark.real_time
async def test_a_failed_creation_is_tried_again_after_some_time() -> None:
    clock = VirtualClock()
    errors = CreationErrors(clock)
    assert errors.begin("a")
    assert not errors.begin("a"), "another request is at it"
    errors.put("a", "no space", 10_000)
    errors.end("a")
    assert not errors.begin("a")
    assert errors.of(["a", "b"]) == {"a": "no space"}
    await clock.advance_ms(10_000)
    assert errors.of(["a"]) == {}
    assert errors.begin("a")
    for number in range(2_000):
        errors.put(f"t{number}", "why", 1)
    assert len(errors.of(f"t{number}" for number in range(2_000))) == 1_000


async def test_a_group_is_described_with_its_topology_and_members(it: OneNode) -> None:
    await prepared(it)
    joined = await beat(it, client_tags=[{"key": "zone", "value": "a"}], rack_id="r")
    [raw] = await describe(it)
    assert raw["topology"]["subtopologies"][0]["state_changelog_topics"][0]["partitions"] == 0
    offsets = [{"subtopology_id": "0", "partition": 0, "offset": 5}]
    await beat(it, joined["member_epoch"], task_offsets=offsets)
    [group, unknown] = await describe(it, WORDS, "other", include_topology_description=True)
    assert (group["group_state"], group["assignor_name"]) == ("Stable", "sticky")
    assert group["topology_description_status"] == 1
    [described] = group["topology"]["subtopologies"]
    assert described["state_changelog_topics"][0]["partitions"] == 2
    [member] = group["members"]
    assert member["assignment"] == member["target_assignment"]
    assert member["assignment"]["active_tasks"] == [{"subtopology_id": "0", "partitions": [0, 1]}]
    assert (member["rack_id"], member["task_offsets"]) == ("r", offsets)
    assert member["client_tags"] == [{"key": "zone", "value": "a"}]
    assert unknown["error_code"] == Code.GROUP_ID_NOT_FOUND
    assert unknown["topology"] is None


async def test_a_group_has_settings_of_its_own(it: OneNode) -> None:
    await prepared(it, streams_heartbeat_interval_ms="8000")
    assert (await beat(it))["heartbeat_interval_ms"] == 8_000
    other = await beat(it, group_id="other")
    assert other["heartbeat_interval_ms"] == 5_000
    assert [each["status_code"] for each in other["status"]][:1] == [5], "it is delayed"


async def test_a_member_needs_its_rights(tmp_path: Path) -> None:
    allowed: Allowed = set()

    group, topic = AclResource.GROUP, AclResource.TOPIC
    async with one_node(tmp_path, **SETTINGS) as it:
        await prepared(it)
        it.node.authorizer = Rights(lambda *asked: asked in allowed)
        assert (await beat(it))["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        update = await it.ask(
            ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, group_id=WORDS, member_id="m",
            topology_epoch=0, topology_description={"subtopologies": [], "global_stores": []},
        )  # fmt: skip
        assert update["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        allowed.add((Operation.READ, group, WORDS))
        assert (await beat(it))["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
        allowed |= {(Operation.DESCRIBE, topic, name) for name in ("lines", CHANGELOG)}
        first = await beat(it)
        [status] = first["status"]
        assert status["status_detail"].endswith(f"; Unauthorized to CREATE on topics {CHANGELOG}.")
        assert CHANGELOG not in it.node.catalog.topics
        allowed.add((Operation.CREATE, topic, CHANGELOG))
        await beat(it, first["member_epoch"])
        assert CHANGELOG in it.node.catalog.topics

        assert (await describe(it))[0]["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        allowed.add((Operation.DESCRIBE, group, WORDS))
        assert (await describe(it))[0]["error_code"] == Code.NONE
        allowed.discard((Operation.DESCRIBE, topic, "lines"))
        [hidden] = await describe(it)
        assert hidden["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
        assert (hidden["members"], hidden["topology"]) == ([], None)


async def test_no_broker_stores_descriptions_of_topologies(it: OneNode) -> None:
    await prepared(it)
    answer = await it.ask(
        ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, group_id=WORDS, member_id="m",
        topology_epoch=0, topology_description={"subtopologies": [], "global_stores": []},
    )  # fmt: skip
    assert answer["error_code"] == Code.UNSUPPORTED_VERSION
    assert "plugin" in answer["error_message"]


async def test_a_group_of_another_kind_is_not_found(it: OneNode) -> None:
    await prepared(it)
    joined = await it.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, group_id=WORDS, member_id="c", member_epoch=0,
        rebalance_timeout_ms=1_000, subscribed_topic_names=["lines"], topic_partitions=[],
    )  # fmt: skip
    assert joined["error_code"] == Code.NONE
    refused = await beat(it)
    assert refused["error_code"] == Code.GROUP_ID_NOT_FOUND
    assert refused["error_message"] == f"Group {WORDS} is not a streams group."
    assert (await describe(it))[0]["error_code"] == Code.GROUP_ID_NOT_FOUND

"""CreateTopics of many topics in one request: few appends to the metadata log, all or none."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.events import MetadataDecisionAppended
from ottla.broker.scheduling.turns import set_slice_s
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, one_node
from tests.broker.several_nodes import several_nodes

pytestmark = pytest.mark.real_time

MANY = 60


def wanted(name: str, partitions: int = 1, **more: Any) -> dict[str, Any]:
    fields = {"num_partitions": partitions, "replication_factor": 1, "assignments": []}
    return {"name": name, **fields, "configs": [], **more}


async def create(it: OneNode, *topics: dict[str, Any], **more: Any) -> list[Any]:
    fields = {"topics": list(topics), "timeout_ms": 1000, "validate_only": False, **more}
    answer = await it.ask(ApiKey.CREATE_TOPICS, 7, **fields)
    return list(answer["topics"])


def decisions_of(it: OneNode) -> list[MetadataDecisionAppended]:
    """The decisions from now on, as they are appended."""
    seen: list[MetadataDecisionAppended] = []

    def observe(event: object) -> None:
        if isinstance(event, MetadataDecisionAppended):
            seen.append(event)

    it.node.events.add(observe)
    return seen


async def test_the_topics_of_a_slice_are_one_batch(tmp_path: Path) -> None:
    set_slice_s(math.inf)
    async with one_node(tmp_path) as it:
        decisions = decisions_of(it)
        answers = await create(it, *(wanted(f"t{number}") for number in range(MANY)))
        assert [each["error_code"] for each in answers] == [0] * MANY
        assert [len(each.records) for each in decisions] == [2 * MANY]
        assert [each["topic_id"] for each in answers] == [
            it.node.catalog.topics[f"t{number}"].topic_id for number in range(MANY)
        ]


async def test_no_topic_waits_for_the_next_slice_undecided(tmp_path: Path) -> None:
    """Another request that runs between two slices finds all topics of the first."""
    set_slice_s(0.0)
    async with one_node(tmp_path) as it:
        decisions = decisions_of(it)
        names = [f"t{number}" for number in range(4)]
        first = asyncio.create_task(create(it, *map(wanted, names)))
        second = asyncio.create_task(create(it, *map(wanted, reversed(names))))
        both = {each["name"]: [each["error_code"]] for each in await first}
        for each in await second:
            both[each["name"]].append(each["error_code"])
        assert all(sorted(codes) == [0, Code.TOPIC_ALREADY_EXISTS] for codes in both.values())
        assert [len(each.records) for each in decisions] == [2] * 4


async def test_a_batch_is_limited(tmp_path: Path) -> None:
    set_slice_s(math.inf)
    async with one_node(tmp_path) as it:
        decisions = decisions_of(it)
        await create(it, *(wanted(f"t{number}", 300) for number in range(4)))
        assert [len(each.records) for each in decisions] == [602, 602]


async def test_a_refused_topic_does_not_keep_the_others_from_creation(it: OneNode) -> None:
    answers = await create(it, wanted("a"), wanted("b", -2), wanted("."), wanted("c"))
    assert [each["error_code"] for each in answers] == [
        Code.NONE, Code.INVALID_PARTITIONS, Code.INVALID_TOPIC_EXCEPTION, Code.NONE
    ]  # fmt: skip
    assert list(it.node.catalog.topics) == ["a", "c"]


async def test_if_the_append_fails_no_topic_of_the_batch_is_created(tmp_path: Path) -> None:
    set_slice_s(math.inf)
    async with one_node(tmp_path) as it:
        (tmp_path / ".lock").unlink()
        answers = await create(it, wanted("a"), wanted("b", -2), wanted("c"))
        assert [each["error_code"] for each in answers] == [
            Code.KAFKA_STORAGE_ERROR, Code.INVALID_PARTITIONS, Code.KAFKA_STORAGE_ERROR
        ]  # fmt: skip
        assert not it.node.catalog.topics


async def test_validation_alone_creates_no_topic(it: OneNode) -> None:
    decisions = decisions_of(it)
    answers = await create(it, wanted("a"), wanted("b"), validate_only=True)
    assert [each["error_code"] for each in answers] == [0, 0]
    assert not decisions
    assert not it.node.catalog.topics


async def test_the_leaders_of_the_topics_of_a_batch_are_in_turn(tmp_path: Path) -> None:
    set_slice_s(math.inf)
    async with several_nodes(tmp_path) as it:
        names = [f"t{number}" for number in range(6)]
        topics = [wanted(name) for name in names]
        fields = {"topics": topics, "timeout_ms": 1000, "validate_only": False}
        await it.ask(min(it.nodes), ApiKey.CREATE_TOPICS, 7, **fields)
        leaders = [it.partition(name).leader_id for name in names]
        assert leaders == [*sorted(it.nodes), *sorted(it.nodes)]

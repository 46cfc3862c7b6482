"""Requests and answers with very many elements: fairness and memory."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests import dispatch
from ottla.broker.scheduling.large_requests import MOST_ELEMENTS, LargeRequests
from ottla.coordinator.groups import Groups
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Malformed
from tests.broker.one_node import OneNode, one_node, until

pytestmark = pytest.mark.real_time

MANY = MOST_ELEMENTS + 1


class Threads:
    """In which threads a function of the dispatch runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.names: list[str] = []
        real = getattr(dispatch, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            found = real(*args, **kwargs)
            self.names.append(threading.current_thread().name)
            return found

        monkeypatch.setattr(dispatch, name, watched)

    def is_the_loops(self) -> bool:
        (name,) = self.names
        return name == threading.main_thread().name


def missing_topics(count: int) -> list[dict[str, Any]]:
    return [{"topic_id": None, "name": f"t{number}"} for number in range(count)]


async def metadata_of(one: OneNode, count: int) -> list[dict[str, Any]]:
    answer = await one.ask(
        ApiKey.METADATA, 12, topics=missing_topics(count), allow_auto_topic_creation=False
    )
    found: list[dict[str, Any]] = answer["topics"]
    return found


@pytest.mark.parametrize(("count", "in_loop"), [(MANY - 1, True), (MANY, False)])
async def test_a_request_of_very_many_elements_is_decoded_outside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, in_loop: bool
) -> None:
    decoded = Threads(monkeypatch, "read_request")
    async with one_node(tmp_path) as one:
        told = await metadata_of(one, count)
    assert sorted(topic["name"] for topic in told) == sorted(f"t{n}" for n in range(count))
    assert {topic["error_code"] for topic in told} == {Code.UNKNOWN_TOPIC_OR_PARTITION}
    assert decoded.is_the_loops() == in_loop


async def test_a_request_of_very_many_elements_is_freed_outside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: dict[str, str] = {}

    def free(value: object) -> None:
        freed[type(value).__name__] = threading.current_thread().name

    monkeypatch.setattr(dispatch, "free_in_steps", free)
    async with one_node(tmp_path) as one:
        await metadata_of(one, MANY)
        await until(lambda: "MetadataRequest" in freed)
    assert freed["MetadataRequest"] != threading.main_thread().name


@pytest.mark.parametrize(("count", "in_loop"), [(MANY - 2, True), (MANY, False)])
async def test_an_answer_of_very_many_elements_is_encoded_outside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, in_loop: bool
) -> None:
    encoded = Threads(monkeypatch, "answer")
    async with one_node(tmp_path) as one:  # the broker itself is an element, too
        assert len(await metadata_of(one, count)) == count
    assert encoded.is_the_loops() == in_loop


async def test_a_small_request_with_a_large_answer_is_answered(it: OneNode) -> None:
    it.topic("wide", partitions=MANY)
    told = await it.ask(ApiKey.METADATA, 12, topics=None)
    assert [each["partition_index"] for each in told["topics"][0]["partitions"]] == [*range(MANY)]


async def test_a_large_request_that_is_cut_closes_its_connection(it: OneNode) -> None:
    data = it.frame(ApiKey.METADATA, 12, topics=missing_topics(MANY))
    with pytest.raises(Malformed, match="METADATA version 12: "):
        await it.answer_to(data[:-10])
    assert len(await metadata_of(it, MANY)) == MANY


async def test_large_requests_are_in_memory_one_at_a_time() -> None:
    large, begun, most = LargeRequests(), 0, 0
    may_end = asyncio.Event()

    async def handle() -> None:
        nonlocal begun, most
        leave = await large.enter()
        begun += 1
        most = max(most, begun)
        await may_end.wait()
        begun -= 1
        leave()

    handling = [asyncio.create_task(handle()) for _ in range(3)]
    await until(lambda: begun == 1)
    may_end.set()
    await asyncio.gather(*handling)
    assert most == 1


async def test_while_a_large_request_is_handled_no_full_garbage_collection_runs() -> None:
    before = gc.get_threshold()
    leave = await LargeRequests().enter()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > 1_000_000
    leave()
    assert gc.get_threshold() == before


async def test_a_large_fetch_that_waits_keeps_no_other_large_request_waiting(it: OneNode) -> None:
    it.topic("wide", partitions=MANY)
    partitions = [
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1000}
        for index in range(MANY)
    ]
    _, waiting = it.begin(
        ApiKey.FETCH, 12, topics=[{"topic": "wide", "partitions": partitions}],
        max_wait_ms=1_000_000, min_bytes=1, max_bytes=1000,
    )  # fmt: skip
    assert isinstance(waiting, asyncio.Future)
    assert len(await metadata_of(it, MANY)) == MANY
    assert not waiting.done()
    waiting.cancel()


async def test_a_large_fetch_is_answered_with_records_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop encodes it in slices: a thread must not free the range of a file."""
    encoded = Threads(monkeypatch, "fetch_answer_in_steps")
    async with one_node(tmp_path) as one:
        one.topic("wide", partitions=MANY)
        for index in (0, 700, MANY - 1):
            one.append("wide", b"v" * 300_000, partition=index)  # more than is read at once
        partitions = [
            {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
            for index in range(MANY)
        ]
        told = await one.ask(
            ApiKey.FETCH, 12, topics=[{"topic": "wide", "partitions": partitions}],
            max_wait_ms=0, min_bytes=0, max_bytes=10_000_000, session_epoch=-1,
        )  # fmt: skip
    answered = told["responses"][0]["partitions"]
    assert [each["partition_index"] for each in answered] == [*range(MANY)]
    assert [each["partition_index"] for each in answered if each["records"]] == [0, 700, MANY - 1]
    assert encoded.is_the_loops()


async def test_more_offsets_than_a_batch_has_room_for_are_refused_without_making_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka: UNKNOWN_SERVER_ERROR, and a refusal of the group comes first."""
    decided: list[int] = []
    real = Groups.commit

    def commit(self: Groups, group_id: str, committer: Any, offsets: Any, **more: Any) -> Any:
        decided.append(len(offsets))
        return real(self, group_id, committer, offsets, **more)

    monkeypatch.setattr(Groups, "commit", commit)
    settings = {"offsets_topic_num_partitions": "1"}
    async with one_node(tmp_path, **settings) as one:
        one.topic("orders")
        one.node.controller.create_internal_topic("__consumer_offsets")
        most = one.log("__consumer_offsets").config.max_message_bytes // 43

        async def committed(count: int, member_id: str = "") -> set[int]:
            partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
            answer = await one.ask(
                ApiKey.OFFSET_COMMIT, 8, group_id="g", member_id=member_id,
                generation_id_or_member_epoch=1 if member_id else -1, group_instance_id=None,
                topics=[{"name": "orders", "partitions": [partition] * count}],
            )  # fmt: skip
            return {part["error_code"] for part in answer["topics"][0]["partitions"]}

        assert await committed(most + 1) == {Code.UNKNOWN_SERVER_ERROR}
        assert await committed(most + 1, "stranger") == {Code.ILLEGAL_GENERATION}
        assert await committed(1) == {Code.NONE}
    assert decided == [0, 0, 1]

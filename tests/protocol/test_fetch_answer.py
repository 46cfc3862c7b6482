"""A Fetch's answer in pieces is, put together, what the codec writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import Bytes
from ottla.protocol.errors import Code
from ottla.protocol.fetch_answer import (
    PARTITIONS_IN_A_STEP,
    Pieces,
    encode_fetch_answer,
    fetch_answer_in_steps,
)
from ottla.protocol.messages import answer
from tests.protocol.pieces import joined

VERSIONS = range(HANDLERS[ApiKey.FETCH].lowest, HANDLERS[ApiKey.FETCH].highest + 1)
every_version = pytest.mark.parametrize("version", VERSIONS)


def body(
    seed: int, version: int, sizes: tuple[int, ...] = (0, 1, 61, 126, 127, 128, 70_000)
) -> Any:
    """A random answer of the Fetch handler."""
    draw = Random(seed)

    def records() -> Bytes:
        data = draw.randbytes(draw.choice(sizes))
        forms: list[Bytes] = [data, bytearray(data), memoryview(data)]
        return draw.choice(forms)

    def aborted() -> list[dict[str, int]] | None:
        if draw.random() < 0.4:
            return None
        return [
            {"producer_id": draw.randrange(1 << 60), "first_offset": draw.randrange(1 << 60)}
            for _ in range(draw.choice([0, 1, 3, 200]))
        ]

    def partition() -> dict[str, Any]:
        made: dict[str, Any] = {
            "partition_index": draw.randrange(1 << 31),
            "error_code": draw.choice(list(Code)),
            "high_watermark": draw.randrange(-1, 1 << 60),
            "last_stable_offset": draw.randrange(-1, 1 << 60),
            "log_start_offset": draw.randrange(-1, 1 << 60),
            "aborted_transactions": aborted(),
            "preferred_read_replica": -1,
            "records": records(),
        }
        if version >= 12 and draw.random() < 0.4:
            made["diverging_epoch"] = {"epoch": draw.randrange(9), "end_offset": draw.randrange(9)}
        if version >= 12 and draw.random() < 0.4:
            made["current_leader"] = {"leader_id": draw.randrange(9), "leader_epoch": 7}
        return made

    def topic() -> dict[str, Any]:
        name = {"topic": draw.choice(["t", "", "x" * 249, "Größe"])}
        named = {"topic_id": uuid.UUID(int=draw.randrange(1, 1 << 128))} if version > 12 else name
        return {**named, "partitions": [partition() for _ in range(draw.choice([0, 1, 2, 130]))]}

    def endpoint() -> dict[str, Any]:
        return {
            "node_id": draw.randrange(1 << 31),
            "host": draw.choice(["127.0.0.1", "x" * 200]),
            "port": draw.randrange(1 << 16),
            "rack": draw.choice([None, "", "r" * 130]),
        }

    endpoints = [endpoint() for _ in range(draw.choice([1, 3]))]
    return {
        **({"node_endpoints": endpoints} if version >= 16 and draw.random() < 0.4 else {}),
        "error_code": draw.choice(list(Code)) if version >= 7 else 0,
        "session_id": draw.randrange(1 << 31) if version >= 7 else 0,
        "responses": [topic() for _ in range(draw.choice([0, 1, 2, 3]))],
    }


@every_version
def test_the_pieces_equal_the_output_of_the_codec(version: int) -> None:
    for seed in range(12):
        said = body(seed, version)
        expected = answer(ApiKey.FETCH, version, 1000 + seed, said)
        assert joined(encode_fetch_answer(version, 1000 + seed, said)) == expected, seed


@every_version
def test_an_answer_encoded_in_steps_is_the_same(version: int) -> None:
    for seed in range(12):
        said = body(seed, version)
        encoded: list[Pieces] = []

        def steps(said: Any = said, seed: int = seed) -> Iterator[None]:
            encoded.append((yield from fetch_answer_in_steps(version, seed, said)))  # noqa: B023

        count = len([*steps()])
        assert joined(encoded[0]) == joined(encode_fetch_answer(version, seed, said)), seed
        partitions = sum(len(topic["partitions"]) for topic in said["responses"])
        assert count >= partitions // PARTITIONS_IN_A_STEP


@every_version
def test_more_than_127_topics_are_counted_in_two_bytes(version: int) -> None:
    topic = {"topic_id": uuid.UUID(int=1)} if version >= 13 else {"topic": "t"}
    said = {"responses": [{**topic, "partitions": []}] * 200}
    assert joined(encode_fetch_answer(version, 7, said)) == answer(ApiKey.FETCH, version, 7, said)


@every_version
def test_an_answer_with_an_error_alone_equals_the_output_of_the_codec(version: int) -> None:
    said: dict[str, Any] = {"error_code": Code.INVALID_FETCH_SESSION_EPOCH, "session_id": 0}
    said["responses"] = []
    assert joined(encode_fetch_answer(version, 7, said)) == answer(ApiKey.FETCH, version, 7, said)


def test_records_are_not_copied() -> None:
    said = body(3, 12, sizes=(5000,))
    records = [each["records"] for topic in said["responses"] for each in topic["partitions"]]
    pieces = encode_fetch_answer(12, 7, said)
    assert len(records) > 1
    found = [piece for piece in pieces if any(piece is each for each in records)]
    assert [id(piece) for piece in found] == [id(each) for each in records]

"""A Produce's answer made by hand is what the codec writes, or is left to the codec."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer
from ottla.protocol.produce_answer import encode_produce_answer

SERVED = HANDLERS[ApiKey.PRODUCE]
every_version = pytest.mark.parametrize("version", range(SERVED.closed_below, SERVED.highest + 1))


def partition(draw: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "index": draw.randrange(1 << 31),
        "base_offset": draw.randrange(-1, 1 << 60),
        "log_append_time_ms": draw.randrange(-1, 1 << 60),
        "log_start_offset": draw.randrange(-1, 1 << 60),
    }
    if draw.random() < 0.5:
        made |= {"error_code": draw.choice(list(Code)), "error_message": None}
    return made


def body(seed: int, version: int) -> Any:
    """A random answer of the Produce handler without messages."""
    draw = Random(seed)

    def topic() -> dict[str, Any]:
        named: dict[str, Any] = {"name": draw.choice(["t", "", "x" * 249, "Größe"])}
        if version >= 13:
            named = {"topic_id": draw.choice([None, uuid.UUID(int=draw.randrange(1, 1 << 128))])}
        count = draw.choice([0, 1, 2, 130])
        return {**named, "partition_responses": [partition(draw) for _ in range(count)]}

    return {"responses": [topic() for _ in range(draw.choice([0, 1, 2, 140]))]}


@every_version
def test_the_direct_encoder_agrees_with_the_codec(version: int) -> None:
    for seed in range(12):
        said = body(seed, version)
        expected = answer(ApiKey.PRODUCE, version, 1000 + seed, said)
        assert encode_produce_answer(version, 1000 + seed, said) == expected, seed


@pytest.mark.parametrize(
    "words",
    [
        {"error_message": "why"},
        {"record_errors": [{"batch_index": 3, "batch_index_error_message": "why"}]},
        {"current_leader": {"leader_id": 2, "leader_epoch": 5}},
    ],
    ids=lambda words: next(iter(words)),
)
def test_an_answer_with_messages_is_left_to_the_codec(words: dict[str, Any]) -> None:
    said = {"name": "t", "partition_responses": [partition(Random(1)) | words]}
    assert encode_produce_answer(11, 7, {"responses": [said]}) is None

"""A ShareFetch's answer in pieces is, put together, what the codec writes."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer
from ottla.protocol.share_fetch_answer import encode_share_fetch_answer
from tests.protocol.pieces import joined


def body(seed: int) -> Any:
    """A random answer of the ShareFetch handler."""
    draw = Random(seed)

    def text() -> str | None:
        return draw.choice([None, "", "why not", "ü" * 200])

    def partition() -> dict[str, Any]:
        return {
            "partition_index": draw.randrange(1 << 31),
            "error_code": draw.choice(list(Code)),
            "error_message": text(),
            "acknowledge_error_code": draw.choice(list(Code)),
            "acknowledge_error_message": text(),
            "current_leader": {"leader_id": draw.randrange(9), "leader_epoch": -1},
            "records": memoryview(draw.randbytes(draw.choice([0, 1, 61, 126, 127, 70_000]))),
            "acquired_records": [
                {
                    "first_offset": draw.randrange(1 << 60),
                    "last_offset": draw.randrange(1 << 60),
                    "delivery_count": draw.randrange(1 << 15),
                }
                for _ in range(draw.choice([0, 1, 200]))
            ],
        }

    return {
        "acquisition_lock_timeout_ms": draw.randrange(1 << 31),
        "responses": [
            {
                "topic_id": uuid.UUID(int=draw.randrange(1 << 128)),
                "partitions": [partition() for _ in range(draw.choice([0, 1, 3, 70]))],
            }
            for _ in range(draw.randrange(3))
        ],
        "node_endpoints": [
            {"node_id": 1, "host": "broker", "port": 9092, "rack": draw.choice([None, "r"])}
            for _ in range(draw.randrange(3))
        ],
    }


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_the_pieces_equal_the_answer_of_the_codec(version: int, seed: int) -> None:
    said = body(seed)
    pieces = encode_share_fetch_answer(7, said)
    assert joined(pieces) == bytes(answer(ApiKey.SHARE_FETCH, version, 7, said))

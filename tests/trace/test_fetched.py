"""The records of an answer to Fetch count from the offset on that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.trace.fetched import fetched
from ottla.trace.words import got

ID = "cCsVWBpTTomTG9JCF8rNZQ"


def request(offset: int, **topic: str) -> dict[str, Any]:
    return {"topics": [{**topic, "partitions": [{"partition": 0, "fetch_offset": offset}]}]}


def answer(topic: str, base: int, last: int, records: int) -> dict[str, Any]:
    batch = {
        "topic": topic, "partition": 0, "base_offset": base, "last_offset": last,
        "records": records,
    }  # fmt: skip
    part = {"partition_index": 0, "records": "<90 bytes>"}
    return {"batches": [batch, "... 3 more"], "responses": [{"topic": topic, "partitions": [part]}]}


@pytest.mark.parametrize("topic", ["orders", ID])
@pytest.mark.parametrize(
    ("asked", "first", "earlier"), [(0, 0, 0), (2, 2, 2), (5, 5, 5), (9, 5, 5)]
)
def test_a_batch_counts_from_the_offset_that_was_asked_for(
    topic: str, asked: int, first: int, earlier: int
) -> None:
    of = {"topic_id": ID} if topic == ID else {"topic": topic}
    (found,) = fetched(request(asked, **of), answer(topic, 0, 5, 6), {ID: "orders"})
    assert found.place == ("orders", 0)
    assert (found.first, found.last, found.earlier) == (first, 5, earlier)
    assert found.records == 6 - earlier
    assert not found.has_gaps


def test_a_partition_that_a_session_does_not_name_again_counts_whole() -> None:
    (found,) = fetched({"topics": []}, answer("orders", 3, 5, 3), {})
    assert (found.first, found.earlier, found.records) == (3, 0, 3)


@pytest.mark.parametrize(
    ("asked", "records", "words"),
    [
        (0, 6, "orders-0 90 B (6 records to 5)"),
        (4, 6, "orders-0 90 B (2 records to 5, after 4 earlier in the batch)"),
        (4, 3, "orders-0 90 B (3 records to 5, some of them before 4)"),
    ],
)
def test_words_say_how_many_records_are_earlier(asked: int, records: int, words: str) -> None:
    response = answer("orders", 0, 5, records)
    assert got("Fetch", 4, response, {}, request=request(asked, topic="orders")) == words


def test_an_open_transaction_that_holds_readers_up_is_seen_by_both_ends() -> None:
    part = {"partition_index": 0, "high_watermark": 6, "last_stable_offset": 2}
    response = {"responses": [{"topic": "orders", "partitions": [part]}]}
    held = "orders-0 last stable offset 2, high watermark 6"
    assert got("Fetch", 4, response, {}) == held
    part["last_stable_offset"] = 6
    assert got("Fetch", 4, response, {}) == "no records"

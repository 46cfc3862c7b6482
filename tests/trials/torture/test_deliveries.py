"""The deliveries of a share group are bounded; a trace shows each of them."""

from __future__ import annotations

from ottla.trace.events import Answer
from ottla.trials.torture.checks import DELIVERIES, Place
from ottla.trials.torture.deliveries import judge_deliveries


def test_a_record_beyond_the_limit_is_found() -> None:
    acquired = [
        {"first_offset": 3, "last_offset": 3, "delivery_count": 5},
        {"first_offset": 4, "last_offset": 4, "delivery_count": 6},
    ]
    partition = {"partition_index": 1, "acquired_records": acquired}
    response = {"responses": [{"topic_id": "i", "partitions": [partition]}]}
    answer = Answer(seq=1, at_ms=0, cause=0, api="ShareFetch", response=response)
    (found,) = judge_deliveries([answer], limit=5)
    assert (found.kind, found.text) == (DELIVERIES, "i-1 at 4 is delivered 6 times")
    assert found.input == (Place("i", 1, 4),)
    assert not [*judge_deliveries([answer], limit=6)]

"""What each step of the broker shows to the match of a rule, and matches that it never shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args, get_type_hints

import pytest

from ottla.lab.actions.rule_checks import SHOWN_BY
from ottla.lab.rules.rule import Crash
from ottla.testing import Ottla
from ottla.testing.lab import LabRefused

from .actors import Librdkafka
from .crash_points import FEW, OLD_MS, begin_old_segment

pytestmark = pytest.mark.clients
POINTS = get_args(get_type_hints(Crash)["point"])
NEVER = 1_000_000
"""A rule with it counts what it matches, and kills nothing."""


def topic_of(point: str) -> str:
    step = point.removeprefix("before_")
    if step in ("group_append", "offsets_materialized"):
        return "__consumer_offsets"
    if step == "complete_append":  # whose record has no partitions any more
        return "__transaction_state"
    return "compacted" if step == "swap" else "orders"


def test_each_step_shows_all_that_a_rule_may_match() -> None:
    with Ottla(settings=FEW) as broker:
        begin_old_segment(broker, "orders")
        compacts = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        broker.create_topic("compacted", configs={**compacts, "segment.ms": "60000"})
        client = Librdkafka()
        client.open(broker, "shop")
        client.begin()
        (shop,) = broker.transactions()
        right = {
            "node_id": 1, "partition": 0, "transactional_id": "shop", "group": "readers",
            "producer_id": shop.producer_id,
        }  # fmt: skip
        rules = {
            (point, field): (
                counting(broker, point, {field: (right | {"topic": topic_of(point)})[field]}),
                counting(broker, point, {field: WRONG[field]} if field in WRONG else None),
            )
            for point in POINTS
            for field in SHOWN_BY[point.removeprefix("before_")]
        }
        client.send("orders", "x")
        client.flush()
        client.offset("readers", "orders", 7)
        client.commit()
        client.close()
        for number in range(3):
            broker.produce(
                "compacted", [{"key": "k", "value": f"{number}", "timestamp_ms": OLD_MS}]
            )
        broker.produce("compacted", [("other", "last")])
        last = rules["swap", "partition"][0]
        broker.wait_for(lambda: by_id(broker)[last]["matched"])
        shown = by_id(broker)
        assert [each for each, (seen, _) in rules.items() if not shown[seen]["matched"]] == []
        assert [each for each, (_, no) in rules.items() if no and shown[no]["matched"]] == []


WRONG: dict[str, object] = {"partition": 9, "transactional_id": "bank", "group": "writers"}
WRONG["producer_id"] = 10**9


def counting(broker: Ottla, point: str, match: dict[str, Any] | None) -> int:
    """The id of a rule that kills nothing; 0 without a match."""
    if match is None:
        return 0
    return broker.faults.add("crash", point=point, match={**match, "nth": NEVER}).number


def by_id(broker: Ottla) -> dict[int, Any]:
    return {each["id"]: each for each in broker.faults}


def test_the_answer_to_an_end_is_that_of_its_transaction() -> None:
    """Another transaction is decided while the first answer waits for the disk."""
    with Ottla(settings=FEW | {"log.flush.interval.messages": "1"}) as broker:
        broker.create_topic("orders")
        clients = {name: Librdkafka() for name in ("first", "second")}
        for name, client in clients.items():
            client.open(broker, name)
            client.begin()
            client.send("orders", name)
            client.flush()
        of_log = {"topic": "__transaction_state", "times": 1}
        slow = broker.faults.add("disk", error="slow_fsync", ms=60_000, match=of_log)
        counted = {
            name: counting(broker, "prepare_answer", {"transactional_id": name}) for name in clients
        }
        with ThreadPoolExecutor(2) as threads:
            ends = [threads.submit(clients["first"].commit)]
            slow.wait_fired()
            decided = counting(broker, "prepare_append", {"transactional_id": "second"})
            ends.append(threads.submit(clients["second"].commit))
            broker.wait_for(lambda: by_id(broker)[decided]["matched"])
            slow.remove()
            for each in ends:
                each.result(30)
        assert [by_id(broker)[each]["matched"] for each in counted.values()] == [1, 1]


@pytest.mark.parametrize(
    ("point", "match", "why"),
    [
        ("marker", {"group": "g"}, "crash at marker acts on steps of the broker, which"),
        ("swap", {"transactional_id": "t"}, "match.transactional_id"),
        ("before_segment_roll", {"producer_id": 1}, "match.producer_id"),
        ("group_append", {"topic": "orders"}, "is a step in __consumer_offsets"),
        ("before_offsets_materialized", {"topic": "o*"}, "is a step in __consumer_offsets"),
        ("complete_append", {"topic": "orders"}, "is a step in __transaction_state"),
        ("produce_append", {"topic": "__consumer_offsets"}, "no producer writes to"),
    ],
)
def test_a_match_that_a_step_never_shows_is_refused(
    point: str, match: dict[str, Any], why: str, broker: Ottla
) -> None:
    with pytest.raises(LabRefused, match=why):
        broker.faults.add("crash", point=point, match=match)

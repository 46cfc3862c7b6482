"""Members of the newer kinds of groups that a timer removes are said, with their last request."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.picture.findings.find import findings_in
from ottla.trace.events import Decision

from .traces import Trace


def texts(trace: Trace) -> list[str]:
    return [each.text for each in findings_in(trace.events)]


def beat(trace: Trace, epoch: int, api: str = "ConsumerGroupHeartbeat") -> int:
    fields = {"group_id": "g", "member_id": "m", "member_epoch": epoch}
    return trace.call("worker", api, fields, heartbeat_interval_ms=5000, member_epoch=1)


def remove(trace: Trace, kind: str, key: int, *, by_timer: bool = True) -> int:
    """The decision that removes the member `m`."""
    field = "member_id" if kind == "ShareRemoved" else "name"
    record: dict[str, Any] = {"type": kind, "kind": key, "group_id": "g", field: "m"}
    others = [{**record, "kind": key + 1}, "... 3 more"]
    event = Decision(topic="__consumer_offsets", by_timer=by_timer, records=[record, *others])
    return trace.add(event)


@pytest.mark.parametrize(
    ("kind", "key", "setting"),
    [
        ("ConsumerRemoved", 5, "group.consumer.session.timeout.ms"),
        ("ShareRemoved", 10, "group.share.session.timeout.ms"),
        ("StreamsRemoved", 19, "group.streams.session.timeout.ms"),
    ],
)
def test_a_silent_member_is_said_with_its_last_heartbeat(kind: str, key: int, setting: str) -> None:
    trace = Trace()
    beat(trace, 0)
    last = beat(trace, 1)
    trace.wait(45_000)
    removed = remove(trace, kind, key)
    (found,) = findings_in(trace.events)
    assert found.text == (
        f"Group g lost a member: no heartbeat of worker after #{last} came within {setting}:"
        f" it was silent for 45.0 s, so its partitions were taken away (#{removed})"
    )
    assert found.seq == removed


def test_a_member_that_holds_on_to_partitions_is_not_called_silent() -> None:
    trace = Trace()
    last = beat(trace, 1)
    trace.wait(4000)
    removed = remove(trace, "ConsumerRemoved", 5)
    assert texts(trace) == [
        f"Group g lost a member: worker after #{last} did not give up partitions within its"
        f" rebalance timeout, so its partitions were taken away (#{removed})"
    ]


def test_a_static_member_that_stays_away_is_said_so() -> None:
    trace = Trace()
    last = beat(trace, -2)
    trace.wait(45_000)
    remove(trace, "ConsumerRemoved", 5)
    (text,) = texts(trace)
    assert f"worker after #{last} left for a while, and did not come back within group." in text


def test_a_member_that_the_trace_does_not_know_has_its_id() -> None:
    trace = Trace()
    remove(trace, "ConsumerRemoved", 5)
    (text,) = texts(trace)
    assert text.startswith("Group g lost a member: a timer removed m, so")


def test_a_member_that_leaves_is_not_lost() -> None:
    trace = Trace()
    beat(trace, 1)
    beat(trace, -1)
    remove(trace, "ConsumerRemoved", 5, by_timer=False)
    assert texts(trace) == []


def test_a_member_that_waits_for_its_answer_is_not_silent() -> None:
    trace = Trace()
    fields = {"group_id": "g", "member_id": "m", "session_timeout_ms": 6000}
    asked = trace.ask("slow", "JoinGroup", **fields)
    trace.wait(9000)
    trace.answer(asked, member_id="m", generation_id=1)
    trace.wait(1000)
    trace.move_group(0, "g", "Stable", "PreparingRebalance")
    (text,) = texts(trace)
    assert "no heartbeat came within session.timeout.ms, so" in text

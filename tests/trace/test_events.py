"""The lines of a trace as structs, and back: older and newer ones, broken and cut ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.trace.events import (
    Answer,
    BrokenTrace,
    Fault,
    Other,
    Request,
    event_of,
    fields_of,
    kind_of,
)
from ottla.trace.reader import TraceFollower, of_one_broker, read_objects, read_trace

REQUEST: dict[str, Any] = {
    "seq": 1, "at_ms": 5, "kind": "request", "node_id": 1, "connection": "c", "listener": None,
    "principal": None, "client_id": None, "api": "EndTxn", "version": 4, "correlation_id": 7,
    "request": {"transactional_id": "shop"},
}  # fmt: skip
ANSWER = {"seq": 2, "at_ms": 6, "kind": "answer", "cause": 1, "api": "EndTxn", "took_us": 3}
LINES: list[dict[str, Any]] = [
    REQUEST,
    REQUEST | {"undecoded": "it is broken"},
    ANSWER,
    ANSWER | {"response": {"error_code": 0}},
    ANSWER | {"error": "NOT_COORDINATOR"},
    ANSWER | {"unanswered": "the connection is closed"},
    {"seq": 3, "at_ms": 6, "kind": "answer_without_request", "connection": "c", "bytes": 9},
    {"seq": 3, "at_ms": 6, "kind": "fault", "id": 1, "name": "", "action": {"kind": "hold"}},
    {
        "seq": 3, "at_ms": 6, "kind": "fault", "id": 1, "name": "mine", "action": {"kind": "hold"},
        "node_id": 2,
    },
    {
        "seq": 3, "at_ms": 6, "kind": "fault", "id": 1, "name": "", "action": {"kind": "hold"},
        "added_by": "test_shop.py:3", "added_at_ms": 5,
    },
    {
        "seq": 3, "at_ms": 6, "kind": "rule_added", "id": 1, "name": "", "match": {"api": "Fetch"},
        "action": {"kind": "hold"}, "added_by": "",
    },
    {"seq": 3, "at_ms": 6, "kind": "rule_removed", "id": 1, "fired": 2},
    {"seq": 4, "at_ms": 6, "kind": "clock_jumped", "by_ms": 4},
]  # fmt: skip


def text(*lines: dict[str, Any]) -> list[str]:
    return [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]


@pytest.mark.parametrize("line", LINES)
def test_an_event_becomes_its_line_again(line: dict[str, Any]) -> None:
    (read,) = read_trace(text(line))
    for event in (read, event_of(line)):
        assert json.dumps(fields_of(event)) == json.dumps(line), "in the same order"
        assert kind_of(event) == line["kind"]


def test_a_line_of_an_older_version_lacks_fields() -> None:
    old = {"seq": 1, "at_ms": 5, "kind": "request", "api": "EndTxn", "version": 4}
    assert event_of(old) == Request(seq=1, at_ms=5, api="EndTxn", version=4)
    assert event_of({"seq": 1, "at_ms": 5, "kind": "answer"}) == Answer(seq=1, at_ms=5)


def test_a_line_of_a_newer_version_has_fields_that_are_not_known() -> None:
    new = REQUEST | {"mood": "good"}
    assert event_of(new) == event_of(REQUEST)
    assert [*read_trace(text(new))] == [event_of(REQUEST)]
    assert [*read_objects(text(new))] == [new]


def test_an_event_of_a_kind_that_is_not_known_keeps_its_fields() -> None:
    (event,) = read_trace(text({"seq": 3, "at_ms": 6, "kind": "new", "cause": 1, "fields": [2]}))
    assert event == Other(seq=3, at_ms=6, cause=1, kind="new", fields={"fields": [2]})


@pytest.mark.parametrize(
    "broken",
    [
        "no JSON",
        "[]",
        "{}",
        '{"kind": []}',
        json.dumps({**ANSWER, "seq": 0}),
        json.dumps({**REQUEST, "version": "4"}),
        json.dumps({name: REQUEST[name] for name in ("seq", "at_ms", "kind")}),
        json.dumps({**ANSWER, "kind": "new", "at_ms": "now"}),
    ],
)
@pytest.mark.parametrize("read", [read_trace, read_objects])
def test_a_broken_line_is_named(read: Any, broken: str) -> None:
    lines = [*text(REQUEST), f"{broken}\n", *text(ANSWER)]
    with pytest.raises(BrokenTrace, match="line 2 is no event of a trace"):
        list(read(lines))
    with pytest.raises(BrokenTrace, match="line 2 is no event of a trace"):
        list(read(lines[:2]))  # it is whole, and no event
    with pytest.raises(BrokenTrace, match="line 1 is no event of a trace"):
        list(read(lines[1:2]))


@pytest.mark.parametrize("rest", [0, 1, 9, 40])
@pytest.mark.parametrize("read", [read_trace, read_objects])
def test_a_last_line_that_is_cut_is_left_out(read: Any, rest: int) -> None:
    """A broker that is killed writes a part of it, which begins as an event does."""
    cut = json.dumps(ANSWER)[:rest]
    for last in (cut, cut.encode(), cut if cut else "\n"):
        assert len(list(read([*text(REQUEST), last]))) == 1


def test_a_text_that_is_no_unicode_is_read_as_it_was_written() -> None:
    line = {"seq": 1, "at_ms": 1, "kind": "fault", "id": 1, "name": "\udcff", "action": {}}
    (event,) = read_trace([json.dumps(line)])
    assert event == Fault(seq=1, at_ms=1, id=1, name="\udcff", action={})


def test_the_events_of_two_brokers_are_no_trace_of_one() -> None:
    events = [event_of(REQUEST), event_of(ANSWER), event_of(REQUEST)]
    assert list(of_one_broker(events[:2])) == events[:2]
    with pytest.raises(BrokenTrace, match="another trace begins in it: seq 1 is behind 2"):
        list(of_one_broker(events))


def test_a_follower_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    follower = TraceFollower(file)
    assert list(follower.read_new()) == []
    first, second = text(REQUEST, ANSWER)
    file.write_text(first + second[:20])
    assert list(follower.read_new()) == [event_of(REQUEST)]
    file.write_text(first + second)
    assert list(follower.read_new()) == [event_of(ANSWER)]
    assert list(follower.read_new()) == []

"""The lines of a trace, from events alone."""

from __future__ import annotations

from typing import Any

from ottla.trace.events import Event, event_of
from ottla.trace.view import lines_of


def of(kind: str, seq: int, **fields: Any) -> Event:
    return event_of({"seq": seq, "at_ms": 0, "kind": kind, **fields})


def asked(seq: int, api: str, **fields: Any) -> Event:
    return of("request", seq, api=api, version=1, client_id="me", request=fields)


def lines(*events: Event, apis: tuple[str, ...] = ()) -> list[str]:
    return [" ".join(text.split()[2:]) for text, _ in lines_of(events, apis)]


def answered(seq: int, cause: int) -> Event:
    return of("answer", seq, cause=cause, took_us=1000, response={})


def appended(seq: int, **fields: Any) -> Event:
    return of("records_appended", seq, topic="t", partition=0, log_end_offset=seq, **fields)


def test_an_end_of_a_transaction_is_a_commit_or_an_abort() -> None:
    for committed, name in ((True, "commit"), (False, "abort")):
        request = asked(1, "EndTxn", transactional_id="shop", committed=committed)
        assert lines(request) == [f"EndTxn v1 me shop {name} -> no answer yet"]


def test_partitions_are_added_for_a_transactional_id() -> None:
    request = asked(1, "AddPartitionsToTxn", v3_and_below_transactional_id="shop")
    assert lines(request) == ["AddPartitionsToTxn v1 me shop -> no answer yet"]


def test_changes_after_the_answer_are_marked_as_later() -> None:
    events = (asked(1, "EndTxn"), appended(2, cause=1), answered(3, 1), appended(4, cause=1))
    assert lines(*events) == ["EndTxn v1 me -> ok 1.0 ms [t-0 ends at 2; later: t-0 ends at 4]"]
    assert "later" not in lines(*events[:3])[0]


def test_a_refused_decision_shows_its_error() -> None:
    refused = of("decision_refused", 1, node_id=1, topic="t", partition=0, code="PRODUCER_FENCED")
    assert lines(refused) == ["refused: PRODUCER_FENCED"]


def test_only_leaders_that_moved_are_shown() -> None:
    def told(leaders: list[list[int]]) -> list[str]:
        return lines(of("leaders_changed", 1, topic="t", leaders=leaders))

    assert told([[1, 0], [3, 2], [2, 0]]) == ["t-1 led by 3"]
    assert told([[2, 1]]) == ["t-0 led by 2"]
    assert told([[1, 0]] * 5) == ["t-0 led by 1, t-1 led by 1, t-2 led by 1 and 2 more"]


def test_requests_of_other_apis_are_left_out_and_events_without_a_request_stay() -> None:
    events = (asked(1, "Fetch"), asked(2, "EndTxn"), appended(3, cause=1), appended(4))
    assert lines(*events, apis=("End*",)) == ["EndTxn v1 me -> no answer yet", "t-0 ends at 4"]

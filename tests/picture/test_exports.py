"""A trace for Perfetto, and as spans of OpenTelemetry."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ottla.picture.lanes import Lane
from ottla.picture.otlp import otlp_of
from ottla.picture.perfetto import _Tracks, perfetto_of
from ottla.protocol.errors import Code
from ottla.trace.events import Answer, ClockAdvanced

from .traces import Trace, copied


def spans(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    """The spans of each service."""
    return {
        each["resource"]["attributes"][0]["value"]["stringValue"]: each["scopeSpans"][0]["spans"]
        for each in otlp_of(trace.events)["resourceSpans"]
    }


def test_a_transaction_is_one_trace_of_its_requests() -> None:
    found = spans(copied())
    (root,) = found["transactions"]
    of_transaction = [each for each in found["writer"] if each["traceId"] == root["traceId"]]
    wanted = {"AddPartitionsToTxn", "Produce", "TxnOffsetCommit", "EndTxn"}
    assert {each["name"] for each in of_transaction} == wanted
    assert {each["parentSpanId"] for each in of_transaction} == {root["spanId"]}
    assert all("parentSpanId" not in each for each in found["reader"])


def test_spans_have_the_ids_and_times_of_otlp() -> None:
    found = [each for many in spans(copied()).values() for each in many]
    assert len({each["spanId"] for each in found}) == len(found)
    for each in found:
        assert re.fullmatch("[0-9a-f]{32}", each["traceId"])
        assert re.fullmatch("[0-9a-f]{16}", each["spanId"])
        assert int(each["startTimeUnixNano"]) <= int(each["endTimeUnixNano"])
    assert json.dumps(otlp_of(copied().events)) == json.dumps(otlp_of(copied().events))


def test_a_span_has_the_error_and_the_fault_of_its_request() -> None:
    trace = Trace()
    number = trace.ask("writer", "EndTxn", transactional_id="x")
    trace.fail(number, "error")
    trace.answer(number, error="INVALID_TXN_STATE")
    (span,) = spans(trace)["writer"]
    assert span["events"][0]["name"] == "fault"
    trace = Trace()
    trace.answer(trace.ask("writer", "EndTxn", transactional_id="x"), error="INVALID_TXN_STATE")
    (span,) = spans(trace)["writer"]
    assert span["status"] == {"code": 2, "message": "INVALID_TXN_STATE"}


def marked(trace: Trace) -> tuple[list[bool], list[bool]]:
    """Whether each request is an error: in a file for Perfetto, and in spans."""
    slices = [each for each in perfetto_of(trace.events)["traceEvents"] if each["ph"] == "X"]
    found = [each for many in spans(trace).values() for each in many]
    return [each["cat"] == "error" for each in slices], ["status" in each for each in found]


@pytest.mark.parametrize(
    ("api", "code", "is_error"),
    [
        ("InitProducerId", Code.COORDINATOR_LOAD_IN_PROGRESS, False),
        ("Metadata", Code.UNKNOWN_TOPIC_OR_PARTITION, False),
        ("Produce", Code.UNKNOWN_TOPIC_OR_PARTITION, True),
        ("Produce", Code.NONE, False),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_errors_are_those_that_the_page_marks(
    api: str, code: Code, is_error: bool, is_late: bool
) -> None:
    trace = Trace()
    number = trace.ask("c", api)
    if is_late:  # its answer is a row of its own
        trace.call("c", "Heartbeat", {})
    trace.answer(number, error_code=int(code))
    wanted = [is_error, *[False] * is_late]
    assert marked(trace) == (wanted, wanted)


def test_a_usual_error_that_does_not_end_is_an_error() -> None:
    trace = Trace()
    for _ in range(3):
        trace.call("c", "InitProducerId", {}, error_code=int(Code.COORDINATOR_LOAD_IN_PROGRESS))
    assert marked(trace) == ([True] * 3, [True] * 3)


def test_a_request_without_an_answer_is_an_error_with_its_reason() -> None:
    trace = Trace()
    number = trace.ask("c", "Produce")
    trace.call("c", "Heartbeat", {})
    trace.add(Answer(cause=number, api="Produce", unanswered="the connection is closed"))
    span = spans(trace)["c"][0]
    assert span["status"] == {"code": 2, "message": "the connection is closed"}


def test_a_move_of_the_clock_is_a_moment_of_the_whole_trace() -> None:
    trace = Trace()
    trace.add(ClockAdvanced(by_ms=45_000))
    (moment,) = (each for each in perfetto_of(trace.events)["traceEvents"] if each["ph"] == "i")
    assert (moment["name"], moment["s"]) == ("the clock moves forward by 45 s", "g")


def test_slices_of_a_track_never_overlap() -> None:
    trace = copied()
    for _ in range(3):  # requests of one client at once
        trace.answer(trace.ask("writer", "Metadata"))
    tracks: dict[tuple[int, int], int] = {}
    slices = [each for each in perfetto_of(trace.events)["traceEvents"] if each["ph"] == "X"]
    assert slices
    for each in slices:
        track = each["pid"], each["tid"]
        assert tracks.get(track, 0) <= each["ts"]
        tracks[track] = each["ts"] + each["dur"]


def test_each_track_has_a_name_and_each_flow_both_ends() -> None:
    found = perfetto_of(copied().events)["traceEvents"]
    named = {(each["pid"], each["tid"]) for each in found if each["name"] == "thread_name"}
    used = {(each["pid"], each["tid"]) for each in found if each["ph"] == "X"}
    assert used <= named
    flows = [(each["ph"], each["id"]) for each in found if each["ph"] in "sf"]
    assert sorted(flows) == [("f", 1), ("f", 2), ("s", 1), ("s", 2)]


class Counted(int):
    """A time that counts how often it is compared."""

    compared = 0

    def __le__(self, other: int) -> bool:
        Counted.compared += 1
        return int(self) <= other

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return int(self) < other


def test_requests_of_one_moment_find_their_tracks_without_a_look_at_all_of_them() -> None:
    """As in a trace of a broker whose clock stands still."""
    tracks, lane = _Tracks(), Lane("client", "a")
    found = [tracks.of(lane, 0, Counted(1))["tid"] for _ in range(2000)]
    assert found == list(range(1, 2001))
    assert Counted.compared < 2000 * 20


def test_a_track_is_used_again_once_it_is_free_also_after_a_step_back_of_the_clock() -> None:
    tracks, lane = _Tracks(), Lane("client", "a")
    spans = [(0, 10), (5, 8), (10, 20), (8, 9), (6, 30), (20, 21), (9, 10), (30, 31)]
    assert [tracks.of(lane, *span)["tid"] for span in spans] == [1, 2, 1, 2, 3, 1, 2, 1]

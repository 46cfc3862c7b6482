"""Known bugs of librdkafka are named where the trace of a failing run shows them."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.trace.events import Event, event_of
from ottla.trials.conform.scenario_run import known_to_hang
from ottla.trials.known_bugs import HANG, RESET, known_bugs
from ottla.trials.torture.campaign import Failure
from ottla.trials.torture.checks import LOST, STUCK, TWICE, Violation
from ottla.trials.torture.reports import failure_text, lines_of_replay
from ottla.trials.torture.run import RunOutcome
from ottla.trials.torture.scenario_file import Application, Scenario
from ottla.trials.torture.schedule import Schedule
from tests.project_files import ROOT

Events = list[dict[str, Any]]
UNSTABLE = 88


def asked(api: str, request: dict[str, Any], response: dict[str, Any] | None) -> Events:
    event = {
        "seq": 1, "at_ms": 1, "kind": "request", "node_id": 1, "connection": "c",
        "client_id": "copy 1", "api": api, "version": 3, "correlation_id": 1, "request": request,
    }  # fmt: skip
    answer: dict[str, Any] = {"seq": 2, "at_ms": 1, "kind": "answer", "cause": 1, "api": api}
    answer |= {"took_us": 1, "unanswered": "closed"} if response is None else {"response": response}
    return [event, {"took_us": 1, **answer}]


def numbered(*parts: Events) -> list[Event]:
    """The events of a trace, with numbers that grow."""
    found: list[Event] = []
    for part in parts:
        first = len(found)
        for event in part:
            cause = {"cause": first + 1} if "cause" in event else {}
            found.append(event_of({**event, "seq": len(found) + 1, **cause}))
    return found


def named(name: str) -> Events:
    return asked("ApiVersions", {"client_software_name": name}, {"error_code": 0})


OURS = {"transactional_id": "torture-1"}
ADDED = asked("AddOffsetsToTxn", OURS, {"error_code": 0})
REFUSED = asked("AddOffsetsToTxn", OURS, {"error_code": 16})
SENT = asked("TxnOffsetCommit", OURS, {"error_code": 0})
WITHHELD = asked("OffsetFetch", {}, {"groups": [{"error_code": UNSTABLE}]})
LIBRDKAFKA = named("confluent-kafka-python")


@pytest.mark.parametrize(
    ("kind", "parts", "bugs"),
    [
        (STUCK, [LIBRDKAFKA, ADDED], [HANG]),
        (STUCK, [named("librdkafka"), SENT, ADDED], [HANG]),
        (STUCK, [named("apache-kafka-java"), ADDED], []),
        (STUCK, [LIBRDKAFKA, ADDED, SENT], []),
        (STUCK, [LIBRDKAFKA, REFUSED], []),
        (STUCK, [LIBRDKAFKA, asked("AddOffsetsToTxn", OURS, None)], []),
        (TWICE, [LIBRDKAFKA, WITHHELD], [RESET]),
        (TWICE, [LIBRDKAFKA, ADDED], []),
        (LOST, [LIBRDKAFKA, ADDED, WITHHELD], []),
        (STUCK, [], []),
    ],
)
def test_a_known_bug_is_named_if_the_trace_shows_it(
    kind: str, parts: list[Events], bugs: list[object]
) -> None:
    found = known_bugs(numbered(*parts), is_stuck=kind == STUCK, repeats=kind == TWICE)
    assert found == bugs


def test_conform_names_the_bug_of_a_program_that_does_not_end() -> None:
    assert known_to_hang(numbered(LIBRDKAFKA, ADDED)) == [f"known: {HANG}"]
    assert known_to_hang(numbered(LIBRDKAFKA, WITHHELD)) == []


def test_a_report_names_the_bug_with_its_issues() -> None:
    outcome = RunOutcome([Violation(STUCK, "nothing")], events=numbered(LIBRDKAFKA, ADDED))
    schedule = Schedule()
    scenario = Scenario(application=Application(command=("true",)))
    for text in (
        failure_text(Failure(2, schedule, schedule, outcome)),
        "\n".join(text for text, _ in lines_of_replay(scenario, outcome)),
    ):
        assert "  known: send_offsets_to_transaction of librdkafka may never return" in text
        assert "issues/5456" in text


def test_the_page_has_the_section_that_reports_name() -> None:
    page = (ROOT / "docs/how-to/torture.md").read_text()
    for bug in (HANG, RESET):
        assert "## If your client is librdkafka" in page
        assert all(issue in page for issue in bug.issues)

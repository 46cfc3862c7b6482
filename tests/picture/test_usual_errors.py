"""Errors that a healthy client expects are not drawn as errors, unless they do not end."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.picture.model import model_of
from ottla.protocol.errors import Code
from ottla.trace.events import DecisionRefused
from ottla.trace.view import lines_of

from .traces import Trace


def rows(trace: Trace) -> list[tuple[str, int]]:
    """Text, and whether it is an error, of each row."""
    found: dict[str, Any] = model_of(trace.events, title="t")["rows"]
    return list(zip(found["text"], found["error"], strict=True))


def refuse(trace: Trace, api: str, code: Code) -> int:
    return trace.call("c", api, {"group_id": "g"}, error_code=int(code))


@pytest.mark.parametrize(
    ("api", "code"),
    [
        ("JoinGroup", Code.MEMBER_ID_REQUIRED), ("EndTxn", Code.CONCURRENT_TRANSACTIONS),
        ("InitProducerId", Code.COORDINATOR_LOAD_IN_PROGRESS),
        ("OffsetFetch", Code.NOT_COORDINATOR), ("Metadata", Code.LEADER_NOT_AVAILABLE),
    ],
)  # fmt: skip
def test_an_expected_error_has_the_next_step_of_the_client(api: str, code: Code) -> None:
    trace = Trace()
    refuse(trace, api, code)
    trace.call("c", api, {"group_id": "g"})
    (text, is_error), _ = rows(trace)
    assert (is_error, code.name in text, text.endswith(" (usual)")) == (0, True, True)
    assert "again" in model_of(trace.events, title="t")["usual"][code.name]


def test_the_refusal_of_the_coordinator_is_no_error_either() -> None:
    trace = Trace()
    asked = trace.ask("c", "JoinGroup", group_id="g")
    trace.add(DecisionRefused(cause=asked, code="MEMBER_ID_REQUIRED"))
    trace.answer(asked, error_code=int(Code.MEMBER_ID_REQUIRED))
    assert [is_error for _, is_error in rows(trace)] == [0, 0, 0]


def test_an_expected_error_that_does_not_end_is_an_error() -> None:
    trace = Trace()
    for _ in range(3):
        refuse(trace, "EndTxn", Code.CONCURRENT_TRANSACTIONS)
    assert [is_error for _, is_error in rows(trace)] == [1, 1, 1]
    trace.call("c", "EndTxn", {})
    assert [is_error for _, is_error in rows(trace)] == [0, 0, 0, 0]


def test_an_expected_error_of_a_fault_and_another_error_beside_it_are_errors() -> None:
    trace = Trace()
    asked = trace.ask("c", "EndTxn")
    trace.fail(asked, "error")
    trace.answer(asked, error="CONCURRENT_TRANSACTIONS")
    parts = [{"error_code": int(code)} for code in (Code.NOT_COORDINATOR, Code.CORRUPT_MESSAGE)]
    trace.call("c", "OffsetCommit", {}, topics=parts)
    assert [is_error for _, is_error in rows(trace)] == [0, 0, 1, 1]


def test_the_lines_of_a_terminal_have_no_colour_of_errors_for_them() -> None:
    trace = Trace()
    refuse(trace, "JoinGroup", Code.MEMBER_ID_REQUIRED)
    refuse(trace, "JoinGroup", Code.UNKNOWN_MEMBER_ID)
    assert [style for _, style in lines_of(trace.events)] == ["", "error"]

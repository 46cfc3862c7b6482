"""The runner's rules about what a program leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client.fates import Fate
from ottla.client.record_reader import ReadRecord
from ottla.trials.conform.copy_rules import Copied, judge_copy, judge_position, judge_work
from ottla.verdict.rules.rule import Status

MARKER = b"\0\0\0\0\0\x07"


def record(offset: int, value: bytes | None, fate: Fate = Fate.COMMITTED) -> ReadRecord:
    return ReadRecord("t", 0, offset, 0, None, value, (), fate, 1, 0)


INPUT = [record(0, b"x", Fate.ABORTED), record(2, b"a"), record(3, b"b", Fate.PLAIN)]
RIGHT = Copied(
    status=0,
    ended="",
    last_lines=("first", "last"),
    input=INPUT,
    output=[record(0, b"a"), record(1, b"b")],
    offset=4,
    transactional_commits=[7],
    plain_commits=[],
)


BY_REQUESTS = {"offsets-in-transactions"}
"""Rules that the requests of the trace show, and not what is left behind."""


def statuses(copied: Copied) -> dict[str, Status]:
    return {each.rule_id: each.status for each in judge_copy(copied)}


def test_a_right_copy_obeys_every_rule() -> None:
    assert set(statuses(RIGHT).values()) == {Status.OBEYED}


@pytest.mark.parametrize(
    ("changes", "rules", "text"),
    [
        ({"status": 3, "ended": "status 3"}, {"program-ends"}, "status 3"),
        ({"output": [record(0, b"a")]}, {"every-record-copied"}, "'b' is missing"),
        (
            {"output": [*RIGHT.output, record(2, b"b")]},
            {"no-record-twice"},
            "'b' is there 2 times",
        ),
        (
            {"output": [*RIGHT.output, record(2, b"c")]},
            {"nothing-else-copied"},
            "'c' is not in the input",
        ),
        (
            {"output": [*RIGHT.output, record(2, MARKER)]},
            {"control-not-delivered"},
            r"'\x00\x00\x00\x00\x00\x07' is the value of a marker",
        ),
        (
            {"output": [*RIGHT.output, record(2, b"x")]},
            {"aborted-not-delivered"},
            "'x' of an aborted transaction was copied",
        ),
        (
            {"output": [record(0, b"a"), record(1, b"b", Fate.PLAIN)]},
            {"copied-in-transactions"},
            "'b' at offset 1 is in none",
        ),
        ({"plain_commits": [9]}, {"offsets-in-transactions"}, "OffsetCommit at 9 in the trace"),
        ({"offset": 3}, {"offsets-committed"}, "it is 3, and not 4 or more"),
        ({"offset": -1}, {"offsets-committed"}, "it is -1, and not 4 or more"),
        ({"transactional_commits": []}, {"offsets-committed"}, "the program committed nothing"),
    ],
)
def test_a_mistake_breaks_its_rule(changes: dict[str, Any], rules: set[str], text: str) -> None:
    copied = RIGHT._replace(**changes)
    found = [each for each in judge_copy(copied) if each.status is Status.VIOLATED]
    assert {each.rule_id for each in found} == rules
    assert [each.text for each in found[0].breaches] == [text]


def test_a_program_that_fails_is_shown_with_the_end_of_its_output() -> None:
    found = {each.rule_id: each for each in judge_copy(RIGHT._replace(status=1, ended="status 1"))}
    (breach,) = found["program-ends"].breaches
    assert (breach.text, breach.lines) == ("status 1", ("first", "last"))


def test_rules_without_an_occasion_are_not_exercised() -> None:
    plain = [record(0, b"a", Fate.PLAIN)]
    found = statuses(RIGHT._replace(input=plain, output=[record(0, b"a")], offset=1))
    assert found["aborted-not-delivered"] is Status.NOT_EXERCISED
    assert found["control-not-delivered"] is Status.NOT_EXERCISED


def test_records_that_a_program_did_not_get_to_are_no_occasion() -> None:
    nothing = statuses(RIGHT._replace(status=1, output=[], offset=-1))
    assert Status.OBEYED not in {nothing[each] for each in nothing if each not in BY_REQUESTS}
    first = [record(0, b"a"), record(1, b"x", Fate.ABORTED), record(3, b"b")]
    before = statuses(RIGHT._replace(input=first, output=[record(0, b"a")], offset=1))
    assert before["aborted-not-delivered"] is Status.NOT_EXERCISED
    behind = statuses(RIGHT._replace(input=first, output=[record(0, b"a")], offset=3))
    assert behind["aborted-not-delivered"] is Status.OBEYED


def test_a_value_that_is_aborted_once_and_committed_once_may_be_copied() -> None:
    again = RIGHT._replace(input=[*INPUT, record(4, b"x")], output=[*RIGHT.output, record(2, b"x")])
    assert statuses(again._replace(offset=5))["aborted-not-delivered"] is not Status.VIOLATED


@pytest.mark.parametrize(
    ("position", "status"),
    [(9, Status.VIOLATED), (10, Status.OBEYED), (None, Status.NOT_EXERCISED)],
)
def test_a_position_reaches_the_end_of_the_log(position: int | None, status: Status) -> None:
    assert judge_position("past-trailing-marker", position, 10).status is status


@pytest.mark.parametrize(
    ("copied", "status"),
    [
        (RIGHT, Status.OBEYED),
        (RIGHT._replace(status=1), Status.VIOLATED),
        (RIGHT._replace(output=()), Status.VIOLATED),
        (None, Status.VIOLATED),
    ],
)
def test_a_program_that_does_its_work_obeys_the_rule_that_it_needs(
    copied: Copied | None, status: Status
) -> None:
    assert judge_work("unknown-tags-skipped", copied).status == status

"""Scenario files are written and read again, and wrong ones are refused with a sentence."""

from __future__ import annotations

import pytest

from ottla.trials.torture.scenario_file import (
    Application,
    Found,
    Scenario,
    WrongScenario,
    read_scenario,
    written,
)
from ottla.trials.torture.schedule import At, ScheduleStep

SCENARIO = Scenario(
    application=Application(command=("python", "app.py", "{bootstrap}"), check="key"),
    seed=7,
    run=12,
    copies=1,
    steps=(
        ScheduleStep(do="kill", at=At(api="EndTxn", nth=2)),
        ScheduleStep(do="error", at=At(api="TxnOffsetCommit"), code="ILLEGAL_GENERATION"),
    ),
    found=Found(kind="lost-write", what=("record-1: it is lost",), replays=3, failed=3),
)


def test_a_file_is_read_as_it_was_written() -> None:
    text = written(SCENARIO, ["The timeline:", "  1 Produce: a <-- b"])
    assert read_scenario(text, "a.yaml") == SCENARIO
    assert text.endswith("# The timeline:\n#   1 Produce: a <-- b\n")
    assert "- do: kill\n  at: {api: EndTxn, nth: 2, copy: 1, point: before}\n" in text


def test_most_fields_have_defaults() -> None:
    scenario = read_scenario("steps: [{do: kill, at: {api: EndTxn}}]", "a.yaml")
    assert scenario.steps == (ScheduleStep(do="kill", at=At(api="EndTxn")),)
    assert scenario.copies == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("steps: [", "a.yaml: no YAML: "),
        ("- 1", "a.yaml: file: expected object, got array"),
        ("version: 2", "a.yaml: version: 2 is not 1"),
        ("copys: 1", "a.yaml: file: Object contains unknown field copys; the fields are version,"),
        ("copies: two", "a.yaml: copies: 'two': expected int, got str"),
        ("copies: 9", "a.yaml: copies: 9 must be from 1 to 8"),
        (
            "steps: [{do: kill, at: {api: EndTxn, n: 1}}]",
            "a.yaml: steps[0].at: Object contains unknown field n; the fields are api, nth,",
        ),
        ("steps: [{do: kill}]", "a.yaml: steps[0]: object missing required field at"),
        (
            "steps: [{do: kill, at: {api: EndTxn, nth: x}}]",
            "a.yaml: steps[0].at.nth: 'x': expected int, got str",
        ),
        (
            "steps: [{do: hit, at: {api: EndTxn}}]",
            "a.yaml: steps[0].do: hit is none of kill, pause,",
        ),
        (
            "application: {guarantee: once}",
            "a.yaml: application.guarantee: once is none of exactly-once, at-least-once",
        ),
        (
            "application: {consumer: queue}",
            "a.yaml: application.consumer: queue is none of group, share",
        ),
        (
            "application: {consumer: share, guarantee: exactly-once}",
            "a.yaml: application.guarantee: exactly-once cannot hold, because a share group "
            "delivers records at least once",
        ),
    ],
)
def test_a_wrong_file_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(WrongScenario) as refused:
        read_scenario(text, "a.yaml")
    assert str(refused.value).startswith(sentence)

"""Two planted bugs and a right application, each in a few runs; `make torture` has all."""

from __future__ import annotations

import pytest

from ottla.trials.torture.checks import ABORTED_READ, LOST, check_of
from ottla.trials.torture.contract import Contract
from ottla.trials.torture.run import run
from ottla.trials.torture.schedule import At, Schedule, ScheduleStep

from .programs import PLANTED, PLANTED_DIRECTORY, planted, right

pytestmark = [pytest.mark.clients, pytest.mark.slow]

REFUSED = ScheduleStep(do="error", at=At(api="TxnOffsetCommit", nth=2), code="ILLEGAL_GENERATION")
KILLED = ScheduleStep(do="kill", at=At(api="EndTxn", point="after"))
ALONE = Schedule(copies=1)


def kinds(command: list[str], schedule: Schedule) -> set[str]:
    """What is wrong in a run in which all steps happen."""
    outcome = run(Contract(tuple(command), check_of("copy")), schedule)
    assert outcome.fired == schedule.steps
    return outcome.kinds


def test_a_copy_of_aborted_records_is_seen() -> None:
    assert kinds(planted("read_uncommitted"), ALONE) == {ABORTED_READ}


def test_records_that_an_abort_has_lost_are_seen() -> None:
    assert LOST in kinds(planted("abortable_ignored"), Schedule(copies=1, steps=(REFUSED,)))


@pytest.mark.parametrize("step", [REFUSED, KILLED], ids=["refused", "killed"])
def test_a_right_application_passes(step: ScheduleStep) -> None:
    assert kinds(right("confluent-kafka"), Schedule(copies=1, steps=(step,))) == set()


def test_each_planted_bug_is_in_the_list() -> None:
    files = {each.stem for each in PLANTED_DIRECTORY.glob("*.py")} - {"__init__", "copying"}
    others = {each.name for each in PLANTED_DIRECTORY.iterdir() if each.suffix != ".py"}
    assert set(PLANTED) == files | others - {"__pycache__"}

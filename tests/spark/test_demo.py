"""The demo kills the broker while Spark is counting, and its last screen shows what was checked."""

from __future__ import annotations

import io
import json
import threading
from dataclasses import replace

import pytest
from rich.console import Console

from ottla.spark.audit.ledger_audit import Audit, Total
from ottla.spark.demo import Run
from ottla.spark.demo_screen import Kill, checks, print_json, print_results
from ottla.spark.orders import Moment

GOOD = Audit(
    produced=20,
    acknowledged=20,
    committed=10,
    aborted=10,
    unknown_committed=0,
    unknown_aborted=1,
    torn_transactions=(),
    seen_by_read_committed=10,
    seen_by_read_uncommitted=20,
    duplicates=0,
    missing=0,
    leaked=0,
    lost=0,
    wrong_totals=(),
)
TOTALS = {"north": Total(4, 123_456), "east": Total(6, 7_00)}
KILLS = [Kill(Moment.HALF_WRITTEN, True, 150), Kill(Moment.COMMITTING, False, 160)]


class FakeBroker:
    """Counts its kills."""

    def __init__(self) -> None:
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1

    def start(self) -> None:
        pass


def kills_of(transactions: int, counts_from: int) -> list[tuple[Moment, bool, int]]:
    """Moment, whether Spark counted, and transaction of each kill.

    Args:
        counts_from: the transaction from which on Spark is counting.
    """
    broker = FakeBroker()
    number = 0
    demo = Run("", transactions, broker=broker, is_counting=lambda: number >= counts_from)
    found = []
    for number in range(transactions):
        for moment in Moment:
            if moment is Moment.COMMITTING and number % 10 == 9:
                continue  # this transaction is aborted
            before = len(demo.kills)
            demo.disturb(number, moment)
            for thread in threading.enumerate():
                if thread.name == "killer":
                    thread.join()
            found += [(each.moment, each.while_counting, number) for each in demo.kills[before:]]
    assert broker.kills == len(found)
    return found


@pytest.mark.parametrize(
    ("counts_from", "first", "second"),
    [(0, (True, 20), (True, 40)), (25, (True, 25), (True, 40)), (47, (False, 39), (True, 47))],
)
def test_the_kills_come_while_spark_is_counting(
    counts_from: int, first: tuple[bool, int], second: tuple[bool, int]
) -> None:
    assert kills_of(60, counts_from) == [
        (Moment.HALF_WRITTEN, *first),
        (Moment.COMMITTING, *second),
    ]


def test_the_first_kill_waits_for_the_first_batch() -> None:
    answers = iter([False, False, True])
    broker = FakeBroker()
    demo = Run("", 3, broker=broker, is_counting=lambda: True, has_counted=lambda: next(answers))
    demo.disturb(1, Moment.HALF_WRITTEN)
    assert broker.kills == 1
    assert list(answers) == []


@pytest.mark.parametrize("transactions", [1, 2, 3, 9, 10, 11, 20, 60])
def test_a_spark_that_never_counts_delays_no_kill_for_ever(transactions: int) -> None:
    found = kills_of(transactions, counts_from=transactions)
    assert [moment for moment, *_ in found] == [Moment.HALF_WRITTEN, Moment.COMMITTING]


def screen(found: Audit) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_results(console, found, TOTALS, KILLS)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_last_screen_has_totals_by_region_and_each_check() -> None:
    lines = screen(GOOD).splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).replace("\u2502", " ").split())
    assert "north 4 1,234.56" in text
    assert "all regions 10 1,241.56" in text
    assert "inside an open transaction while Spark was counting; back after 150 ms" in text
    assert "during a commit; back after 160 ms" in text
    assert sum(line.startswith("ok ") for line in lines) == len(checks(GOOD)) == 7
    assert lines[-1] == "the numbers add up"


@pytest.mark.parametrize(
    "fault",
    [
        {"duplicates": 1},
        {"missing": 1},
        {"leaked": 1},
        {"lost": 1},
        {"torn_transactions": (3,)},
        {"committed": 9},
        {"wrong_totals": ("north",)},
    ],
    ids=str,
)
def test_a_fault_fails_one_check(fault: dict[str, object]) -> None:
    found = replace(GOOD, **fault)  # type: ignore[arg-type]  # the values have the fields' types
    assert len(found.faults()) == 1
    assert [holds for _, holds in checks(found)].count(False) == 1
    text = screen(found)
    assert "FAILED" in text
    assert text.endswith("the numbers do not add up\n")


def test_the_results_are_one_json_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(GOOD, TOTALS, KILLS)
    content = json.loads(capsys.readouterr().out)
    assert content["totals"]["north"] == {"orders": 4, "amount_cents": 123456}
    assert [each["moment"] for each in content["kills"]] == ["half_written", "committing"]
    assert content["faults"] == []
    assert set(content["checks"].values()) == {True}

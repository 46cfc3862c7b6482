"""Ottla and a running Apache Kafka have the recorded outcome of every request in every state.

Three brokers of ours have the three levels of transaction.version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ottla.testing import running_broker

from ..wire.conftest import SETTINGS, address_of, warm_up
from . import transaction_table
from .conftest import Pair
from .transaction_table import FEW, HIGHEST, IDENTITIES, REQUESTS, STATES, Cell, Table

RECORDED = transaction_table.recorded()
LEVELS = sorted(RECORDED, reverse=True)


@pytest.fixture(scope="module", params=LEVELS)
def ours(request: pytest.FixtureRequest) -> Iterator[tuple[int, Table]]:
    """A level of transaction.version, and a table at a broker of ours with it."""
    with running_broker(settings=SETTINGS) as broker:
        address = address_of(broker.bootstrap)
        transaction_table.set_level(address, request.param)
        warm_up(address)
        table = Table(address)
        yield request.param, table
        table.close()


@pytest.fixture(scope="module")
def theirs(pair: Pair) -> Iterator[Table]:
    """A table at an Apache Kafka."""
    table = Table(pair[1])
    yield table
    table.close()


def differences(table: Table, request_name: str, wanted_of: Callable[[Cell], str]) -> list[str]:
    """The wrong cells of one request, in all states and for all identities."""
    return [
        f"{state} | {who}: {outcome}, wanted: {wanted}"
        for who in FEW.get(request_name, tuple(IDENTITIES))
        for state in STATES
        if (outcome := table.outcome((state, request_name, who)))
        != (wanted := wanted_of((state, request_name, who)))
    ]


def better(level: int, cell: Cell) -> str:
    """Kafka's outcome, except that its EndTxn 5 takes any epoch one behind as a retry.

    If another request bumped the epoch, the earlier owner never sent that EndTxn: it is fenced, but
    Kafka returns the epoch of the next owner to it.
    """
    state, request_name, who = cell
    recorded = RECORDED[level][cell]
    without_5 = state in ("Committed4", "Aborted4") or (state == "Fenced" and level < HIGHEST)
    if request_name.startswith("EndTxn5") and who == "epoch-1" and without_5:
        return f"PRODUCER_FENCED > {recorded.partition(' > ')[2]}"
    return recorded


@pytest.mark.parametrize("request_name", REQUESTS)
def test_each_request_has_kafkas_outcome_in_every_state(
    request_name: str, ours: tuple[int, Table]
) -> None:
    level, table = ours
    found = differences(table, request_name, lambda cell: better(level, cell))
    assert not found, "\n".join(found)


def test_every_cell_is_recorded_on_every_level() -> None:
    wanted = set(transaction_table.cells())
    assert len(wanted) > 1000
    assert {level: set(RECORDED[level]) for level in LEVELS} == dict.fromkeys(LEVELS, wanted)
    assert LEVELS == [2, 1, 0]


@pytest.mark.kafka
@pytest.mark.parametrize("request_name", REQUESTS)
def test_the_recorded_outcomes_are_still_kafkas(request_name: str, theirs: Table) -> None:
    found = differences(theirs, request_name, RECORDED[HIGHEST].__getitem__)
    assert not found, "\n".join(found)

"""A trace has the moments when rules are added and removed, and each rule says who added it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.testing.lab import Event

KINDS = ("rule_added", "fault", "rule_removed")
BODY: Final[dict[str, Any]] = {"states_filter": [], "types_filter": []}


def rules_in(events: list[Event]) -> list[tuple[str, int]]:
    return [(each["kind"], each["id"]) for each in events if each["kind"] in KINDS]


@pytest.fixture
def alone() -> Iterator[Ottla]:
    """A broker without rules, whose trace is empty."""
    with Ottla() as started:
        yield started


def test_a_rule_names_the_line_of_the_test_that_adds_it(alone: Ottla) -> None:
    alone.trace.start()
    added_at_ms = alone.lab().call("GET", "/clock")["now_ms"]
    with (
        alone.faults.expect("delay", ms=0, match={"api": "ListGroups"}, name="slow") as fault,
        Client.to(alone.bootstrap_servers) as client,
    ):
        client.ask(ApiKey.LIST_GROUPS, BODY)
    events = alone.trace.events()
    number = fault.number
    assert rules_in(events) == [(kind, number) for kind in KINDS]
    added, acted, removed = (each for each in events if each["kind"] in KINDS)
    place = added["added_by"]
    assert "test_rules_in_the_trace.py:" in place
    assert place.endswith(" in test_a_rule_names_the_line_of_the_test_that_adds_it")
    assert (added["name"], added["match"]) == ("slow", {"api": "ListGroups"})
    assert acted["added_by"] == place
    assert 0 <= acted["added_at_ms"] - added_at_ms < 60_000
    assert removed["fired"] == 1
    assert not any("rule" in each for each in alone.trace.lines("Produce"))
    lines = alone.trace.lines()
    assert any(f"rule {number} slow added by {place}: delay ms=0 for" in each for each in lines)
    assert any(f"rule {number} removed, which acted 1 time" in each for each in lines)


def test_rules_that_are_removed_together_are_noted_and_a_trace_that_is_off_has_none(
    alone: Ottla,
) -> None:
    alone.trace.stop()
    first = alone.faults.add("delay", ms=0).number
    alone.trace.start()
    alone.trace.clear()
    second = alone.faults.add("delay", ms=0).number
    alone.faults.clear()
    alone.trace.stop()
    alone.faults.add("delay", ms=0)
    found = rules_in(alone.trace.events())
    assert found == [("rule_added", second), ("rule_removed", first), ("rule_removed", second)]

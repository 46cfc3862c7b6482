"""A trace has the moments when rules are added and removed, and each rule says who added it."""

from __future__ import annotations

from typing import Any, Final

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.testing.lab import Event

KINDS = ("rule_added", "fault", "rule_removed")
BODY: Final[dict[str, Any]] = {"states_filter": [], "types_filter": []}


def rules_in(events: list[Event]) -> list[tuple[str, int]]:
    return [(each["kind"], each["id"]) for each in events if each["kind"] in KINDS]


def test_a_rule_names_the_line_of_the_test_that_adds_it() -> None:
    with Ottla() as broker:
        broker.trace.start()
        added_at_ms = broker.lab().call("GET", "/clock")["now_ms"]
        with (
            broker.faults.expect("delay", ms=0, match={"api": "ListGroups"}, name="slow") as fault,
            Client.to(broker.bootstrap_servers) as client,
        ):
            client.ask(ApiKey.LIST_GROUPS, BODY)
        events = broker.trace.events()
        number = fault.number
        assert rules_in(events) == [
            ("rule_added", number), ("fault", number), ("rule_removed", number),
        ]  # fmt: skip
        added, acted, removed = (each for each in events if each["kind"] in KINDS)
        place = added["added_by"]
        assert "test_rules_in_the_trace.py:" in place
        assert place.endswith(" in test_a_rule_names_the_line_of_the_test_that_adds_it")
        assert (added["name"], added["match"]) == ("slow", {"api": "ListGroups"})
        assert acted["added_by"] == place
        assert 0 <= acted["added_at_ms"] - added_at_ms < 60_000
        assert removed["fired"] == 1
        lines = broker.trace.lines("ListGroups")
        assert any(f"rule {number} slow added by {place}: delay ms=0 for" in each for each in lines)
        assert any(f"rule {number} removed, which acted 1 time" in each for each in lines)


def test_rules_that_are_removed_together_are_noted_and_a_trace_that_is_off_has_none() -> None:
    with Ottla() as broker:
        broker.faults.add("delay", ms=0)
        broker.trace.start()
        broker.faults.add("delay", ms=0)
        broker.faults.clear()
        broker.trace.stop()
        broker.faults.add("delay", ms=0)
        found = rules_in(broker.trace.events())
        assert found == [("rule_added", 2), ("rule_removed", 1), ("rule_removed", 2)]

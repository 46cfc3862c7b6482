"""A trace says how far a test moves the clock, before what becomes due by it."""

from __future__ import annotations

import re

import pytest

from ottla.client.cluster_client import Client
from ottla.testing import Ottla

from ..browse.viewers import transaction

KINDS = ("clock_advanced", "clock_jumped")


def test_a_step_of_the_clock_is_traced_before_the_timers_that_it_ends() -> None:
    with Ottla(clock="manual") as broker, Client.to(broker.bootstrap_servers) as client:
        broker.trace.start()
        broker.create_topic("t")
        transaction(client, "t", "shop", "a", commit=None)
        broker.clock.advance(minutes=15)
        events = broker.trace.events()
        (step,) = (each for each in events if each["kind"] in KINDS)
        assert (step["kind"], step["by_ms"]) == ("clock_advanced", 900_000)
        aborted = next(each for each in events if each.get("by_timer"))
        assert aborted["seq"] > step["seq"]
        assert aborted["at_ms"] > step["at_ms"]
        line = next(each for each in broker.trace.lines() if "the clock moves forward" in each)
        assert re.search(r"by 15 min, moved by .*in_the_trace.py:\d+ in test_a_step_of_the", line)
        assert not any("clock" in each for each in broker.trace.lines("Produce"))


@pytest.mark.parametrize("is_traced", [True, False])
def test_a_clock_that_is_set_back_is_one_event_and_a_trace_that_is_off_has_none(
    is_traced: bool,
) -> None:
    with Ottla(clock="manual") as broker:
        broker.trace.start()
        if not is_traced:
            broker.trace.stop()
        broker.lab().call("POST", "/clock/advance", {"ms": -3_600_000})
        broker.trace.stop()
        found = [
            (each["kind"], each["by_ms"]) for each in broker.trace.events() if each["kind"] in KINDS
        ]
        assert found == [("clock_jumped", -3_600_000)] * is_traced


@pytest.mark.parametrize("said", [{"moved_by": "a drill"}, {}], ids=["said", "not said"])
def test_the_mover_of_the_clock_by_http_is_in_the_trace_if_it_is_named(
    said: dict[str, str],
) -> None:
    with Ottla(clock="manual") as broker:
        broker.trace.start()
        broker.lab().call("POST", "/clock/advance", {"ms": 1000, **said})
        (step,) = (each for each in broker.trace.events() if each["kind"] in KINDS)
        assert {name: step[name] for name in step if name == "moved_by"} == said

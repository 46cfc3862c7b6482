"""Calls each operation of a control by a client that was generated from its description.

It runs in the environment of the tools: `python drive.py http://HOST:PORT TRACE_FILE`.
"""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from typing import Any

import ottla_control.api.default as operations
from ottla_control import Client
from ottla_control import models as m


class Driver:
    """Calls operations by name.

    Attributes:
        called: the names so far.
    """

    def __init__(self, address: str) -> None:
        self._client = Client(base_url=address)
        self.called: set[str] = set()

    def call(self, name: str, *arguments: Any, status: int = 200, **named: Any) -> Any:
        """The decoded answer; its status must be the given one."""
        self.called.add(name)
        module = import_module(f"{operations.__name__}.{name}")
        answer = module.sync_detailed(*arguments, client=self._client, **named)
        if answer.status_code != status:
            raise AssertionError(f"{name}: {answer.status_code} {answer.content!r}")
        return answer.parsed


def drive(driver: Driver, trace_file: str) -> None:
    """Call all operations, and look at what they answer."""
    call = driver.call
    rule = m.RuleSpec(
        action=m.Hold.from_dict({"kind": "hold", "point": "before"}),
        match=m.Match.from_dict({"api": "EndTxn", "versions": [1, 5], "nth": 2}),
        name="pause",
    )
    added = call("add_fault", body=rule, status=201)
    shown = call("show_fault", added.id)
    assert (shown.name, shown.fired, shown.match["api"]) == ("pause", 0, "EndTxn"), shown
    assert [each.id for each in call("list_faults")] == [added.id]
    assert call("release_fault", added.id).released == 0
    assert call("remove_fault", added.id).id == added.id
    assert call("clear_faults").removed == 0
    missing = call("show_fault", 999, status=404)
    assert missing.error, missing

    assert call("set_trace", body=m.TraceSettings(ring=1000, file=trace_file)).on
    state = m.EndsInMarker.from_dict({"state": "ends_in_marker", "topic": "marked"})
    call("give_state", body=state)
    move = m.LeaderMove(topic="led", partition=0, node_id=2)
    assert call("move_leader", body=move).node_id == 2
    read = call("read_trace", kind="leaders_changed", topic="led", limit=10)
    assert [event["leaders"][0][0] for event in read.events] == [2], read
    assert read.next_ >= read.events[0]["seq"]
    assert not call("set_trace", body=m.TraceSettings(on=False)).on
    assert call("clear_trace").last > 0

    before = call("read_clock").now_ms
    after = call("advance_clock", body=m.ClockAdvance(ms=900_000)).now_ms
    assert after - before == 900_000, (before, after)

    assert call("list_emulations").bugs == []
    nodes = call("list_nodes")
    assert [each.node_id for each in nodes] == [1, 2], nodes
    assert not call("stop_node", 2).is_running
    assert call("start_node", 2).is_running
    assert not call("kill_node", 2).is_running
    call("kill_node", 2, status=409)
    assert call("start_node", 2).is_running
    call("describe")


def main() -> None:
    """Drive the control of the command line."""
    address, trace_file = sys.argv[1:]
    driver = Driver(address)
    drive(driver, trace_file)
    generated = {each.name for each in pkgutil.iter_modules(operations.__path__)}
    assert generated == driver.called, generated ^ driver.called
    sys.stdout.write(f"the generated client called all {len(generated)} operations\n")


if __name__ == "__main__":
    main()

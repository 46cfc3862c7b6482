"""The end of a rule ends all that it holds up: held and delayed requests, silent connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ottla.client import Client, NoAnswer
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla

LONG_MS = 3_600_000
GROUPS = {"states_filter": list[str](), "types_filter": list[str]()}


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(nodes=2) as started:
        started.create_topic("t", configs={"flush.messages": "1"})
        yield started
        assert "failed to handle" not in started.log_since(0)


def listed(broker: Ottla) -> int:
    """The error code of a ListGroups; -1 for no answer."""
    with Client.to(broker.nodes[1].bootstrap, timeout_s=60) as client:
        try:
            return int(client.ask(ApiKey.LIST_GROUPS, GROUPS).error_code)
        except NoAnswer:
            return -1


@pytest.mark.parametrize(
    ("kind", "parameters", "code"),
    [
        ("hold", {"point": "before"}, 0),
        ("hold", {"point": "after"}, 0),
        ("delay", {"ms": LONG_MS}, 0),
        ("delay", {"ms": LONG_MS, "point": "after"}, 0),
        ("delay", {"ms": LONG_MS, "up_to_ms": 2 * LONG_MS}, 0),
        ("drop_request", {}, -1),
        ("drop_answer", {}, -1),
        ("apply_late", {"close": False}, -1),
        ("apply_late", {"close": False, "ms": LONG_MS}, -1),
    ],
)
@pytest.mark.parametrize("by_clear", [False, True], ids=["remove", "clear"])
def test_a_client_waits_no_longer_than_the_rule(
    kind: str, parameters: dict[str, Any], code: int, by_clear: bool, broker: Ottla
) -> None:
    rule = broker.faults.add(kind, match={"api": "ListGroups"}, **parameters)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(listed, broker)
        rule.wait_fired()
        if by_clear:
            broker.faults.clear()
        else:
            rule.remove()
        assert answer.result(30) == code
    assert listed(broker) == 0


def test_a_late_request_is_applied_when_its_rule_ends(broker: Ottla) -> None:
    rule = broker.faults.add("apply_late", ms=LONG_MS, match={"api": "CreateTopics"})
    with pytest.raises(NoAnswer):
        broker.create_topic("late")
    rule.remove()
    broker.wait_for(lambda: broker.read("late") == [])


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_delayed_request_does_not_hold_up_the_stop_of_its_node(verb: str, broker: Ottla) -> None:
    rule = broker.faults.add("delay", ms=LONG_MS, match={"api": "ListGroups", "node_id": 1})
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(listed, broker)
        rule.wait_fired()
        assert broker.lab().call("POST", f"/nodes/1/{verb}")["is_running"] is False
        assert answer.result(30) == (-1 if verb == "kill" else 0)
    rule.remove()
    broker.lab().call("POST", "/nodes/1/start")


def test_a_slow_fsync_ends_with_its_rule(broker: Ottla) -> None:
    rule = broker.faults.add("disk", error="slow_fsync", ms=600_000, match={"topic": "t"})
    producing = threading.Thread(target=broker.produce, args=("t", ["x"]))
    producing.start()
    rule.wait_fired()
    assert producing.is_alive()
    assert listed(broker) == 0, "others are served meanwhile"
    rule.remove()
    producing.join(30)
    assert not producing.is_alive()
    assert [record.value for record in broker.read("t")] == [b"x"]


def test_a_trace_on_a_full_disk_is_given_up_and_the_broker_goes_on(broker: Ottla) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert broker.trace.start(file="/dev/full")["file"] == "/dev/full"
    broker.create_topic("full")
    stopped = broker.trace.stop()
    assert stopped["file"] is None
    assert "is given up" in broker.log_since(0)
    assert broker.trace.where(kind="request", api="CreateTopics")
    broker.trace.clear()


def test_a_crowd_of_requests_that_a_rule_held_is_let_go(broker: Ottla) -> None:
    rule = broker.faults.add("hold", match={"api": "ListGroups"})
    with ThreadPoolExecutor(50) as threads:
        answers = [threads.submit(listed, broker) for _ in range(50)]
        rule.wait_held(50)
        rule.remove()
        assert [each.result(30) for each in answers] == [0] * 50

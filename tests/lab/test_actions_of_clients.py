"""Each action on requests, with aiokafka and the Java client: the wire, the log, their state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.lab_client import Event
from ottla.testing import Ottla

from .actors import Actor, Failed
from .traces import values

pytestmark = pytest.mark.clients


def requests(broker: Ottla, api: str) -> list[Event]:
    return broker.trace.where(kind="request", api=api, client_id="actor")


@dataclass(frozen=True)
class Case:
    """An action on the first request.

    Attributes:
        is_applied: whether the broker applies it.
        is_sent_again: whether the client sends it again; None if that depends on the time.
    """

    kind: str
    is_applied: bool
    is_sent_again: bool | None
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.kind, *(f"{value}" for value in self.parameters.values())])


CASES = [
    Case("drop_answer", True, True, {"close": True}),
    Case("drop_answer", True, True, {"close": False}),
    Case("drop_request", False, True, {"close": True}),
    Case("drop_request", False, True, {"close": False}),
    Case("close_before", False, True),
    Case("close_after", True, True),
    Case("cut_answer", True, True, {"bytes": 10}),
    Case("delay", True, False, {"ms": 50, "point": "before"}),
    Case("delay", True, False, {"ms": 50, "point": "after"}),
    Case("throttle", True, False, {"ms": 50}),
    Case("apply_twice", True, False, {"answer": "first"}),
]
OF_PRODUCE = [
    *CASES,
    Case("apply_twice", True, False, {"answer": "second"}),
    Case("error", False, True, {"code": "NOT_ENOUGH_REPLICAS"}),
    Case("move_leader", False, True),
]
OF_END = [
    *CASES,
    # The second one is refused with CONCURRENT_TRANSACTIONS until the markers are written.
    Case("apply_twice", True, None, {"answer": "second"}),
    Case("error", False, True, {"code": "COORDINATOR_NOT_AVAILABLE"}),
    Case("move_coordinator", False, True),
]


@pytest.mark.parametrize("case", OF_PRODUCE, ids=str)
def test_a_record_is_written_once_although_its_produce_meets(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        actor.commit()
    sent = requests(broker, "Produce")
    assert case.is_sent_again in (None, len(sent) > 1)
    appended = broker.trace.where(kind="records_appended", cause=sent[0]["seq"], topic=topic)
    assert bool(appended) is case.is_applied
    assert actor.poll(topic, 1) == values(broker, topic) == ["x"]


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("case", OF_END, ids=str)
def test_a_transaction_ends_once_although_its_end_meets(
    case: Case, commits: bool, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        if commits:
            actor.commit()
        else:
            actor.abort()
    sent = requests(broker, "EndTxn")
    assert case.is_sent_again in (None, len(sent) > 1)
    decided = broker.trace.where(kind="decision", cause=sent[0]["seq"])
    assert bool(decided) is case.is_applied
    actor.begin()
    actor.send(topic, "next")
    actor.commit()
    expected = ["x", "next"] if commits else ["next"]
    assert actor.poll(topic, len(expected)) == values(broker, topic) == expected


def test_a_held_commit_goes_on_when_it_is_released(actor: Actor, broker: Ottla, topic: str) -> None:
    """The client gives up waiting and sends the commit again; both find one transaction."""
    actor.begin()
    actor.send(topic, "x")
    actor.flush()
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect("hold", match=match) as fault:
        actor.commit()
        assert fault.release() == 1
    assert values(broker, topic) == ["x"]


def test_a_late_end_of_a_transaction_is_refused_with_version_2_alone(
    actor: Actor, broker: Ottla, topic: str
) -> None:
    actor.begin()
    actor.send(topic, "first")
    actor.flush()
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect("apply_late", match=match) as fault:
        actor.commit()
        actor.begin()
        actor.send(topic, "second")
        actor.flush()
        first = requests(broker, "EndTxn")[0]
        fault.release()
        broker.wait_for(
            lambda: [e for e in broker.trace.where(cause=first["seq"]) if "decision" in e["kind"]]
        )
        if first["version"] >= 5:
            actor.abort()
        else:
            with pytest.raises(Failed):
                actor.abort()
    expected = ["first"] if first["version"] >= 5 else ["first", "second"]
    assert broker.wait_for(lambda: values(broker, topic)) == expected


def test_a_forgotten_fetch_session_is_begun_again(actor: Actor, broker: Ottla, topic: str) -> None:
    broker.produce(topic, ["a", "b"])
    with broker.faults.expect("forget_session", match={"api": "Fetch", "client_id": "actor"}):
        assert actor.poll(topic, 2) == ["a", "b"]


@pytest.mark.parametrize("what", ["wrong_correlation_id", "trailing_bytes"])
def test_a_corrupt_answer_loses_no_transaction(
    what: str, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect("corrupt", what=what, match=match):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        if what == "wrong_correlation_id" and not actor.survives_wrong_ids:
            with pytest.raises(Failed, match="TimeoutException"):
                actor.commit()
            actor.close()
            actor.open(broker, topic)
        else:
            actor.commit()
    assert actor.poll(topic, 1) == values(broker, topic) == ["x"]


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_held_produce_is_sent_again_and_written_once(
    point: str, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("hold", point=point, match=match) as fault:
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        assert fault.release() == 1
    actor.commit()
    assert len(requests(broker, "Produce")) == 2
    assert values(broker, topic) == ["x"]


def test_a_late_produce_is_found_to_be_a_duplicate(actor: Actor, broker: Ottla, topic: str) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("apply_late", match=match) as fault:
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        assert fault.release() == 1
    actor.commit()
    first, _ = requests(broker, "Produce")
    assert not broker.trace.where(kind="records_appended", cause=first["seq"])
    assert values(broker, topic) == ["x"]


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_once_loses_no_record(
    error: str, actor: Actor, broker: Ottla, topic: str
) -> None:
    """KAFKA_STORAGE_ERROR may be retried."""
    with broker.faults.expect("disk", error=error, match={"topic": topic, "times": 1}):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        actor.commit()
    assert len(requests(broker, "Produce")) > 1
    assert values(broker, topic) == ["x"]

"""Each action on requests, with librdkafka, aiokafka and the Java client.

Each test looks at the wire, the trace and the log afterwards.
"""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.testing.lab import Event

from .action_cases import (
    CORRUPT_ENDS,
    DISKS,
    FORGETTING,
    HELD,
    LATE,
    OF_END,
    OF_PRODUCE,
    OTHER_NODE,
    Case,
)
from .actors import Actor, Failed
from .traces import answers_of, values

pytestmark = pytest.mark.clients
ANSWERED = {
    "delay", "throttle", "apply_twice", "error", "move_leader", "move_coordinator", "hold"
}  # fmt: skip


def requests(broker: Ottla, api: str) -> list[Event]:
    return broker.trace.where(kind="request", api=api, client_id="actor")


def check_trace(case: Case, sent: list[Event], broker: Ottla) -> None:
    """Check that the trace has the fault, and whether the broker answered the first request."""
    (fault,) = broker.trace.where(kind="fault")
    assert (fault["cause"], fault["action"]["kind"]) == (sent[0]["seq"], case.kind)
    (answer,) = answers_of(broker, sent[0])
    assert ("unanswered" in answer) is (case.kind not in ANSWERED)
    assert case.is_sent_again in (None, len(sent) > 1)


def parameters_of(case: Case, broker: Ottla, topic: str) -> dict[str, Any]:
    """The parameters of an action, with a node for OTHER_NODE."""
    if case.parameters.get("node_id") != OTHER_NODE:
        return case.parameters
    with Client.to(broker.bootstrap) as client:
        if case.kind == "move_coordinator":
            present = client.transaction_coordinator(topic)
        else:
            answer = client.ask(ApiKey.METADATA, {"topics": [{"name": topic}]})
            present = answer.topics[0].partitions[0].leader_id
    return case.parameters | {"node_id": next(each for each in broker.nodes if each != present)}


@pytest.mark.parametrize("case", OF_PRODUCE, ids=str)
def test_a_record_is_written_once_although_its_produce_meets(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    given = parameters_of(case, broker, topic)
    with broker.faults.expect(case.kind, match=match, **given):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        actor.commit()
    sent = requests(broker, "Produce")
    check_trace(case, sent, broker)
    if "node_id" in given:
        assert sent[-1]["node_id"] == given["node_id"]
    appended = broker.trace.where(kind="records_appended", cause=sent[0]["seq"], topic=topic)
    assert bool(appended) is case.is_applied
    assert actor.poll(topic, 1) == values(broker, topic) == ["x"]


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("case", OF_END, ids=str)
def test_a_transaction_ends_once_although_its_end_meets(
    case: Case, commits: bool, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    actor.begin()
    actor.send(topic, "x")
    actor.flush()
    given = parameters_of(case, broker, topic)
    with broker.faults.expect(case.kind, match=match, **given):
        if commits:
            actor.commit()
        else:
            actor.abort()
    sent = requests(broker, "EndTxn")
    check_trace(case, sent, broker)
    if "node_id" in given:
        assert sent[-1]["node_id"] == given["node_id"]
    decided = broker.trace.where(kind="decision", cause=sent[0]["seq"])
    assert bool(decided) is case.is_applied
    actor.begin()
    actor.send(topic, "next")
    actor.commit()
    expected = ["x", "next"] if commits else ["next"]
    assert actor.poll(topic, len(expected)) == values(broker, topic) == expected


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_held_commit_goes_on_when_it_is_released(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    """The client gives up waiting and sends the commit again; both find one transaction."""
    actor.begin()
    actor.send(topic, "x")
    actor.flush()
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters) as fault:
        actor.commit()
        assert fault.release() == 1
    sent = requests(broker, "EndTxn")
    check_trace(case, sent, broker)
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
    match = {"api": "Fetch", "client_id": "actor"}
    with broker.faults.expect(FORGETTING.kind, match=match):
        assert actor.poll(topic, 2) == ["a", "b"]
    assert {each["cause"] for each in broker.trace.where(kind="fault")} <= {
        each["seq"] for each in requests(broker, "Fetch")
    }


@pytest.mark.parametrize("case", CORRUPT_ENDS, ids=str)
def test_a_corrupt_answer_loses_no_transaction(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "EndTxn", "transactional_id": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters):
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        if case.parameters["what"] == "wrong_correlation_id" and not actor.survives_wrong_ids:
            with pytest.raises(Failed, match="TimeoutException"):
                actor.commit()
            actor.close()
            actor.open(broker, topic)
        else:
            actor.commit()
    check_trace(case, requests(broker, "EndTxn"), broker)
    assert actor.poll(topic, 1) == values(broker, topic) == ["x"]


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_held_produce_is_sent_again_and_written_once(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters) as fault:
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        assert fault.release() == 1
    actor.commit()
    sent = requests(broker, "Produce")
    check_trace(case, sent, broker)
    assert len(sent) == 2
    assert values(broker, topic) == ["x"]


@pytest.mark.parametrize("case", LATE, ids=str)
def test_a_late_produce_is_found_to_be_a_duplicate(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters) as fault:
        actor.begin()
        actor.send(topic, "x")
        actor.flush()
        assert fault.release() == (0 if "ms" in case.parameters else 1)
    actor.commit()
    sent = requests(broker, "Produce")
    check_trace(case, sent, broker)
    appended = broker.trace.where(kind="records_appended", topic=topic)
    assert len({each["log_end_offset"] for each in appended}) == 1
    assert values(broker, topic) == ["x"]


@pytest.mark.parametrize("case", DISKS, ids=str)
def test_a_disk_that_fails_or_is_slow_loses_no_record(
    case: Case, actor: Actor, broker: Ottla, topic: str
) -> None:
    """KAFKA_STORAGE_ERROR may be retried. The answer to a Produce waits for its fsync."""
    synced = f"{topic}-synced"
    broker.create_topic(synced, replication_factor=3, configs={"flush.messages": "1"})
    match = {"topic": synced, "times": 1}
    with broker.faults.expect(case.kind, match=match, **case.parameters):
        actor.begin()
        actor.send(synced, "x")
        actor.flush()
        actor.commit()
    (fault,) = broker.trace.where(kind="fault")
    assert fault["action"] == {"kind": case.kind, **case.parameters}
    sent = requests(broker, "Produce")
    assert case.is_sent_again is (len(sent) > 1)
    (answer,) = answers_of(broker, sent[0])
    code = answer["response"]["responses"][0]["partition_responses"][0]["error_code"]
    assert code == (0 if case.is_applied else 56)  # KAFKA_STORAGE_ERROR
    assert answer["took_us"] >= 1000 * case.parameters.get("ms", 0)
    assert actor.poll(synced, 1) == values(broker, synced) == ["x"]

"""Actions on requests, with librdkafka, as far as other clients differ, and rules that are refused.

`test_actions_of_clients.py` has each action with each client.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ottla.client import ErrorAnswer
from ottla.testing import Ottla
from ottla.testing.lab import Event, FaultNotFired, LabRefused

from .traces import answers_of, values

pytestmark = pytest.mark.clients


class Sent:
    """A librdkafka producer that notes its deliveries."""

    def __init__(self, broker: Ottla, **settings: object) -> None:
        self.offsets: list[int] = []
        self.errors: list[int] = []
        self.producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0,
                "client.id": "librdkafka", "log_level": 0, "socket.timeout.ms": 2000,
                "enable.idempotence": True, **{k.replace("_", "."): v for k, v in settings.items()},
            }
        )  # fmt: skip

    def send(self, topic: str, value: str) -> None:
        self.producer.produce(topic, value.encode(), on_delivery=self._delivered)
        self.producer.poll(0)

    def flush(self) -> None:
        assert self.producer.flush(30) == 0

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.offsets.append(message.offset())
        else:
            self.errors.append(error.code())


def produced(broker: Ottla) -> list[Event]:
    return broker.trace.where(kind="request", api="Produce", client_id="librdkafka")


def test_a_dropped_answer_is_sent_again_and_found_to_be_a_duplicate(
    broker: Ottla, topic: str
) -> None:
    sent = Sent(broker)
    with broker.faults.expect(
        "drop_answer", close=True, match={"api": "Produce", "topic": topic, "nth": 1}
    ):
        sent.send(topic, "once")
        sent.flush()
    assert sent.offsets == [0]
    assert values(broker, topic) == ["once"]
    first, second = produced(broker)
    assert first["request"]["batches"] == second["request"]["batches"]
    (lost,), (found,) = answers_of(broker, first), answers_of(broker, second)
    assert "unanswered" in lost
    assert found["response"]["responses"][0]["partition_responses"][0]["base_offset"] == 0
    assert broker.trace.where(kind="records_appended", cause=first["seq"])
    assert not broker.trace.where(kind="records_appended", cause=second["seq"])


def test_an_error_is_answered_and_the_request_not_applied(broker: Ottla, topic: str) -> None:
    sent = Sent(broker)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("error", code="NOT_ENOUGH_REPLICAS", match=match):
        sent.send(topic, "again")
        sent.flush()
    first, _ = produced(broker)
    (answer,) = answers_of(broker, first)
    partition = answer["response"]["responses"][0]["partition_responses"][0]
    assert partition["error_code"] == KafkaError.NOT_ENOUGH_REPLICAS
    assert values(broker, topic) == ["again"]


def test_an_error_for_all_apis_passes_over_answers_without_a_place(broker: Ottla) -> None:
    match = {"topic": "no-such", "api": "*"}
    with broker.faults.expect("error", times=0, code="UNKNOWN_SERVER_ERROR") as fault:
        assert broker.lab().call("GET", "/nodes")
        with pytest.raises(ErrorAnswer):
            broker.create_topic("refused")
        assert fault.fired > 0
    with broker.faults.expect("error", times=0, code="UNKNOWN_SERVER_ERROR", match=match):
        broker.create_topic("taken")
    assert "failed to handle" not in broker.log_since(0)


def test_an_error_for_a_whole_fetch_is_read_again(broker: Ottla, topic: str) -> None:
    broker.produce(topic, ["a"])
    settings = {"group.id": topic, "client.id": "whole", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    match = {"api": "Fetch", "client_id": "whole", "nth": 1}
    try:
        with broker.faults.expect("error", code="FETCH_SESSION_ID_NOT_FOUND", match=match):
            consumer.assign([TopicPartition(topic, 0, 0)])
            read = [each.value() for each in consumer.consume(1, timeout=30) if not each.error()]
    finally:
        consumer.close()
    assert read == [b"a"]


def test_an_error_for_one_topic_leaves_the_others_of_the_request(broker: Ottla, topic: str) -> None:
    other = f"{topic}-other"
    broker.create_topic(other)
    sent = Sent(broker, linger_ms=200)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("error", code="MESSAGE_TOO_LARGE", match=match):
        sent.producer.produce(topic, b"refused", on_delivery=sent._delivered)
        sent.producer.produce(other, b"taken", on_delivery=sent._delivered)
        sent.flush()
    assert sent.errors == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert values(broker, topic) == []
    assert values(broker, other) == ["taken"]


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_delay_lets_the_request_or_its_answer_wait(broker: Ottla, topic: str, point: str) -> None:
    sent = Sent(broker)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("delay", ms=300, point=point, match=match):
        sent.send(topic, "x")
        sent.flush()
    (request,) = produced(broker)
    (answer,) = answers_of(broker, request)
    (appended,) = broker.trace.where(kind="records_appended", cause=request["seq"])
    assert answer["took_us"] >= 300_000
    assert (appended["at_ms"] - request["at_ms"] >= 290) is (point == "before")


def test_a_throttled_client_is_muted(broker: Ottla, topic: str) -> None:
    sent = Sent(broker)
    with broker.faults.expect("throttle", ms=400, match={"api": "Produce", "topic": topic}):
        sent.send(topic, "a")
        sent.flush()
    sent.send(topic, "b")
    sent.flush()
    first, second = produced(broker)
    assert answers_of(broker, first)[0]["response"]["throttle_time_ms"] == 400
    assert second["at_ms"] - first["at_ms"] >= 390


def test_a_request_is_applied_twice_as_a_retransmission(broker: Ottla, topic: str) -> None:
    sent = Sent(broker)
    with broker.faults.expect("apply_twice", match={"api": "Produce", "topic": topic, "nth": 1}):
        sent.send(topic, "once")
        sent.flush()
    assert sent.offsets == [0]
    assert values(broker, topic) == ["once"]


def test_without_idempotence_a_request_that_is_applied_twice_is_a_duplicate(
    broker: Ottla, topic: str
) -> None:
    sent = Sent(broker, enable_idempotence=False)
    with broker.faults.expect("apply_twice", match={"api": "Produce", "topic": topic, "nth": 1}):
        sent.send(topic, "twice")
        sent.flush()
    assert sent.offsets == [1]
    assert values(broker, topic) == ["twice", "twice"]


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_held_request_waits_for_its_release(broker: Ottla, topic: str, point: str) -> None:
    sent = Sent(broker, socket_timeout_ms=30_000)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("hold", point=point, match=match) as fault:
        sent.send(topic, "held")
        fault.wait_held()
        assert values(broker, topic) == (["held"] if point == "after" else [])
        assert fault.release() == 1
        sent.flush()
    assert values(broker, topic) == ["held"]
    assert fault_count(broker) == 0


def fault_count(broker: Ottla) -> int:
    return len(broker.faults)


def test_a_held_request_is_applied_although_its_client_has_gone(broker: Ottla, topic: str) -> None:
    sent = Sent(broker, socket_timeout_ms=30_000)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("hold", match=match) as fault:
        sent.send(topic, "ambiguous")
        fault.wait_held()
        del sent
        fault.release()
        assert broker.wait_for(lambda: values(broker, topic)) == ["ambiguous"]


def test_a_late_request_is_applied_after_the_client_sent_it_again(
    broker: Ottla, topic: str
) -> None:
    sent = Sent(broker, enable_idempotence=False)
    match = {"api": "Produce", "topic": topic, "nth": 1}
    with broker.faults.expect("apply_late", match=match) as fault:
        sent.send(topic, "x")
        sent.flush()
        assert values(broker, topic) == ["x"]
        fault.release()
        assert broker.wait_for(lambda: len(values(broker, topic)) == 2)


def test_a_forgotten_fetch_session_is_begun_again(broker: Ottla, topic: str) -> None:
    broker.produce(topic, ["a", "b"])
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers, "group.id": topic,
            "client.id": "session", "log_level": 0, "auto.offset.reset": "earliest",
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        assert [each.value() for each in consumer.consume(2, timeout=30)] == [b"a", b"b"]
        match = {"api": "Fetch", "client_id": "session"}
        with broker.faults.expect("forget_session", match=match) as fault:
            fault.wait_fired()
            broker.produce(topic, ["c"])
            assert [each.value() for each in consumer.consume(1, timeout=30)] == [b"c"]
    finally:
        consumer.close()


def test_a_fault_that_does_not_fire_fails_the_test(broker: Ottla) -> None:
    match = {"api": "EndTxn"}
    with (
        pytest.raises(FaultNotFired, match="fired 0 times instead of 1"),
        broker.faults.expect("close_before", match=match),
    ):
        pass


def test_an_error_of_the_body_is_not_hidden_by_a_fault_that_did_not_fire(broker: Ottla) -> None:
    match = {"api": "EndTxn"}
    with pytest.raises(ZeroDivisionError), broker.faults.expect("close_before", match=match):
        raise ZeroDivisionError
    assert len(broker.faults) == 0


@pytest.mark.parametrize(
    ("kind", "match", "parameters", "why"),
    [
        ("error", {"api": "Prod"}, {"code": "UNKNOWN_SERVER_ERROR"}, "no API fits Prod"),
        ("error", {"api": "Produce"}, {"code": "NO_SUCH"}, "none of Kafka's error codes"),
        ("error", {"api": "Produce"}, {"code": 0}, "NONE is no error"),
        ("error", {"api": "EndTxn", "topic": "t"}, {"code": 1}, "no place for an error of a topic"),
        ("hold", {"api": "SaslHandshake"}, {}, "after the login"),
        ("hold", {"versions": [5, 3]}, {}, "the lowest version comes first"),
        ("hold", {"api": "EndTxn", "versions": [90, 99]}, {}, "no served version"),
        ("hold", {"node_id": 77}, {}, "node 77 does not exist"),
        ("corrupt", {}, {"what": "nothing"}, "none of"),
        ("forget_session", {"api": "Produce"}, {}, "acts on Fetch alone"),
        ("crash", {"api": "EndTxn"}, {"point": "marker"}, "acts on steps of the broker"),
        ("disk", {}, {"error": "EIO"}, "disk needs a topic"),
        ("hold", {"nth": 3, "every": 2}, {}, "none of every 2"),
        ("hold", {"probability": 0}, {}, "can never fire"),
        (
            "hold",
            {"api": "Metadata", "transactional_id": "x"},
            {},
            "match.transactional_id: requests",
        ),
        ("delay", {"api": "EndTxn", "topic": "x"}, {"ms": 1}, "match.topic: requests of EndTxn"),
        ("hold", {"api": "Heart*", "group": "g", "partition": 0}, {}, "match.partition: requests"),
        ("delay", {}, {"ms": 5, "up_to_ms": 3}, "at least ms"),
        ("nothing", {}, {}, "action.kind must be one of"),
        ("drop_anser", {}, {}, "did you mean drop_answer?"),
        ("hold", {"topc": "t"}, {}, "unknown field `topc`"),
    ],
)
def test_a_rule_that_can_never_fire_is_refused(
    broker: Ottla, kind: str, match: dict[str, Any], parameters: dict[str, Any], why: str
) -> None:
    with pytest.raises(LabRefused, match=why):
        broker.faults.add(kind, match=match, **parameters)
    assert len(broker.faults) == 0

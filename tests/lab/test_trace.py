"""The trace from Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.client.cluster_client import Client
from ottla.client.connection import Connection
from ottla.client.security import UNSECURED
from ottla.protocol.addresses import read_addresses
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.requests import request_frame
from ottla.testing import Ottla
from ottla.testing.lab import LabRefused

from .actors import Aiokafka

pytestmark = pytest.mark.clients


@pytest.fixture
def actor(broker: Ottla, topic: str) -> Iterator[Aiokafka]:
    made = Aiokafka()
    made.open(broker, topic)
    yield made
    made.close()
    made.end()


def states_before(broker: Ottla) -> list[str | None]:
    return [
        record["before"]
        for event in broker.trace.where(kind="decision")
        for record in event["records"]
        if record["type"] == "Transaction"
    ]


def state_of(broker: Ottla, transactional_id: str) -> str:
    return {each.transactional_id: each.state for each in broker.transactions()}[transactional_id]


def transact(actor: Aiokafka, topic: str) -> None:
    actor.begin()
    actor.send(topic, "x")
    actor.flush()


def test_the_state_before_is_unknown_after_a_pause_of_the_trace(
    actor: Aiokafka, broker: Ottla, topic: str
) -> None:
    transact(actor, topic)
    assert states_before(broker)[-1] == "Empty"
    broker.trace.stop()
    actor.commit()
    broker.wait_for(lambda: state_of(broker, topic) == "CompleteCommit")
    broker.trace.clear()
    broker.trace.start()
    transact(actor, topic)
    assert states_before(broker) == [None]
    actor.commit()


def test_a_trace_that_was_never_on_is_not_empty_but_refused() -> None:
    with Ottla() as broker:
        for read in (broker.trace.events, broker.trace.lines, broker.trace.where):
            with pytest.raises(LabRefused, match="never on since the broker's start"):
                read()
        broker.trace.start()
        broker.trace.stop()
        assert broker.trace.events() == []
        broker.restart()
        with pytest.raises(LabRefused, match="never on since the broker's start"):
            broker.trace.events()


def test_the_lines_of_a_trace_are_those_of_chosen_apis(
    actor: Aiokafka, broker: Ottla, topic: str
) -> None:
    transact(actor, topic)
    actor.commit()
    requests = [line for line in broker.trace.lines("End*", "Produce") if " actor " in line]
    assert ["EndTxn" in line for line in requests] == [False, True]
    assert any("AddPartitionsToTxn" in line for line in broker.trace.lines())


def test_requests_and_answers_show_the_headers_of_their_batches(
    actor: Aiokafka, broker: Ottla, topic: str
) -> None:
    transact(actor, topic)
    actor.commit()
    (produce,) = broker.trace.where(kind="request", api="Produce", client_id="actor")
    (batch,) = produce["request"]["batches"]
    assert (batch["topic"], batch["base_sequence"], batch["records"]) == (topic, 0, 1)
    assert [record.value for record in broker.read(topic, until=1)] == [b"x"]
    (fetched,) = [
        answer["response"]["batches"]
        for answer in broker.trace.where(kind="answer", api="Fetch")
        if answer["response"]["batches"]
    ]
    assert [each["is_control"] for each in fetched] == [False, True]
    assert fetched[0]["crc"] == batch["crc"]
    topic_id = produce["request"]["topic_data"][0]["topic_id"] or fetched[0]["topic"]
    assert topic_id == topic or len(topic_id) == 22  # an id in Kafka's base64


def test_a_large_answer_is_traced_with_its_headers_and_sent(broker: Ottla, topic: str) -> None:
    """The bytes of such an answer stay in the file until they are sent."""
    for size in (300_000, 200_000):
        broker.produce(topic, ["x" * size, "y"])
    assert [len(each.value or b"") for each in broker.read(topic)] == [300_000, 1, 200_000, 1]
    found = [
        batch
        for answer in broker.trace.where(kind="answer", api="Fetch")
        for batch in answer["response"]["batches"]
    ]
    assert [each["base_offset"] for each in found] == [0, 2]
    assert [each["records"] for each in found] == [2, 2]
    assert all(each["size_bytes"] > 200_000 for each in found)


@pytest.mark.parametrize(
    ("what", "names"), [("unknown_tags", "response"), ("trailing_bytes", "unanswered")]
)
def test_a_changed_answer_is_one_if_clients_can_read_it(
    what: str, names: str, broker: Ottla
) -> None:
    with (
        Client.to(broker.bootstrap) as client,
        broker.faults.expect("corrupt", what=what, match={"api": "ListGroups"}),
    ):
        body: dict[str, list[str]] = {"states_filter": [], "types_filter": []}
        if names == "response":
            assert client.ask(ApiKey.LIST_GROUPS, body).error_code == 0
        else:
            client.send(ApiKey.LIST_GROUPS, body, node_id=1)
        broker.wait_for(lambda: broker.trace.where(kind="answer", api="ListGroups"))
    (answer,) = broker.trace.where(kind="answer", api="ListGroups")
    assert {"response", "unanswered"} & answer.keys() == {names}


def test_records_that_are_no_batches_have_a_topic_in_the_trace(broker: Ottla, topic: str) -> None:
    partition = {"index": 0, "records": b"short"}
    body = {
        "transactional_id": None, "acks": -1, "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [partition]}],
    }  # fmt: skip
    with Client.to(broker.bootstrap) as client:
        answer = client.ask(ApiKey.PRODUCE, body, version=9)
    assert answer.responses[0].partition_responses[0].error_code != 0
    (produce,) = broker.trace.where(kind="request", api="Produce")
    assert produce["request"]["batches"] == [{"topic": topic, "partition": 0}]


@pytest.mark.parametrize("version", [0, 3, 4])
def test_an_unsupported_version_of_api_versions_is_answered_as_by_kafka(
    version: int, broker: Ottla
) -> None:
    """In version 0, with the versions of ApiVersions itself (KIP-511)."""
    address = read_addresses(broker.bootstrap)[0]
    name = {"client_software_name": "a", "client_software_version": "1"}
    frame = bytearray(request_frame(ApiKey.API_VERSIONS, version, 7, "x", name))
    with broker.faults.expect("error", code="UNSUPPORTED_VERSION", match={"api": "ApiVersions"}):
        by_the_fault = _exchange(address, frame)
    newer = bytearray(request_frame(ApiKey.API_VERSIONS, 4, 7, "x", name))
    newer[6:8] = (99).to_bytes(2, "big")
    assert _exchange(address, newer) == by_the_fault
    (shown,) = [
        each["response"]["api_keys"]
        for each in broker.trace.where(kind="answer", api="ApiVersions")
        if each["response"]["error_code"]
    ]
    assert [each["api_key"] for each in shown] == [int(ApiKey.API_VERSIONS)]


def _exchange(address: tuple[str, int], frame: bytearray) -> bytes:
    connection = Connection.open(address, timeout_s=10, security=UNSECURED, client_id="x")
    try:
        return connection.exchange(frame)
    finally:
        connection.close()

"""A process of three nodes whose inter-broker listener has TLS or logins."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing import Ottla
from ottla.testing.certificates import Names, server_settings, write_certificates

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_markers_of_a_transaction_reach_all_nodes(tmp_path: Path, protocol: str) -> None:
    write_certificates(tmp_path / "certificates", Names())
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,NODES://127.0.0.1:0",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,NODES:{protocol}",
        "inter.broker.listener.name": "NODES",
        "listener.name.nodes.ssl.client.auth": "required",
        "listener.name.nodes.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.nodes.plain.sasl.jaas.config": f'{MODULE} user_alice="secret";',
        **server_settings(tmp_path / "certificates"),
    }
    with Ottla(nodes=3, settings=settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for made in admin.create_topics([NewTopic("orders", 3, 3)]).values():
            made.result(10)
        for index, node_id in enumerate(broker.nodes):
            broker.move_leader("orders", index, node_id)
        broker.trace.start()
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "shop"})
        producer.init_transactions(10)
        producer.begin_transaction()
        for index in range(3):
            producer.produce("orders", b"x", partition=index)
        producer.commit_transaction(10)
        broker.wait_for(lambda: "CompleteCommit" in states(broker))
        sent = broker.trace.where(kind="request", api="WriteTxnMarkers")
        assert sent
        assert {each["listener"] for each in sent} == {"NODES"}
        assert {each["principal"] for each in sent} == {"Node:"}
        opened = broker.trace.where(kind="connection_opened", listener="NODES")
        assert len({each["node_id"] for each in opened}) == 2
        del producer


def states(broker: Ottla) -> list[object]:
    """The states of the transactions that the trace saw."""
    return [
        each.get("after")
        for event in broker.trace.where(kind="decision")
        for each in event["records"]
    ]

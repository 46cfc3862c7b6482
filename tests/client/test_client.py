"""The command line's client: a peer that is no Kafka broker is reported as such."""

from __future__ import annotations

import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.client import Client, NoAnswer
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (struct.pack(">i", 4) + b"HTTP", "its answer cannot be read"),
        (struct.pack(">ii", 5, 1) + b"\0", "its answer cannot be read"),
        (b"HT", "it closed the connection"),
        (b"HTTP", "it is an HTTP server"),
        (bytes.fromhex("15030300"), "the port speaks TLS"),
    ],
    ids=["another protocol", "an answer that is cut", "nothing whole", "HTTP", "TLS"],
)
def test_a_peer_that_is_no_broker_gives_no_answer_and_leaves_no_connection(
    said: bytes, told: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as beside:
        server.settimeout(10)

        def answer_once() -> bytes:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(10)
                connection.recv(1 << 16)
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                return connection.recv(1)

        left = beside.submit(answer_once)
        with pytest.raises(NoAnswer, match=told):
            Client("127.0.0.1", server.getsockname()[1])
        assert left.result(timeout=10) == b"", "the client has closed its side"


def test_a_node_that_the_cluster_does_not_name_gives_no_answer() -> None:
    client = Client("127.0.0.1", 9, connects=False)
    with pytest.raises(NoAnswer, match="node 7: the cluster names no such node now"):
        client.ask(ApiKey.DESCRIBE_LOG_DIRS, {"topics": None}, node_id=7)


def test_after_the_death_of_its_only_given_node_a_client_asks_the_nodes_that_were_named() -> None:
    with Ottla(nodes=2) as broker:
        first, second = broker.nodes.values()
        with Client.to(first.bootstrap) as client:
            first.cut()
            with pytest.raises(NoAnswer):
                client.metadata([])
            client.metadata([])
            assert [*client.brokers] == [second.node_id]

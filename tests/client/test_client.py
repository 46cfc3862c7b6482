"""The command line's client: a peer that is no Kafka broker is reported as such."""

from __future__ import annotations

import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.client import Client, NoAnswer


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

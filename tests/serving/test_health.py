"""`ottla health` against sockets that answer like a broker, like something else, or not at all."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.__main__ import main
from ottla.serving.health import answers

API_VERSIONS_0 = bytes.fromhex("0000000a 0012 0000 00000007 ffff")


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that reads one request, answers so, and hangs up; its port and what it was sent."""
    asked: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            asked.append(connection.recv(100))
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], asked
        thread.join()


def api_versions(correlation_id: int, error_code: int) -> bytes:
    body = struct.pack(">ihi", correlation_id, error_code, 0)
    return struct.pack(">i", len(body)) + body


def test_a_broker_that_answers_is_healthy() -> None:
    with answering(api_versions(7, 0)) as (port, asked):
        assert answers("127.0.0.1", port) is None
    assert asked == [API_VERSIONS_0]


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a Kafka broker"),
        (api_versions(7, 35), "it answers with UNSUPPORTED_VERSION"),
    ],
)
def test_a_server_without_kafkas_answer_is_not_healthy(answer: bytes, trouble: str) -> None:
    with answering(answer) as (port, _):
        assert trouble in (answers("127.0.0.1", port) or "")


def test_a_broker_that_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "timed out" in (answers(*silent.getsockname(), timeout_s=0.05) or "")


def test_the_exit_status_shows_the_health(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(api_versions(7, 0)) as (port, _):
        assert main(["health", f"127.0.0.1:{port}"]) == 0
    with socket.socket() as bound:  # bound but not listening
        bound.bind(("127.0.0.1", 0))
        assert main(["health", f"127.0.0.1:{bound.getsockname()[1]}"]) == 1
    assert "refused" in capsys.readouterr().err
    assert main(["health", "nonsense"]) == 2

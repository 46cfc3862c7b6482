"""A server of another kind, which is asked as if it were the control of a broker."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from ottla.testing.lab import LabClient

_JSON = "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}"


@pytest.fixture
def stranger(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that gives one answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(request.param.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "stranger",
    [
        "HTTP/1.1 404 Not Found\r\n" + _JSON.format(28, '{"error_code":404,"a":"b"}\r\n'),
        "HTTP/1.1 404 Not Found\r\n" + _JSON.format(2, "[]"),
        "HTTP/1.1 400 Bad Request\r\n" + _JSON.format(14, '{"error": {} }'),
        "HTTP/1.1 200 OK\r\n" + _JSON.format(100, "{}"),
        "HTTP/7 200 OK\r\n" + _JSON.format(2, "{}"),
        "x" * 70_000,
    ],
    ids=["an object", "a list", "another error", "cut", "another protocol", "a long line"],
    indirect=True,
)
def test_a_server_that_is_no_control_is_an_error_that_says_so(stranger: str) -> None:
    with pytest.raises(OSError, match="what listens there is no control"):
        LabClient(lambda: stranger).call("GET", "/faults")


def test_a_wrong_request_is_not_blamed_on_the_control() -> None:
    itself: dict[str, object] = {}
    itself["body"] = itself
    with pytest.raises(ValueError, match="Circular"):
        LabClient(lambda: "127.0.0.1:1").call("POST", "/faults", itself)

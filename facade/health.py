"""`ottla health`: sends one ApiVersions request; imports only sockets, to be fast."""

from __future__ import annotations

import socket
import struct

# ApiVersions (key 18) version 0, correlation id 7, no client id.
_REQUEST = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def answers(host: str, port: int, *, timeout_s: float = 3.0) -> str | None:
    """None if the broker answers ApiVersions without an error, else the reason."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_REQUEST)
            answer = b""
            while len(answer) < 10:
                data = connection.recv(10 - len(answer))
                if not data:
                    return "it closed the connection"
                answer += data
    except OSError as error:
        return str(error) or type(error).__name__
    _, correlation_id, error_code = struct.unpack(">iih", answer)
    if correlation_id != 7:
        return "the peer is not a Kafka broker"
    return None if error_code == 0 else f"it answers with error {error_code}"

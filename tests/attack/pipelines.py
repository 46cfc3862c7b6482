"""Attacks by pipelined requests: the client does not wait for the earlier answers."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

from tests.wire.client import encode, framed, header

from .scene import Scene, attack, close_all, read_until_closed

_METADATA = framed(header(3, 0, client_id=b"") + struct.pack(">i", 0))
_API_VERSIONS = framed(header(18, 0, client_id=b""))
_PIPELINED_METADATA, _STREAM_BYTES = 13_000, 289_000


@attack()
def pipelined_metadata(scene: Scene) -> None:
    """One connection sends 13,000 Metadata requests in 273 KB, and reads the answers."""
    count = scene.count(_PIPELINED_METADATA)
    stream = _METADATA * count
    scene.notes.append(f"{count} requests in {len(stream)} bytes")
    _send_and_read(scene, [stream], answers=count)


@attack()
def pipelined_api_versions(scene: Scene) -> None:
    """200 connections send 289 KB of ApiVersions each, and never read."""
    stream = _API_VERSIONS * (_STREAM_BYTES // len(_API_VERSIONS))
    sockets = _flood(scene, stream, scene.count(200))
    threading.Event().wait(5 * max(scene.scale, 0.4))
    close_all(sockets)


@attack()
def pipelined_describe_configs(scene: Scene) -> None:
    """One connection sends 180 KB of DescribeConfigs of the broker, and reads the answers."""
    node_id = str(scene.talk().node_id())
    body = {"resources": [{"resource_type": 4, "resource_name": node_id}]}
    one = encode("DescribeConfigs", 1, body, correlation_id=1, client_id="")
    count = scene.count(180_000 // len(one))
    scene.notes.append(f"{count} requests")
    sockets = _flood(scene, one * count, 1)
    sockets[0].settimeout(10)
    read = read_until_closed(sockets[0], 16 << 20)
    scene.notes.append(f"{read} bytes of answers were read")
    close_all(sockets)


def _flood(scene: Scene, stream: bytes, connections: int) -> list[socket.socket]:
    """Connections that have each sent as much of a stream as the broker accepts."""
    sockets = []
    for _ in range(connections):
        made = scene.socket()
        made.setblocking(False)
        with suppress(BlockingIOError):
            made.send(stream)
        made.setblocking(True)
        sockets.append(made)
    return sockets


def _send_and_read(scene: Scene, streams: list[bytes], *, answers: int) -> None:
    for stream in streams:
        connection = scene.connect()
        sender = threading.Thread(target=connection.send_raw, args=(stream,), daemon=True)
        sender.start()
        for _ in range(answers):
            connection.frame(timeout_s=30)
        sender.join(10)
        connection.close()

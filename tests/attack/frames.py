"""Attacks by malformed frames, and by frames that arrive in small parts."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from contextlib import suppress

from ottla.protocol.api_keys import ApiKey
from tests.protocol.message_values import SERVED, Values, request_frame, schema
from tests.wire.client import Closed, NoAnswer, encode, framed, header

from .scene import Scene, attack, close_all, read_until_closed

# A mutated frame may be a valid request; these APIs would stop the broker or delete its data.
_NOT_SENT = {ApiKey.UNREGISTER_BROKER, ApiKey.DELETE_TOPICS, ApiKey.DELETE_GROUPS}
_COUNTS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff\x07")
_IN_A_BURST = 25
_LENGTHS = (-1, 0, 1, 3, 100 << 20 | 1, 2**31 - 1, -(2**31))


@attack(limit_s=90)
def malformed_frames(scene: Scene) -> None:
    """Frames of all APIs and versions: random, cut, mutated from valid ones, absurd counts."""
    served = [(key, version) for key, version in SERVED if key not in _NOT_SENT]
    valid = []
    for key, version in served:
        values = Values(scene.random.randrange(100)).of_struct(schema(key, "Request"), version)
        valid.append(framed(request_frame(key, version, values)))
    count = scene.count(30_000, least=len(valid))
    deadline_s = time.monotonic() + 60 * max(scene.scale, 0.15)
    sent = read_bytes = 0
    while sent < count and time.monotonic() < deadline_s:
        burst = [damaged(scene.random, scene.random.choice(valid)) for _ in range(_IN_A_BURST)]
        # A malformed frame closes its connection, so most of them need a connection of their own.
        for each in burst if sent // _IN_A_BURST % 2 else [b"".join(burst)]:
            with suppress(OSError), scene.socket(timeout_s=5) as connection:
                connection.sendall(each)
                connection.shutdown(socket.SHUT_WR)
                read_bytes += read_until_closed(connection, 1 << 20)
        sent += _IN_A_BURST
    scene.notes.append(f"{sent} frames of {len(valid)} APIs and versions")
    assert read_bytes > sent, "these frames are not read: hardly one is answered"


def damaged(chance: random.Random, frame: bytes) -> bytes:
    """A frame damaged in one of several ways; its size field is mostly right."""
    body = bytearray(frame[4:]) or bytearray(1)
    kind = chance.randrange(6)
    if kind == 0:
        body = body[: chance.randrange(len(body))]
    elif kind == 1:
        for _ in range(chance.randrange(1, 6)):
            body[chance.randrange(len(body))] = chance.randrange(256)
    elif kind == 2:
        at = chance.randrange(len(body))
        body[at : at + 4] = chance.choice(_COUNTS)
    elif kind == 3:
        body = body[:8] + chance.randbytes(chance.randrange(200))
    elif kind == 4:
        at = chance.randrange(len(body))
        body[at:at] = chance.randbytes(chance.randrange(1, 40))
    else:
        body = bytearray(chance.randbytes(chance.randrange(60)))
    length = len(body) if chance.random() < 0.95 else chance.choice(_LENGTHS)
    return struct.pack(">i", length) + body


@attack()
def absurd_lengths(scene: Scene) -> None:
    """Frames with sizes that are negative, 0, 1 or 2 GB are refused at once."""
    for length in _LENGTHS:
        with scene.socket(timeout_s=5) as connection:
            connection.sendall(struct.pack(">i", length) + bytes(64))
            connection.shutdown(socket.SHUT_WR)
            read = read_until_closed(connection, 1 << 20)
            assert read == 0, f"a frame of length {length} is answered by {read} bytes"


@attack()
def zeros_behind_a_parked_fetch(scene: Scene) -> None:
    """40 MB of empty frames and as many of one byte follow a Fetch that waits."""
    fetch = encode("Fetch", 4, _PARKED, correlation_id=1)
    most = scene.count(40 << 20)
    for stream in (bytes(most), b"\0\0\0\1\0" * (most // 5)):
        taken = 0
        with suppress(OSError), scene.socket(timeout_s=3) as connection:
            connection.sendall(fetch)
            time.sleep(0.2)
            view = memoryview(stream)
            while taken < len(view):
                taken += connection.send(view[taken : taken + (1 << 20)])
        scene.notes.append(f"{taken} bytes were accepted")


_PARKED = {"max_wait_ms": 20_000, "min_bytes": 1 << 20, "max_bytes": 1 << 20, "topics": []}


@attack()
def byte_by_byte(scene: Scene) -> None:
    """200 connections send an ApiVersions request a byte at a time; each is answered."""
    request = framed(header(18, 0))
    connections = [scene.connect() for _ in range(scene.count(200))]
    for each in request:
        for connection in connections:
            connection.send_raw(bytes([each]))
    for connection in connections:
        connection.frame(timeout_s=20)
        connection.close()


@attack()
def incomplete_frames(scene: Scene) -> None:
    """60 connections send 30 MB of a frame each and never its end."""
    frame = struct.pack(">i", 31 << 20) + header(0, 9)
    rest = bytes((30 << 20) - len(frame))
    sockets = [scene.socket() for _ in range(scene.count(60, least=8))]
    taken = [0] * len(sockets)

    def send(number: int, connection: socket.socket) -> None:
        connection.settimeout(4)
        with suppress(OSError):
            connection.sendall(frame)
            view = memoryview(rest)
            while taken[number] < len(view):
                taken[number] += connection.send(view[taken[number] : taken[number] + (1 << 18)])

    threads = [threading.Thread(target=send, args=each, daemon=True) for each in enumerate(sockets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    scene.notes.append(f"{sum(taken) >> 20} MiB of {30 * len(sockets)} were accepted")
    close_all(sockets)


@attack()
def incomplete_sizes(scene: Scene) -> None:
    """500 connections send three bytes and 500 send nothing; others are still served."""
    sockets = [scene.socket() for _ in range(scene.count(1000))]
    for connection in sockets[::2]:
        connection.sendall(b"\0\0\0")
    speaker = scene.connect()
    try:
        speaker.call("ApiVersions", 0)
    except (Closed, NoAnswer):
        raise AssertionError("a new connection is not answered") from None
    finally:
        speaker.close()
        close_all(sockets)

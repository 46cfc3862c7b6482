"""Attacks by clients that read slowly, or not at all."""

from __future__ import annotations

import time
from typing import Any

from tests.wire.batches import batch
from tests.wire.client import LENGTH, encode

from .scene import Scene, attack, close_all

_BATCH_BYTES = 900_000
_FETCH_BYTES = 55 << 20  # fetch.max.bytes, 57 million


def _fetch(topic: str, offset: int, *, max_wait_ms: int, min_bytes: int, max_bytes: int) -> bytes:
    part: dict[str, Any] = {
        "partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes
    }  # fmt: skip
    body = {
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "topics": [{"topic": topic, "partitions": [part]}],
    }
    return encode("Fetch", 4, body, correlation_id=1)


def _filled(scene: Scene, size_bytes: int) -> str:
    broker = scene.talk()
    topic = broker.topic()
    for _ in range(-(-size_bytes // _BATCH_BYTES)):
        broker.produce(topic, batch([scene.random.randbytes(_BATCH_BYTES)]))
    return topic


@attack()
def readers_that_do_not_read(scene: Scene) -> None:
    """40 connections fetch 57 MB each and do not read for three seconds; then one reads."""
    whole = scene.count(_FETCH_BYTES, least=16 << 20)
    topic = _filled(scene, whole)
    fetch = _fetch(topic, 0, max_wait_ms=0, min_bytes=0, max_bytes=_FETCH_BYTES)
    sockets = [scene.socket() for _ in range(40)]
    for connection in sockets:
        connection.sendall(fetch)
    time.sleep(3)
    reader = sockets.pop()
    (size,) = LENGTH.unpack(reader.recv(4))
    read = 0
    while read < size:
        data = reader.recv(1 << 20)
        assert data, f"the answer ends after {read} of {size} bytes"
        read += len(data)
    scene.notes.append(f"the late reader got {read >> 20} MiB")
    assert read > whole - _BATCH_BYTES, "the answer is incomplete"
    close_all([*sockets, reader])


@attack()
def slow_readers(scene: Scene) -> None:
    """20 connections fetch 57 MB each and read 64 KB four times a second."""
    topic = _filled(scene, scene.count(_FETCH_BYTES, least=16 << 20))
    fetch = _fetch(topic, 0, max_wait_ms=0, min_bytes=0, max_bytes=_FETCH_BYTES)
    sockets = [scene.socket() for _ in range(20)]
    for connection in sockets:
        connection.sendall(fetch)
    for _ in range(scene.count(20, least=4)):
        for connection in sockets:
            connection.recv(1 << 16)
        time.sleep(0.25)
    close_all(sockets)


@attack()
def a_reader_of_all(scene: Scene) -> None:
    """One consumer reads 500 MB from the start as fast as it can."""
    topic = _filled(scene, 50 << 20)
    for _ in range(scene.count(10)):
        broker = scene.talk()
        offset = 0
        while True:
            answer = broker.fetch_raw([(topic, 0, offset)], version=12)
            records = answer["responses"][0]["partitions"][0]["records"]
            if not records:
                break
            offset += len(records) // _BATCH_BYTES
        broker.connection.close()


@attack()
def a_fetch_that_waits_for_much(scene: Scene) -> None:
    """A Fetch waits for 20 MB while 5,000 batches of a kilobyte are appended."""
    broker = scene.talk()
    topic = broker.topic()
    waiting = scene.socket()
    waiting.sendall(_fetch(topic, 0, max_wait_ms=50_000, min_bytes=20 << 20, max_bytes=40 << 20))
    one = batch([bytes(1000)])
    for _ in range(scene.count(5000)):
        broker.produce_raw([(topic, 0, one)], version=9)
    waiting.close()


@attack()
def parked_fetches(scene: Scene) -> None:
    """5,000 connections wait in a Fetch; one batch is appended, and all get answers."""
    broker = scene.talk()
    topic = broker.topic()
    fetch = _fetch(topic, 0, max_wait_ms=50_000, min_bytes=1, max_bytes=1 << 20)
    sockets = [scene.socket() for _ in range(scene.count(5000))]
    for number, connection in enumerate(sockets):
        connection.sendall(fetch)
        if number % 50 == 0:
            time.sleep(0.01)  # the waiting is the attack, not the arrival at one moment
    time.sleep(0.5)
    broker.produce(topic, batch([b"v"]))
    for connection in sockets:
        assert len(connection.recv(4)) == 4, "a fetch that waited is not answered"
    close_all(sockets)

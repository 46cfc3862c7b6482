"""A client that sends much and reads no answer takes little memory, and delays no other."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from ottla.broker.net.held_memory import SMALL_BYTES
from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.client.async_connection import read_frame
from ottla.protocol.api_keys import ApiKey
from tests.broker.fakes import framed
from tests.broker.net.listening_node import Client, listening_node
from tests.wire.batches import batch

pytestmark = pytest.mark.real_time

METADATA_REQUESTS = 3_000
TOPICS = 30
FETCHES = 200
RECORDS_BYTES = 500_000
SOCKET_BYTES = 1 << 16
HELD_BYTES = 1 << 20


async def flood(sockets: NodeSockets, requests: bytes) -> tuple[socket.socket, int]:
    """A connection that has sent as much of the requests as is read of them; how much it was."""
    loop = asyncio.get_running_loop()
    sender = socket.socket()
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sender.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
    sender.setblocking(False)
    await loop.sock_connect(sender, sockets.address)
    at, unread = 0, 0
    while at < len(requests) and unread < 20:
        try:
            at += sender.send(requests[at : at + SOCKET_BYTES])
            unread = 0
        except BlockingIOError:
            unread += 1
            await served(sockets)
    return sender, at


async def served(sockets: NodeSockets) -> None:
    """Another client gets its answer: the loop has had turns for the first one as well."""
    other = await Client.of(sockets)
    assert await other.answer()
    await other.leave()


def held_bytes(sockets: NodeSockets) -> int:
    """What all connections hold: requests not served yet, and answers not sent yet."""
    return sum(
        each._frames.unread_bytes + each.unsent_bytes
        for each in sockets._connections
        if hasattr(each, "_transport")  # not while it is being accepted
    )


async def correlation_ids(sender: socket.socket, rest: bytes, count: int) -> list[int]:
    """The answers' numbers, while the rest of the requests is sent."""
    reader, writer = await asyncio.open_connection(sock=sender)
    writer.write(rest)
    found = []
    for _ in range(count):
        answer = await read_frame(reader)
        found.append(int.from_bytes(answer[:4], "big"))
    writer.close()
    await writer.wait_closed()
    return found


async def check(sockets: NodeSockets, requests: list[bytes]) -> None:
    """Send all requests without reading; then read all answers."""
    stream = b"".join(requests)
    sender, sent_bytes = await flood(sockets, stream)
    before = -1
    while before != held_bytes(sockets):  # until no request of it is served any more
        before = held_bytes(sockets)
        for _ in range(3):
            await served(sockets)
    assert SMALL_BYTES // 2 < held_bytes(sockets) < HELD_BYTES
    numbers = await correlation_ids(sender, stream[sent_bytes:], len(requests))
    assert numbers == list(range(len(requests)))


def filled(node: Node) -> None:
    """Topics for Metadata, one of them with records for Fetch."""
    for number in range(TOPICS):
        node.controller.create_topic(f"topic-{number}", partitions=2)
    log = node.open_log_of("topic-0", 0)
    assert log is not None
    now_ms = node.clock.now_ms()
    log.append(batch([bytes(RECORDS_BYTES)], timestamp=now_ms), now_ms=now_ms)


async def test_metadata_requests_of_a_client_that_does_not_read(tmp_path: Path) -> None:
    async with listening_node(tmp_path) as (node, sockets):
        filled(node)
        topics = [{"name": f"topic-{number}"} for number in range(TOPICS)]
        every = [
            framed(ApiKey.METADATA, 4, correlation_id=number, topics=topics)
            for number in range(METADATA_REQUESTS)
        ]
        await check(sockets, every)


async def test_fetches_of_a_client_that_does_not_read(tmp_path: Path) -> None:
    async with listening_node(tmp_path) as (node, sockets):
        filled(node)
        part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        topics = [{"topic": "topic-0", "partitions": [part]}]
        every = [
            framed(ApiKey.FETCH, 11, correlation_id=number, max_bytes=1 << 20, topics=topics)
            for number in range(FETCHES)
        ]
        await check(sockets, every)

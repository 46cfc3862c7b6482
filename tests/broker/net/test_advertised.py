"""A client gets the advertised address of the listener that it connected to, by name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.broker.net.sockets import NodeSockets
from ottla.client.async_connection import AsyncConnection
from ottla.protocol.api_keys import ApiKey
from tests.broker.net.listening_node import listening_node

pytestmark = pytest.mark.real_time(debug=True)


@pytest.mark.parametrize(
    ("advertised", "expected"),
    [
        ("IN://kafka:29092,OUT://example.org:9092", [("kafka", 29092), ("example.org", 9092)]),
        ("OUT://example.org:9092,IN://kafka:29092", [("kafka", 29092), ("example.org", 9092)]),
        ("OUT://example.org:9092", [("127.0.0.1", None), ("example.org", 9092)]),
    ],
)
async def test_each_listener_has_its_own_advertised_address(
    tmp_path: Path, advertised: str, expected: list[tuple[str, int | None]]
) -> None:
    settings = {
        "listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0",
        "advertised_listeners": advertised,
        "listener_security_protocol_map": "IN:PLAINTEXT,OUT:PLAINTEXT",
        "inter_broker_listener_name": "OUT",
    }
    async with listening_node(tmp_path, **settings) as (_, sockets):
        for listener, (host, port) in zip(sockets.listeners, expected, strict=True):
            own = listener.port if port is None else port
            assert await broker_by(sockets, listener.port) == (host, own)


async def broker_by(sockets: NodeSockets, port: int) -> tuple[str, int]:
    """Host and port of the broker in Metadata, asked at a port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = {"topics": [], "allow_auto_topic_creation": False}
    connection = AsyncConnection(reader, writer, "test")
    (broker,) = (await connection.ask(ApiKey.METADATA, body)).brokers
    connection.close()
    return broker.host, broker.port

"""Limits of connections: in all, from each address, and for how long one may be idle."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from ottla.broker.net.connection_limits import Admission, ConnectionLimits, WaitingConnections
from ottla.broker.settings.config import BrokerConfig
from ottla.metadata.catalog import ResourceType
from tests.broker.fakes import settle
from tests.broker.net.listening_node import Client, listening_node

ADMITTED, WAITS, REFUSED = Admission.ADMITTED, Admission.WAITS, Admission.REFUSED
HERE, THERE = "127.0.0.1", "10.0.0.1"


def limits(**settings: str) -> ConnectionLimits:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    return ConnectionLimits(BrokerConfig.from_settings(given))


def test_a_connection_beyond_the_limit_waits_until_another_closes() -> None:
    counted = limits(max_connections="2")
    assert [counted.admit("PLAINTEXT", host) for host in (HERE, THERE, HERE)] == [
        ADMITTED, ADMITTED, WAITS
    ]  # fmt: skip
    counted.leave("PLAINTEXT", THERE)
    assert counted.has_room("PLAINTEXT")
    assert counted.admit("PLAINTEXT", HERE) is ADMITTED
    assert not counted.has_room("PLAINTEXT")


def test_an_address_has_a_limit_of_its_own() -> None:
    counted = limits(
        max_connections_per_ip="1",
        max_connections_per_ip_overrides=f"{THERE}:2,localhost:0,10.0.0.3:-1",
    )
    assert [counted.admit("PLAINTEXT", THERE) for _ in range(3)] == [ADMITTED, ADMITTED, REFUSED]
    assert [counted.admit("PLAINTEXT", "10.0.0.2") for _ in range(2)] == [ADMITTED, REFUSED]
    assert counted.admit("PLAINTEXT", HERE) is REFUSED
    assert counted.admit("PLAINTEXT", "10.0.0.3") is REFUSED
    counted.leave("PLAINTEXT", THERE)
    assert counted.admit("PLAINTEXT", THERE) is ADMITTED


def test_a_listener_has_a_limit_of_its_own() -> None:
    counted = limits(**{"listener_name_inside_max_connections": "1"})
    assert counted.admit("INSIDE", HERE) is ADMITTED
    assert counted.admit("INSIDE", HERE) is WAITS
    assert counted.admit("OUTSIDE", HERE) is ADMITTED


def test_the_next_connection_is_the_first_one_whose_listener_has_room() -> None:
    rooms, looks = {"A": 2, "B": 0}, []

    def has_room(listener: str) -> bool:
        looks.append(listener)
        return rooms[listener] > 0

    waiting = WaitingConnections[int](has_room)
    for number in range(1000):
        waiting.add("B" if number % 2 == 0 else "A", number)
    assert waiting.take() == ("A", 1)
    assert len(looks) <= 2, "one look at each listener"
    rooms["B"] = 1
    assert waiting.take() == ("B", 0)
    waiting.drop("B", 2)
    waiting.drop("B", 2)
    waiting.drop("C", 2)
    assert waiting.take() == ("A", 3)
    rooms["A"] = 0
    assert waiting.take() == ("B", 4)
    rooms["B"] = 0
    assert waiting.take() is None


@pytest.mark.real_time
async def test_a_client_waits_for_its_turn_and_gets_it(tmp_path: Path) -> None:
    async with listening_node(tmp_path, max_connections="2") as (node, sockets):
        first, second = await Client.of(sockets), await Client.of(sockets)
        assert await first.answer()
        assert await second.answer()
        third = await Client.of(sockets)
        turn = asyncio.ensure_future(third.answer())
        for _ in range(3):  # others are served meanwhile
            first.ask()
            assert await first.answer()
        assert not turn.done()
        await first.leave()
        assert await turn
        node.controller.set_configs(ResourceType.BROKER, "", {"max.connections": "3"})
        fourth = await Client.of(sockets)
        assert await fourth.answer()
        for client in (second, third, fourth):
            await client.leave()


@pytest.mark.real_time
async def test_a_client_too_many_of_its_address_is_turned_away(tmp_path: Path) -> None:
    async with listening_node(tmp_path, max_connections_per_ip="1") as (node, sockets):
        first, second = await Client.of(sockets), await Client.of(sockets)
        assert await first.answer()
        assert not await second.answer()
        overrides = {"max.connections.per.ip.overrides": "localhost:2"}
        node.controller.set_configs(ResourceType.BROKER, "", overrides)
        third = await Client.of(sockets)
        assert await third.answer()
        for client in (first, second, third):
            await client.leave()


async def test_an_idle_connection_is_closed(tmp_path: Path) -> None:
    async with listening_node(tmp_path, connections_max_idle_ms="600000") as (_, sockets):
        client, busy = await Client.of(sockets), await Client.of(sockets)
        assert await client.answer()
        assert await busy.answer()
        await asyncio.sleep(500)
        busy.ask()
        assert await busy.answer()
        await asyncio.sleep(200)
        await settle()
        assert not await client.answer()
        busy.ask()
        assert await busy.answer()
        for each in (client, busy):
            await each.leave()


@pytest.mark.real_time
async def test_few_idle_connections_are_closed_in_one_turn(tmp_path: Path) -> None:
    async with listening_node(tmp_path) as (_, sockets):
        clients = [await Client.of(sockets) for _ in range(100)]
        for client in clients:
            assert await client.answer()
        sockets._end_idle(iter(list(sockets._served)), 0.0)
        assert 1 <= sum(each.is_ending for each in sockets._connections) <= 32
        for client in clients:
            assert not await client.answer()
            await client.leave()


async def test_a_client_beyond_the_rate_is_served_when_its_time_has_come(tmp_path: Path) -> None:
    async with listening_node(tmp_path, max_connection_creation_rate="1") as (_, sockets):
        clients = [await Client.of(sockets) for _ in range(11)]
        for client in clients[:10]:
            assert await client.answer()
        turn = asyncio.ensure_future(clients[10].answer())
        await settle()
        assert not turn.done()
        await asyncio.sleep(1)
        assert await turn
        for client in clients:
            await client.leave()


@pytest.mark.real_time
async def test_sockets_have_the_buffers_that_were_set(tmp_path: Path) -> None:
    buffers = {"socket_receive_buffer_bytes": "50000", "socket_send_buffer_bytes": "60000"}
    async with listening_node(tmp_path, socket_listen_backlog_size="1", **buffers) as (_, sockets):
        client = await Client.of(sockets)
        assert await client.answer()
        (connection,) = sockets._connections
        served = connection._transport.get_extra_info("socket")
        sizes = [
            served.getsockopt(socket.SOL_SOCKET, option)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF)
        ]
        assert sizes in ([50_000, 60_000], [100_000, 120_000])  # Linux tells the double
        await client.leave()

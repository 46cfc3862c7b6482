"""Many connections: none has the loop for itself, and none holds more memory than it may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ottla.broker.net.fair_turns import SLICE_S, TURN_S
from tests.broker.fakes import correlation_ids, deliver, settle
from tests.broker.net.peers import Peer, fetch, heartbeat, produce, until_served
from tests.log_lines import LogLines


@pytest.fixture
async def it(monkeypatch: pytest.MonkeyPatch, log_lines: LogLines) -> Peer:
    return Peer(monkeypatch, log_lines)


@pytest.mark.parametrize("flood", [heartbeat, produce])
async def test_a_flood_of_requests_gives_way_to_the_others(
    it: Peer, flood: Callable[[int], bytes]
) -> None:
    """13,000 Metadata requests in 273 KB on one connection: the others waited for all of them."""
    it.request_s = SLICE_S / 10
    it.send(*map(flood, range(1000)))
    assert it.handled == list(range(10)), "a slice of them"
    other, transport = it.another()
    for number in range(1000, 1005):
        deliver(other, heartbeat(number))
        await asyncio.sleep(0)
    assert correlation_ids(transport.written) == list(range(1000, 1005))
    assert len(it.handled) < 500
    await until_served(it)
    flooded = [number for number in it.handled if number < 1000]
    assert flooded == list(range(1000))
    assert it.answered == ([] if flood is produce else flooded)


async def test_the_loop_does_other_work_between_two_slices(it: Peer) -> None:
    """A signal, a timer, the socket of another: no turn of the loop has more than its budget."""
    it.request_s = SLICE_S / 10
    many = [it.another()[0] for _ in range(20)]
    for connection in many:
        deliver(connection, b"".join(map(heartbeat, range(100))))
    most = round(TURN_S / it.request_s) + 10
    assert len(it.handled) <= most
    while len(it.handled) < 20 * 100:
        before = len(it.handled)
        await asyncio.sleep(0)
        assert before < len(it.handled) <= before + most


async def test_answers_leave_before_very_many_are_gathered(it: Peer) -> None:
    count = 20_000
    it.send(*map(heartbeat, range(count)))
    assert all(len(written) <= 65_536 + 10 for written in it.transport.writes)
    assert it.answered == list(range(count))


async def test_a_flooding_client_that_reads_nothing_is_served_until_its_socket_is_full(
    it: Peer,
) -> None:
    it.transport.high_water_bytes = 1000
    it.send(*map(heartbeat, range(40_000)))
    await settle()
    assert len(it.transport.written) < 70_000
    served = len(it.handled)
    it.transport.high_water_bytes = None
    it.connection.resume_writing()
    assert it.answered == list(range(40_000))
    assert served < 40_000


async def test_a_flood_behind_a_waiting_fetch_costs_no_more_than_its_bytes(it: Peer) -> None:
    """40 MB of empty frames behind one held 2 GB. Kafka closes at a frame without a header."""
    it.send(fetch(0))
    await settle()
    it.send(bytes(1 << 20))
    assert not it.transport.reading
    assert it.connection._frames.unread_bytes <= 1 << 20
    it.waiting[0].set_result(None)
    await settle()
    assert (it.answered, it.transport.closed) == ([0], True)


async def test_a_connection_that_is_lost_in_its_slices_is_forgotten(it: Peer) -> None:
    it.request_s = SLICE_S
    it.send(*map(heartbeat, range(10)))
    it.connection.connection_lost(None)
    await settle()
    assert (it.handled, len(it.turns)) == ([0], 0)


async def test_a_broker_that_stops_takes_nothing_more_of_a_flood(it: Peer) -> None:
    it.request_s = SLICE_S
    it.send(*map(heartbeat, range(10)))
    it.connection.drain()
    await settle()
    assert (it.answered, it.transport.closed, len(it.turns)) == ([0], True, 0)

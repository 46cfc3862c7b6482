"""One memory limit for all connections; no connection waits for it for ever."""

from __future__ import annotations

import asyncio
import struct

import pytest

from ottla.broker.complaints import LINES
from ottla.broker.net import sockets as sockets_module
from ottla.broker.net.connection import Connection
from ottla.broker.net.held_memory import MUCH_BYTES, SMALL_BYTES, STALLED_S, RequestMemory
from ottla.broker.net.sockets import NodeSockets
from ottla.broker.settings.config import BrokerConfig
from tests.broker.fakes import FakeTransport, correlation_ids, deliver, settle
from tests.broker.net.peers import ANSWERS_BYTES, REQUESTS_BYTES, Peer, heartbeat
from tests.clocks import LoopClock, VirtualClock
from tests.log_lines import LogLines

CHUNK = 1 << 18  # the most bytes of one read
LARGE = 1 << 20


@pytest.fixture
async def it(monkeypatch: pytest.MonkeyPatch, log_lines: LogLines) -> Peer:
    return Peer(monkeypatch, log_lines)


def large(number: int) -> bytes:
    """A heartbeat in an odd dress: bytes behind it, as a version of the future might have."""
    whole = heartbeat(number)[4:] + bytes(LARGE)
    return struct.pack(">i", len(whole)) + whole


class Sender:
    """A client that sends a large request, as much of it as it is read from."""

    def __init__(self, it: Peer, number: int) -> None:
        self.connection, self.transport = it.another()
        self._left = large(number)

    def send(self, chunks: int = 1000) -> None:
        while self._left and self.transport.reading and chunks:
            deliver(self.connection, self._left[:CHUNK])
            self._left = self._left[CHUNK:]
            chunks -= 1

    @property
    def is_done(self) -> bool:
        return not self._left


class HolderBelowTheLimit:
    """A connection that neither waits nor is closed, because there is memory for all."""

    is_receiving = False
    unsent_bytes = 0

    def hold(self) -> None:
        raise AssertionError("it has to wait")

    def release(self) -> None:
        raise AssertionError("it did not wait")

    def give_up(self, why: str) -> None:
        raise AssertionError(why)


async def test_requests_of_which_a_part_came_have_a_limit_together(it: Peer) -> None:
    """60 connections with 30 MB each of a larger request took 1.8 GB."""
    senders = [Sender(it, number) for number in range(60)]
    for _ in range(3):
        for sender in senders:
            sender.send(1)
    requests, _ = it.memory
    assert requests.used_bytes <= REQUESTS_BYTES + LARGE + len(senders) * CHUNK
    assert not all(sender.transport.reading for sender in senders)


async def test_all_come_to_their_end_one_after_the_other(it: Peer) -> None:
    senders = [Sender(it, number) for number in range(60)]
    for sender in senders:
        sender.send(3)
    for _ in range(60):
        for sender in senders:
            sender.send()
    assert all(sender.is_done for sender in senders)
    for number, sender in enumerate(senders):
        assert correlation_ids(sender.transport.written) == [number]
    assert it.memory[0].used_bytes == 0


async def test_small_requests_are_served_though_the_limit_is_reached(it: Peer) -> None:
    for number in range(60):
        Sender(it, number).send(3)
    for number in range(100, 120):
        it.send(heartbeat(number, "x" * 30_000))
    assert it.answered == list(range(100, 120))
    assert it.transport.reading


async def test_a_stalled_sender_is_disconnected_while_others_wait_for_memory(it: Peer) -> None:
    silent = [Sender(it, number) for number in range(20)]
    for sender in silent:
        sender.send(3)
    waiting = [sender for sender in silent if not sender.transport.reading]
    assert waiting
    await asyncio.sleep(STALLED_S + 1)
    for sender in silent:
        assert sender.transport.closed == (sender not in waiting)
    assert len(it.log.lines) == LINES
    assert "has received nothing for 10 s" in it.log.lines[0][2]["reason"]
    for sender in waiting:
        sender.send()
        assert sender.is_done


async def test_a_slow_sender_keeps_its_connection(it: Peer) -> None:
    for number in range(60):
        Sender(it, number).send(3)
    slow, transport = it.another()
    request = large(99)
    at = 0
    while at < len(request):
        if transport.reading:
            deliver(slow, request[at : at + SMALL_BYTES])
            at += SMALL_BYTES
        await asyncio.sleep(STALLED_S / 2)
    assert correlation_ids(transport.written) == [99]
    assert not transport.closed


async def test_no_connection_is_closed_while_memory_is_free(it: Peer) -> None:
    silent = Sender(it, 1)
    silent.send(3)
    await asyncio.sleep(5 * STALLED_S)
    assert not silent.transport.closed
    silent.send()
    assert silent.is_done


async def test_a_lost_connection_releases_its_memory(it: Peer) -> None:
    senders = [Sender(it, number) for number in range(20)]
    for sender in senders:
        sender.send(3)
    for sender in senders:
        sender.connection.connection_lost(None)
    requests, _ = it.memory
    assert (requests.used_bytes, requests._held, requests._waiting) == (0, {}, {})
    assert requests._first is None


class HolderThatReads:
    """A connection with much to read: it fills the memory again as soon as it may."""

    is_receiving = True
    unsent_bytes = 0

    def __init__(self, requests: RequestMemory) -> None:
        self._requests = requests
        self.is_held = False

    def receive(self, size_bytes: int) -> None:
        self._requests.holds(self, size_bytes)

    def hold(self) -> None:
        self.is_held = True

    def release(self) -> None:
        self.is_held = False

    def give_up(self, why: str) -> None:
        raise AssertionError(why)


async def test_free_memory_lets_few_of_thousands_read_at_once() -> None:
    """All of 4,500 at once held the event loop for 250 ms, and took twice the memory."""
    requests, most = RequestMemory(4000 * SMALL_BYTES, LoopClock()), 0
    large, *holders = (HolderThatReads(requests) for _ in range(2000))
    large.receive(4000 * SMALL_BYTES)
    for holder in holders:
        holder.receive(SMALL_BYTES + 1)
    waiting = {holder for holder in holders if holder.is_held}
    assert len(waiting) == len(holders) - 1
    began_s = asyncio.get_running_loop().time()
    requests.lost(large)
    while waiting:
        released = {holder for holder in waiting if not holder.is_held}
        most = max(most, len(released))
        waiting -= released
        await asyncio.sleep(0.001)
    assert most <= 16
    assert asyncio.get_running_loop().time() - began_s < 0.2


@pytest.mark.parametrize(("held_bytes", "times"), [(MUCH_BYTES, 1), (MUCH_BYTES - LARGE, 0)])
async def test_memory_is_given_back_a_second_after_the_last_of_many_requests(
    held_bytes: int, times: int
) -> None:
    given_back: list[float] = []
    loop = asyncio.get_running_loop()
    requests = RequestMemory(REQUESTS_BYTES, LoopClock(), lambda: given_back.append(loop.time()))
    one, other = HolderBelowTheLimit(), HolderBelowTheLimit()
    for connection in (one, other):
        requests.holds(connection, held_bytes // 2)
    began_s = loop.time()
    requests.holds(one, 0)
    await asyncio.sleep(10)
    assert given_back == [], "one request is still held"
    requests.holds(other, 0)
    await asyncio.sleep(10)
    assert given_back == [began_s + 11.0] * times


@pytest.mark.real_time
async def test_sockets_return_the_memory_of_many_requests_to_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    returned: list[int] = []
    clock = VirtualClock()
    monkeypatch.setattr(
        sockets_module, "give_back_freed_memory", lambda: returned.append(clock.monotonic_ms())
    )
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://127.0.0.1:0"})
    sockets = NodeSockets(config, clock)
    requests = sockets._shared.requests
    one = HolderBelowTheLimit()
    requests.holds(one, MUCH_BYTES)
    requests.holds(one, 0)
    await clock.advance_ms(10_000)
    for bound in sockets._bound:
        bound.close()
    assert returned == [1000]


# Answers


def unread(it: Peer, number: int, size_bytes: int) -> tuple[Connection, FakeTransport]:
    """A client that was answered and has not read so much of it."""
    connection, transport = it.another()
    transport.high_water_bytes, transport.unsent_bytes = 0, size_bytes
    deliver(connection, heartbeat(number))
    return connection, transport


async def test_unread_answers_share_one_limit(it: Peer) -> None:
    share = ANSWERS_BYTES // 4
    clients = [unread(it, number, share) for number in range(10)]
    await settle()
    _, answers = it.memory
    assert answers.used_bytes <= ANSWERS_BYTES
    assert [transport.closed for _, transport in clients] == [True] * 6 + [False] * 4
    assert len(it.log.lines) == LINES
    assert "does not read" in it.log.lines[0][2]["reason"]


async def test_a_client_that_reads_is_kept_longer_than_one_that_does_not(it: Peer) -> None:
    share = ANSWERS_BYTES // 4
    clients = [unread(it, number, share) for number in range(4)]
    clients[0][1].unsent_bytes -= 1000
    clients.append(unread(it, 4, share))
    await settle()
    assert [transport.closed for _, transport in clients] == [False, True, False, False, False]


async def test_one_answer_alone_may_be_larger_than_the_limit(it: Peer) -> None:
    connection, transport = unread(it, 1, 5 * ANSWERS_BYTES)
    await settle()
    assert not transport.closed
    connection.resume_writing()
    assert it.memory[1].used_bytes == 0


async def test_small_answers_do_not_count(it: Peer) -> None:
    clients = [unread(it, number, SMALL_BYTES) for number in range(100)]
    await settle()
    assert not any(transport.closed for _, transport in clients)


async def test_an_idle_connection_that_does_not_read_is_cut(it: Peer) -> None:
    """Closed in order it would stay until its client has read, which it never does."""
    it.transport.high_water_bytes, it.transport.unsent_bytes = 0, SMALL_BYTES
    it.send(heartbeat(1))
    it.connection.end()
    assert it.transport.is_cut

"""One connection: answers in order, long polls hastened, limits, and how it ends."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import pytest

from ottla.broker.net.connection import Connection
from ottla.broker.net.fair_turns import SLICE_S
from ottla.broker.requests.dispatch import Dispatch
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.fakes import LISTENER, FakeTransport, correlation_ids, deliver, framed, settle
from tests.broker.net.peers import (
    HEARTBEAT,
    LIMIT,
    LIST_OFFSETS,
    Peer,
    fetch,
    heartbeat,
    list_offsets,
    produce,
    until_served,
)
from tests.log_lines import LogLines


@pytest.fixture
async def it(monkeypatch: pytest.MonkeyPatch, log_lines: LogLines) -> Peer:
    return Peer(monkeypatch, log_lines)


# Order


async def test_a_connection_is_named_as_kafka_names_it(it: Peer) -> None:
    info = it.connection.info
    assert info.id == "127.0.0.1:9092-10.0.0.7:50123-3"
    assert (info.peer, info.host) == ("10.0.0.7:50123", "10.0.0.7")
    assert info.listener == LISTENER


async def test_a_connection_has_no_dict_which_would_take_more_memory(it: Peer) -> None:
    assert not hasattr(it.connection, "__dict__")


async def test_answers_of_one_wake_up_leave_in_one_write(it: Peer) -> None:
    it.send(*map(heartbeat, range(500)))
    assert it.answered == list(range(500))
    assert len(it.transport.writes) == 1


async def test_a_request_in_pieces_is_answered_when_it_is_whole(it: Peer) -> None:
    for byte in heartbeat(1):
        assert it.answered == []
        it.send(bytes([byte]))
    assert it.answered == [1]


async def test_answers_leave_in_the_order_of_requests_while_one_waits(it: Peer) -> None:
    it.send(heartbeat(1), fetch(2), heartbeat(3), heartbeat(4))
    it.send(heartbeat(5))
    await settle()
    assert (it.answered, it.handled) == ([1], [1, 2])
    it.waiting[0].set_result(None)
    await settle()
    assert it.answered == it.handled == [1, 2, 3, 4, 5]


async def test_an_answer_is_sent_in_the_turn_in_which_its_handler_ends(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.waiting[0].set_result(None)
    await asyncio.sleep(0)  # one turn of the loop, in which the handler goes on
    assert it.answered == [1, 2]


async def test_one_request_is_handled_at_a_time(it: Peer) -> None:
    it.send(fetch(1), fetch(2), fetch(3))
    for number in (1, 2, 3):
        await settle()
        assert it.handled == list(range(1, number + 1))
        it.waiting[-1].set_result(None)
    await settle()
    assert it.answered == [1, 2, 3]


async def test_connections_do_not_wait_for_each_other(it: Peer) -> None:
    other, transport = it.another()
    it.send(fetch(1))
    await settle()
    deliver(other, heartbeat(2))
    assert (it.answered, correlation_ids(transport.written)) == ([], [2])


async def test_acks_0_gets_no_answer_and_the_next_request_its_own(it: Peer) -> None:
    it.send(produce(1), produce(2, acks=1), produce(3), heartbeat(4))
    assert (it.handled, it.answered) == ([1, 2, 3, 4], [2, 4])


# Hastening


@pytest.mark.parametrize("key", [LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH])
@pytest.mark.parametrize("together", [True, False])
async def test_a_request_behind_a_waiting_fetch_hastens_both_answers(
    it: Peer, key: ApiKey, together: bool
) -> None:
    behind = framed(key, 4, correlation_id=2)
    for frames in [[fetch(1), behind]] if together else [[fetch(1)], [behind]]:
        it.send(*frames)
    await settle()
    assert it.answered == [1, 2]


async def test_a_fetch_that_has_waited_for_turns_is_hastened_as_well(it: Peer) -> None:
    it.send(fetch(1))
    await settle()
    it.send(list_offsets(2), fetch(3), list_offsets(4))
    await settle()
    assert it.answered == [1, 2, 3, 4]


@pytest.mark.parametrize("behind", [heartbeat(2), fetch(2), produce(2)])
async def test_other_requests_wait_for_the_fetch_in_front_of_them(it: Peer, behind: bytes) -> None:
    it.send(fetch(1), behind)
    await settle()
    it.send(list_offsets(3))  # not the next one: Kafka's order is kept
    await settle()
    assert it.answered == []


async def test_a_request_whose_wait_is_necessary_is_not_hastened(it: Peer) -> None:
    it.may_hasten = False
    it.send(fetch(1), list_offsets(2))
    await settle()
    assert it.answered == []
    it.waiting[0].set_result(None)
    await settle()
    assert it.answered == [1, 2]


# What closes a connection

BAD = {
    "an unknown API": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "an unknown version": struct.pack(">ihhih", 10, HEARTBEAT, 99, 1, -1),
    "Produce 2": struct.pack(">ihhih", 10, ApiKey.PRODUCE, 2, 1, -1),
    "a cut body": struct.pack(">ihhih", 10, HEARTBEAT, 0, 1, -1),
    "no header": struct.pack(">ib", 1, 0),
    "nothing": struct.pack(">i", 0),
    "a negative length": struct.pack(">i", -1),
    "2 GB": struct.pack(">i", 2**31 - 1),
    "over the limit": struct.pack(">i", LIMIT + 1),
    "HTTP": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "TLS": bytes.fromhex("16030100f5010000f10303"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_malformed_request_closes_the_connection_with_one_log_line(
    it: Peer, name: str
) -> None:
    other, transport = it.another()
    it.send(BAD[name])
    await settle()
    assert it.transport.closed
    assert it.closed == [it.connection]
    ((level, event, fields),) = it.log.lines
    assert (level, event) == ("warning", "connection closed")
    assert fields["connection"] == it.connection.info.id
    assert fields["reason"]
    deliver(other, heartbeat(1))
    assert correlation_ids(transport.written) == [1]


async def test_requests_before_a_close_are_answered_and_later_ones_are_not(it: Peer) -> None:
    it.send(heartbeat(1), heartbeat(2), BAD["an unknown API"], heartbeat(3))
    deliver(it.connection, heartbeat(4))
    await settle()
    assert it.answered == it.handled == [1, 2]
    assert len(it.log.lines) == 1


async def test_a_bad_request_behind_a_waiting_fetch_closes_when_it_is_its_turn(it: Peer) -> None:
    it.send(fetch(1), BAD["an unknown API"])
    await settle()
    assert not it.transport.closed
    it.waiting[0].set_result(None)
    await settle()
    assert (it.answered, it.transport.closed) == ([1], True)


async def test_a_malformed_frame_closes_the_connection_after_the_earlier_answers(it: Peer) -> None:
    it.send(fetch(1))
    await settle()
    it.send(BAD["a negative length"])
    await settle()
    assert not it.transport.closed
    it.waiting[0].set_result(None)
    await settle()
    assert (it.answered, it.transport.closed, it.cancelled) == ([1], True, 0)


@pytest.mark.parametrize("timeout_ms", [1, 2], ids=["at once", "after a wait"])
async def test_a_failed_produce_with_acks_0_closes(it: Peer, timeout_ms: int) -> None:
    it.send(heartbeat(1), produce(2, timeout_ms=timeout_ms), heartbeat(3))
    await settle()
    assert (it.answered, it.transport.closed) == ([1], True)


async def test_refusals_and_bugs_are_answered_and_the_connection_stays_open(it: Peer) -> None:
    it.send(heartbeat(1, "refused"), heartbeat(2, "bug"), heartbeat(3))
    assert it.answered == [1, 2, 3]
    codes = [int.from_bytes(it.transport.written[at + 8 : at + 10], "big", signed=True)
             for at in (0, 10, 20)]  # fmt: skip
    assert codes == [Code.UNKNOWN_MEMBER_ID, Code.UNKNOWN_SERVER_ERROR, Code.NONE]
    assert not it.transport.closed


async def test_an_api_versions_from_the_future_is_answered(it: Peer) -> None:
    it.send(struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 99, 8, -1))
    assert it.answered == [8]
    assert not it.transport.closed


# Limits


async def test_a_client_that_sends_and_sends_behind_a_waiting_fetch_is_not_read(it: Peer) -> None:
    it.send(fetch(0))
    await settle()
    large = heartbeat(1, "x" * 32_000)
    while it.transport.reading:
        it.send(large)
    waiting = it.connection._frames.unread_bytes // len(large) + 1
    assert 1 << 20 < waiting * len(large) < 2 << 20
    assert it.answered == []
    it.waiting[0].set_result(None)
    await settle()
    assert it.transport.reading
    assert len(it.answered) == 1 + waiting


async def test_many_small_requests_are_served_without_being_held_back(it: Peer) -> None:
    it.send(*(heartbeat(number, "x" * 32_000) for number in range(300)))
    assert it.answered == list(range(300))
    assert it.transport.reading


async def test_a_client_that_reads_no_answers_is_not_served(it: Peer) -> None:
    it.connection.pause_writing()
    it.send(heartbeat(1), heartbeat(2))
    await settle()
    assert it.handled == []
    it.connection.resume_writing()
    assert it.answered == [1, 2]


async def test_a_waiting_answer_is_written_though_the_socket_is_full_and_no_more(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.connection.pause_writing()
    it.waiting[0].set_result(None)
    await settle()
    assert it.answered == [1]
    it.connection.resume_writing()
    assert it.answered == [1, 2]


async def test_resuming_while_a_fetch_waits_serves_nothing_out_of_turn(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.connection.pause_writing()
    it.connection.resume_writing()
    await settle()
    assert it.handled == [1]


# Ending


async def test_an_idle_connection_closes_when_the_broker_stops(it: Peer) -> None:
    it.connection.drain()
    await settle()
    assert it.transport.closed
    assert (it.closed, it.log.lines) == ([it.connection], [])


@pytest.mark.parametrize("stop", [Connection.drain, Connection.cut])
async def test_a_connection_that_was_only_just_accepted_closes_when_the_broker_stops(
    it: Peer, stop: Callable[[Connection], None]
) -> None:
    """The loop makes a connection known a turn after it has accepted it."""
    connection = it.accepted()
    stop(connection)
    transport = FakeTransport(connection)
    connection.connection_made(transport)
    await settle()
    assert transport.closed
    assert it.closed == [connection]


async def test_a_waiting_fetch_is_answered_at_once_when_the_broker_stops(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.connection.drain()
    it.send(heartbeat(3))
    await settle()
    assert (it.answered, it.handled, it.transport.closed) == ([1], [1], True)
    assert asyncio.get_running_loop().time() == 0


async def test_a_waiting_request_is_answered_before_the_connection_ends(it: Peer) -> None:
    it.may_hasten = False
    it.send(fetch(1))
    await settle()
    it.connection.drain()
    await settle()
    assert not it.transport.closed
    it.waiting[0].set_result(None)
    await settle()
    assert (it.answered, it.transport.closed) == ([1], True)


async def test_a_lost_connection_cancels_its_waiting_requests(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.transport.closed = True
    it.connection.connection_lost(ConnectionResetError())
    await settle()
    assert (it.cancelled, it.handled, it.closed) == (1, [1], [it.connection])
    assert it.log.lines == []


async def test_a_connection_lost_in_the_turn_of_its_request_leaves_nothing_waiting(
    it: Peer,
) -> None:
    it.send(fetch(1))
    it.transport.closed = True
    it.connection.connection_lost(None)
    await settle()
    (waiting,) = it.waiting
    assert len(asyncio.all_tasks()) == 1, "the test itself"
    assert it.transport.writes == []
    assert not waiting.done()


async def test_an_answer_that_comes_too_late_is_dropped(it: Peer) -> None:
    it.send(fetch(1))
    await settle()
    it.waiting[0].set_result(None)
    it.transport.closed = True
    await settle()
    assert it.transport.writes == []


async def test_a_client_that_says_goodbye_is_let_go(it: Peer) -> None:
    assert it.connection.eof_received(), "it is closed by the connection"
    await settle()
    assert it.transport.closed


async def test_thousands_that_leave_at_once_are_let_go_over_a_few_turns(it: Peer) -> None:
    leaving = [it.another() for _ in range(1000)]
    for connection, _ in leaving:
        connection.eof_received()
    closed = [0]
    while closed[-1] < 1000:
        await asyncio.sleep(0)
        closed.append(sum(transport.closed for _, transport in leaving))
        assert 0 < closed[-1] - closed[-2] < 50


async def test_requests_sent_before_a_half_close_are_served(it: Peer) -> None:
    """2,000 requests and an end of file: Kafka answers them all before it closes."""
    it.request_s = SLICE_S
    it.send(*map(produce, range(20)))
    assert len(it.handled) < 20
    assert it.connection.eof_received(), "the transport is to stay"
    await until_served(it)
    await settle()
    assert (it.handled, it.transport.closed) == (list(range(20)), True)


async def test_a_fetch_that_waits_is_answered_at_a_goodbye(it: Peer) -> None:
    it.send(fetch(1), heartbeat(2))
    await settle()
    assert it.connection.eof_received()
    await settle()
    assert (it.answered, it.transport.closed) == ([1, 2], True)
    assert asyncio.get_running_loop().time() == 0


async def test_half_a_request_before_a_goodbye_is_none(it: Peer) -> None:
    it.send(heartbeat(1), heartbeat(2)[:-1])
    it.connection.eof_received()
    await settle()
    assert (it.answered, it.transport.closed) == ([1], True)


async def test_a_client_over_its_quota_is_answered_at_once_and_muted(it: Peer) -> None:
    it.send(heartbeat(1, "uses too much"), heartbeat(2))
    assert it.answered == [1]
    assert not it.transport.reading
    await asyncio.sleep(1.9)
    assert it.answered == [1]
    await asyncio.sleep(0.2)
    assert it.answered == [1, 2]
    assert it.transport.reading


async def test_a_large_request_is_read_on_when_a_muted_connection_may_go_on(it: Peer) -> None:
    behind = heartbeat(2, "x" * 30_000)
    behind = (len(behind) - 4 + (3 << 20)).to_bytes(4, "big") + behind[4:] + bytes(3 << 20)
    it.send(heartbeat(1, "uses too much"))
    it.send(behind[: 2 << 20])
    await asyncio.sleep(2.1)
    assert it.transport.reading
    it.send(behind[2 << 20 :])
    assert it.answered == [1, 2]


async def test_a_fetch_that_waited_and_is_too_much_mutes_its_connection(it: Peer) -> None:
    it.fetch_throttle_ms = 500
    it.send(fetch(1), heartbeat(2))
    await settle()
    it.waiting[0].set_result(None)
    await settle()
    assert it.answered == [1]
    assert not it.transport.reading
    await asyncio.sleep(0.6)
    assert it.answered == [1, 2]
    assert it.transport.reading


async def test_a_connection_that_ends_while_it_is_muted_is_forgotten(it: Peer) -> None:
    it.send(heartbeat(1, "uses too much"), heartbeat(2))
    it.connection.connection_lost(None)
    await asyncio.sleep(3)
    assert it.answered == [1]
    assert it.closed == [it.connection]


async def test_a_connection_too_many_is_closed_after_a_while_and_never_served(
    it: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dispatch, "refusal_ms", lambda *_: 1000)
    connection, transport = it.another()
    deliver(connection, heartbeat(1))
    assert (transport.written, transport.closed, transport.reading) == (b"", False, False)
    await asyncio.sleep(1.1)
    assert transport.closed
    assert it.handled == []

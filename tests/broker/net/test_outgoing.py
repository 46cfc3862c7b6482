"""Answers to slow readers: only one chunk of each is in memory."""

from __future__ import annotations

import asyncio
import struct
from itertools import pairwise
from typing import Any

import pytest

from ottla.broker.net.fair_turns import SLICE_S
from ottla.broker.net.outgoing import Outgoing, is_in_memory
from ottla.broker.requests.dispatch import Dispatch
from tests.broker.fakes import correlation_ids, deliver, settle
from tests.broker.net.peers import Peer, heartbeat, until_served
from tests.log_lines import LogLines

CHUNK = 1000


class File:
    """Bytes that are read later, and how they were."""

    def __init__(self, data: bytes, fails_at: int | None = None) -> None:
        self.data = data
        self.parts: list[tuple[int, int]] = []
        self._fails_at = fails_at

    def __len__(self) -> int:
        return len(self.data)

    def part(self, start: int, size_bytes: int) -> bytes:
        if self._fails_at is not None and start + size_bytes > self._fails_at:
            raise OSError(5, "Input/output error")
        self.parts.append((start, size_bytes))
        part = self.data[start : start + size_bytes]
        assert len(part) == size_bytes
        return part


def numbered(size: int) -> bytes:
    return b"".join(struct.pack(">H", number) for number in range(size // 2))


def answer(number: int, *files: File) -> list[Any]:
    """A frame with some bytes around each file."""
    pieces: list[Any] = [bytearray(struct.pack(">i", number))]
    for file in files:
        pieces += [file, bytearray(b"tail")]
    size = sum(map(len, pieces))
    pieces[0][:0] = struct.pack(">i", size)
    return pieces


@pytest.mark.parametrize("chunk", [1, 7, 100, 5000])
def test_all_of_an_answer_comes_out_in_order_and_in_chunks(chunk: int) -> None:
    pieces = answer(1, File(numbered(900)), File(b""), File(numbered(2000)))
    expected = b"".join(getattr(piece, "data", piece) for piece in pieces)
    assert not is_in_memory(pieces)
    assert is_in_memory([b"a", bytearray(b"b"), memoryview(b"c")])
    outgoing, taken = Outgoing(pieces), b""
    while outgoing:
        part = b"".join(outgoing.take(chunk))
        taken += part
        assert len(part) == chunk or taken == expected
    assert taken == expected


class SlowPeer(Peer):
    """A peer that reads on demand; requests from number 100 on are answered from files.

    Attributes:
        later: the answer of these, if it is not there at once.
    """

    later: asyncio.Future[Any] | None = None

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines) -> None:
        super().__init__(monkeypatch, log_lines, CHUNK)
        self.files = [File(numbered(10_000))]
        self.transport.high_water_bytes = 0
        dispatch = self.connection._dispatch
        assert isinstance(dispatch, Dispatch)
        serve = dispatch.serve

        def answer_from_files(frame: memoryview, info: Any) -> Any:
            context, reply = serve(frame, info)
            if context.correlation_id >= 100:
                reply = self.later or answer(context.correlation_id, *self.files)
            return context, reply

        dispatch.serve = answer_from_files

    def reads(self) -> None:
        """All that was written."""
        self.connection.resume_writing()

    @property
    def read_bytes(self) -> int:
        return sum(size for _, size in self.files[0].parts)


@pytest.fixture
async def it(monkeypatch: pytest.MonkeyPatch, log_lines: LogLines) -> SlowPeer:
    return SlowPeer(monkeypatch, log_lines)


async def test_bytes_that_the_socket_does_not_accept_are_not_read_from_the_file(
    it: SlowPeer,
) -> None:
    """40 connections that fetch 57 MB each and do not read: the broker grew by 2 GB."""
    it.send(heartbeat(100))
    await settle()
    assert it.read_bytes <= CHUNK
    for _ in range(3):
        before = it.read_bytes
        it.reads()
        await settle()
        assert before < it.read_bytes <= before + CHUNK
    while it.read_bytes < 10_000:
        it.reads()
    it.reads()
    assert it.answered == [100]
    assert it.files[0].data in it.transport.written


async def test_nothing_else_is_served_before_the_answer_is_sent(it: SlowPeer) -> None:
    it.send(heartbeat(1), heartbeat(100), heartbeat(2))
    for _ in range(30):
        assert 2 not in it.handled or it.read_bytes == 10_000
        it.reads()
        await settle()
    assert it.answered == [1, 100, 2]


async def test_a_reader_that_reads_fast_has_its_slices_as_all_have(it: SlowPeer) -> None:
    it.transport.high_water_bytes = None
    it.files = [File(numbered(120 * CHUNK))]
    clock = iter(range(1_000_000))
    it.turns.now_s = lambda: next(clock) * SLICE_S / 4
    it.send(heartbeat(100), heartbeat(1))
    other, transport = it.another()
    deliver(other, heartbeat(7))
    await asyncio.sleep(0)
    assert correlation_ids(transport.written) == [7]
    assert it.read_bytes < 120 * CHUNK
    await until_served(it)
    assert it.answered == [100, 1]


async def test_a_file_that_cannot_be_read_on_closes_the_connection_with_one_line(
    it: SlowPeer,
) -> None:
    it.files = [File(numbered(10_000), fails_at=5000)]
    it.send(heartbeat(100), heartbeat(1))
    for _ in range(10):
        it.reads()
        await settle()
    assert it.transport.closed
    assert it.handled == [100]
    ((level, event, fields),) = it.log.lines
    assert (level, event) == ("warning", "connection closed")
    assert "an answer could not be read" in fields["reason"]


async def test_a_broker_that_stops_sends_the_answer_to_its_end(it: SlowPeer) -> None:
    it.send(heartbeat(100), heartbeat(1))
    await settle()
    it.connection.drain()
    for _ in range(20):
        assert not it.transport.closed or it.read_bytes == 10_000
        it.reads()
        await settle()
    assert (it.answered, it.transport.closed) == ([100], True)


@pytest.mark.parametrize("way", ["lost", "cut", "ended"])
async def test_a_connection_that_ends_lets_go_of_the_file(it: SlowPeer, way: str) -> None:
    it.send(heartbeat(100))
    await settle()
    if way == "lost":
        it.connection.connection_lost(None)
    elif way == "cut":
        it.connection.cut()
    else:
        it.connection.end()
    it.reads()
    await settle()
    assert it.connection._outgoing is None
    assert it.read_bytes <= CHUNK


async def test_a_fetch_that_waited_is_sent_in_chunks_as_well(it: SlowPeer) -> None:
    it.later = asyncio.get_running_loop().create_future()
    it.send(heartbeat(100), heartbeat(2))
    await settle()
    assert it.read_bytes == 0
    it.later.set_result(answer(100, *it.files))
    await settle()
    assert it.read_bytes <= CHUNK
    for _ in range(15):
        it.reads()
        await settle()
    assert it.answered == [100, 2]


def test_few_files_are_read_at_once() -> None:
    files = [File(numbered(10)) for _ in range(100)]
    outgoing = Outgoing(answer(1, *files))
    counts, taken = [0], b""
    while outgoing:
        taken += b"".join(outgoing.take(1 << 20))
        counts.append(sum(len(file.parts) for file in files))
    steps = [after - before for before, after in pairwise(counts)]
    assert len(steps) == 4
    assert max(steps) == 32
    assert taken[8:] == b"".join(file.data + b"tail" for file in files)

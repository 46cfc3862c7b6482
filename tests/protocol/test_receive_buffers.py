"""Connections share the buffers that they receive into, and none reads the bytes of another."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol.frames import (
    POOLED,
    POOLED_BYTES,
    SMALLEST_BYTES,
    Frames,
    ReceiveBuffers,
)

LIMIT = 1 << 20
SIZES = st.lists(st.integers(SMALLEST_BYTES, 300), max_size=12)
BUFFERS = st.builds(
    ReceiveBuffers,
    shared_bytes=st.integers(1, 400),
    pooled_bytes=st.integers(1, 400),
    pooled=st.integers(0, 3),
)


def payload(connection: int, number: int, size: int) -> bytes:
    """Bytes that no other request has at any place."""
    return bytes((connection * 89 + number * 17 + at) % 251 for at in range(size))


def framed(request: bytes) -> bytes:
    return struct.pack(">i", len(request)) + request


@dataclass
class Client:
    """A connection: what its socket still has, and the requests that were taken out."""

    frames: Frames
    unread: bytes
    taken: list[bytes] = field(default_factory=list)
    parked: list[tuple[memoryview, bytes]] = field(default_factory=list)
    ahead: memoryview | None = None

    def read(self, most: int) -> None:
        """One read of the socket, of at most so many bytes."""
        room = memoryview(self.frames.room())
        assert len(room)
        size = min(len(room) - 1 if most == ALL_BUT_ONE else most, len(room), len(self.unread))
        room[:size] = self.unread[:size]
        room[size:] = b"\xff" * (len(room) - size)
        if size:
            self.frames.received(size)
            self.unread = self.unread[size:]

    def take(self, most: int, *, parks: bool) -> None:
        """Serve some requests; parked ones are looked at again later."""
        for _ in range(most):
            frame, self.ahead = self.ahead or self.frames.next(), None
            if frame is None:
                break
            self.taken.append(bytes(frame))
            if parks:
                self.parked.append((frame, bytes(frame)))

    def look_at_parked(self) -> None:
        for frame, before in self.parked:
            assert bytes(frame) == before, "a request changed while it waited"
        self.parked.clear()

    def end_turn(self, *, looks_ahead: bool) -> None:
        if looks_ahead and self.ahead is None:
            self.ahead = self.frames.next()
        if self.ahead is not None:
            self.ahead = self.frames.kept(self.ahead)
        self.frames.settle()


ALL_BUT_ONE = -1
STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),  # the client
        st.sampled_from([0, 1, 2, 3, 5, 50, 500, ALL_BUT_ONE]),  # bytes that are read
        st.sampled_from([0, 0, 0, 1, 2, 100]),  # requests that are served
        st.booleans(),  # whether these wait
        st.booleans(),  # whether the next one is taken out and not served
    ),
    max_size=60,
)


@settings(max_examples=400)
@given(BUFFERS, st.lists(SIZES, min_size=1, max_size=4), STEPS)
def test_requests_are_the_same_whatever_the_buffers_and_the_order_of_reads(
    buffers: ReceiveBuffers,
    streams: list[list[int]],
    steps: list[tuple[int, int, int, bool, bool]],
) -> None:
    expected = [
        [payload(connection, number, size) for number, size in enumerate(sizes)]
        for connection, sizes in enumerate(streams)
    ]
    clients = [
        Client(
            Frames(buffers, size_limit_bytes=LIMIT),
            b"".join(map(framed, payloads)),
        )
        for payloads in expected
    ]
    for number, size, served, waits, looks_ahead in steps:
        client = clients[number % len(clients)]
        client.read(size)
        client.take(served, parks=waits)
        client.end_turn(looks_ahead=looks_ahead)
        if len(client.parked) > 3:
            client.look_at_parked()
    for client in clients:
        while client.unread:
            client.read(1 << 20)
            client.take(100, parks=False)
            client.end_turn(looks_ahead=False)
        client.take(100, parks=False)
        client.look_at_parked()
        assert client.frames.is_empty
        assert client.frames.unread_bytes == 0
    assert [client.taken for client in clients] == expected


def test_a_request_in_the_shared_buffer_is_copied_if_it_waits_for_the_next_read() -> None:
    buffers = ReceiveBuffers()
    client = Client(
        Frames(buffers, size_limit_bytes=LIMIT), (struct.pack(">i", 10) + bytes(10)) * 3
    )
    first = buffers.shared
    client.read(1000)
    client.end_turn(looks_ahead=True)
    another = Frames(buffers, size_limit_bytes=LIMIT)
    assert another.room() is first, "nothing refers to it any more"
    client.take(100, parks=False)
    assert client.taken == [bytes(10)] * 3


@pytest.mark.parametrize("pooled", [0, 1])
def test_requests_behind_a_large_one_come_in_order_though_they_come_in_several_reads(
    pooled: int,
) -> None:
    buffers = ReceiveBuffers(shared_bytes=100, pooled_bytes=1000, pooled=pooled)
    requests = [payload(0, number, size) for number, size in enumerate([500, 30, 40, 50, 60])]
    client = Client(Frames(buffers, size_limit_bytes=LIMIT), b"".join(map(framed, requests)))
    for _ in range(20):
        client.read(1000 if len(client.unread) > 184 else 0)  # up to the end of the large one
        client.end_turn(looks_ahead=False)
    client.read(34)  # one whole behind it
    client.end_turn(looks_ahead=False)
    client.take(1, parks=False)
    client.end_turn(looks_ahead=False)
    client.read(10)
    client.end_turn(looks_ahead=False)
    client.take(1, parks=False)
    assert client.taken == requests[:2]
    while client.unread:
        client.read(1000)
        client.end_turn(looks_ahead=False)
    client.take(100, parks=False)
    assert client.taken == requests


def test_small_requests_are_whole_at_their_own_size_after_a_large_one_without_a_buffer() -> None:
    requests = [payload(0, number, size) for number, size in enumerate([500, 30, 40])]
    frames = Frames(ReceiveBuffers(shared_bytes=100, pooled=0), size_limit_bytes=LIMIT)
    client = Client(frames, b"".join(map(framed, requests)))
    for size in [100, 100, 100, 100, 100, 4, 34, 44]:
        client.read(size)
        client.take(100 if len(client.unread) >= 78 else 0, parks=False)
        client.end_turn(looks_ahead=False)
    client.take(100, parks=False)
    assert client.taken == requests


def test_the_shared_buffer_is_replaced_while_a_request_in_it_is_in_use() -> None:
    frames = Frames(ReceiveBuffers(), size_limit_bytes=LIMIT)
    first = frames.room()
    assert frames.room() is first
    request = memoryview(first)[4:20]
    second = frames.room()
    assert second is not first
    del request
    assert frames.room() is second


def test_a_buffer_of_the_pool_is_used_again_once_no_view_of_it_is_left() -> None:
    buffers = ReceiveBuffers()
    first = buffers.take(POOLED_BYTES)
    assert first is not None
    used = first.obj
    records = first[100:200]
    del first
    second = buffers.take(10)
    assert second is not None
    assert second.obj is not used, "a part of it is in use"
    assert len(second) == 10
    del records
    third = buffers.take(10)
    assert third is not None
    assert third.obj is used


def test_the_pool_is_bounded_and_has_no_buffer_for_very_large_requests() -> None:
    buffers = ReceiveBuffers()
    assert buffers.take(POOLED_BYTES + 1) is None
    views = [buffers.take(100_000) for _ in range(POOLED)]
    assert all(views)
    assert buffers.take(100_000) is None
    assert buffers.held_bytes < 20 << 20


def test_nothing_is_reserved_before_the_first_large_request() -> None:
    assert ReceiveBuffers().held_bytes <= 1 << 16


def test_unused_buffers_are_freed_and_used_ones_are_kept() -> None:
    buffers = ReceiveBuffers(shared_bytes=0, pooled_bytes=100)
    views = [buffers.take(100) for _ in range(10)]
    assert buffers.held_bytes == 1000
    last = views[-1]
    views.clear()
    buffers.free_unused()
    assert buffers.held_bytes == 1000, "all were needed since the last time"
    assert buffers.take(100)
    buffers.free_unused()
    assert buffers.held_bytes == 200, "the first was needed, and the last is in use"
    assert last is not None
    del last
    buffers.free_unused()
    buffers.free_unused()
    assert buffers.held_bytes == 0

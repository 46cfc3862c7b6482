"""Frames come out whole, however the bytes come in."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.errors import Malformed
from ottla.protocol.frames import SHARED_BYTES, SMALLEST_BYTES, BadLength, Frames, ReceiveBuffers

LIMIT = 1000
PAYLOAD = st.binary(min_size=SMALLEST_BYTES, max_size=40)
PAYLOADS = st.lists(PAYLOAD, max_size=8)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def frames_of(size_limit_bytes: int = LIMIT) -> Frames:
    return Frames(ReceiveBuffers(), size_limit_bytes=size_limit_bytes)


def read(frames: Frames, data: bytes) -> int:
    """One read of a socket; returns the number of bytes that there was room for."""
    room = memoryview(frames.room())
    size = min(len(room), len(data))
    assert size or not data
    room[:size] = data[:size]
    frames.received(size)
    return size


def received(frames: Frames, data: bytes) -> None:
    """Reads, of which no request is taken out."""
    while data:
        data = data[read(frames, data) :]
        frames.settle()


def taken(frames: Frames, *pieces: bytes) -> list[memoryview]:
    """All requests that are whole, taken out after each piece."""
    whole: list[memoryview] = []
    for piece in pieces:
        left = piece
        while left:
            left = left[read(frames, left) :]
            whole += iter(frames.next, None)
            frames.settle()
    return whole


@pytest.mark.parametrize("at_once", [True, False])
@given(PAYLOADS, st.data())
def test_requests_come_out_whole_wherever_the_bytes_were_cut(
    at_once: bool, payloads: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(framed(payload) for payload in payloads)
    cuts = data.draw(st.sets(st.integers(0, len(stream))))
    frames = frames_of()
    pieces = [stream[a:b] for a, b in pairwise([0, *sorted(cuts), len(stream)])]
    # All are looked at after the last piece: a view must stay valid while others come.
    if at_once:
        whole = taken(frames, *pieces)
    else:  # one for each piece, and the others afterwards
        whole = []
        for piece in pieces:
            received(frames, piece)
            frame = frames.next()
            whole += [] if frame is None else [frame]
        whole += iter(frames.next, None)
    assert [bytes(frame) for frame in whole] == payloads
    assert frames.unread_bytes == 0


@given(PAYLOADS, PAYLOAD, st.data())
def test_a_request_comes_out_with_its_last_byte_and_not_before(
    payloads: list[bytes], last: bytes, data: st.DataObject
) -> None:
    stream = b"".join(framed(payload) for payload in [*payloads, last])
    missing = data.draw(st.integers(1, len(last)))
    frames = frames_of()
    assert len(taken(frames, stream[:-missing])) == len(payloads)
    assert frames.unread_bytes == len(framed(last)) - missing
    (frame,) = taken(frames, stream[-missing:])
    assert bytes(frame) == last


def test_many_requests_in_one_piece_come_out_in_order() -> None:
    payloads = [bytes([number]) * (number + 10) for number in range(200)]
    stream = b"".join(framed(payload) for payload in payloads)
    whole = taken(frames_of(), stream)
    assert [bytes(frame) for frame in whole] == payloads


@pytest.mark.parametrize("size", [SMALLEST_BYTES, SMALLEST_BYTES + 1, LIMIT - 1, LIMIT])
def test_a_request_may_be_as_large_as_the_limit(size: int) -> None:
    (frame,) = taken(frames_of(), framed(bytes(size)))
    assert len(frame) == size


@pytest.mark.parametrize("size", [*range(10), -1, -(2**31), LIMIT + 1, 2**31 - 1])
def test_an_illegal_length_is_malformed_before_its_bytes_arrive(size: int) -> None:
    """Of 0 to 9 bytes Kafka 4.1.1 closes the connection, too."""
    frames = frames_of()
    with pytest.raises(BadLength, match=f"a request of {size} bytes"):
        taken(frames, struct.pack(">i", size))


def test_the_limit_holds_for_a_length_that_comes_in_pieces_behind_a_good_request() -> None:
    frames = frames_of()
    length = struct.pack(">i", LIMIT + 1)
    assert len(taken(frames, framed(b"good request") + length[:3])) == 1
    with pytest.raises(Malformed):
        taken(frames, length[3:])


def test_http_is_malformed() -> None:
    with pytest.raises(Malformed):
        taken(frames_of(100 << 20), b"GET / HTTP/1.1\r\n\r\n")


def test_a_view_stays_valid_while_later_bytes_arrive() -> None:
    frames = frames_of()
    first, second = framed(b"first request"), framed(b"second request")
    assert taken(frames, first[:6]) == []
    (one,) = taken(frames, first[6:] + second[:2])
    assert taken(frames, second[2:9]) == []
    (two,) = taken(frames, second[9:])
    assert (bytes(one), bytes(two)) == (first[4:], second[4:])


def test_memory_does_not_grow_with_the_number_of_requests() -> None:
    frames = frames_of(1 << 20)
    stream = framed(bytes(10_000)) * 3
    pieces = [stream[at : at + 4096] for at in range(0, len(stream), 4096)]
    taken(frames, *pieces)  # whatever is allocated once
    tracemalloc.start()
    try:
        for _ in range(100):
            taken(frames, *pieces)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 100_000
    assert frames.unread_bytes == 0


@pytest.mark.parametrize("request_bytes", [SMALLEST_BYTES, 100])
def test_small_requests_that_wait_cost_no_more_than_their_bytes(request_bytes: int) -> None:
    """An object for each was fifteen times the bytes of the smallest ones."""
    stream = framed(bytes(request_bytes)) * (1 << 20 >> 4)
    pieces = [stream[at : at + 65_536] for at in range(0, len(stream), 65_536)]
    frames = frames_of()
    tracemalloc.start()
    try:
        for piece in pieces:
            received(frames, piece)
        assert frames.next() is not None
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.3 * len(stream)


@pytest.mark.parametrize("behind", [b"", framed(b"a good request")])
def test_a_very_large_request_in_small_pieces_is_not_copied_at_each(behind: bytes) -> None:
    """64 MB in 64 KB pieces: a copy at each would be 32 GB."""
    frames = frames_of(1 << 30)
    piece = bytes(SHARED_BYTES)
    taken(frames, behind + struct.pack(">i", 1024 * len(piece)))
    began_s = time.process_time()
    for _ in range(1023):
        assert taken(frames, piece) == []
    (whole,) = taken(frames, piece)
    assert len(whole) == 1024 * len(piece)
    assert time.process_time() - began_s < 2


@given(st.lists(PAYLOAD), st.integers(0, 1000), st.integers(1, 1000))
def test_a_large_request_is_received_in_place(before: list[bytes], first: int, size: int) -> None:
    """Only the beginning is copied, which was received with the length."""
    buffers = ReceiveBuffers(shared_bytes=2048)
    frames = Frames(buffers, size_limit_bytes=1 << 20)
    large = random.Random(size).randbytes(2048 + size)
    stream = b"".join(map(framed, before))
    assert len(taken(frames, stream)) == len(before)
    frames.settle()
    assert taken(frames, framed(large)[: 4 + first]) == []
    room = frames.room()
    assert len(room) == len(large) - first or first < 4
    (frame,) = taken(frames, framed(large)[4 + first :])
    assert bytes(frame) == large
    assert frame.obj is not buffers.shared


def test_a_large_request_in_bytes_costs_little_more_than_them() -> None:
    frames = Frames(ReceiveBuffers(pooled=0), size_limit_bytes=1 << 30)
    data = framed(bytes(100_000))
    tracemalloc.start()
    try:
        for at in range(len(data) - 1):
            assert taken(frames, data[at : at + 1]) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.3 * len(data)
    (whole,) = taken(frames, data[-1:])
    assert len(whole) == 100_000
    assert not whole.readonly, "the log sets offsets in it"


def test_requests_in_front_of_a_bad_length_come_out_before_it() -> None:
    frames = frames_of()
    received(frames, framed(b"first request") + framed(b"second request") + struct.pack(">i", -5))
    assert [bytes(frames.next() or b""), bytes(frames.next() or b"")] == [
        b"first request", b"second request"
    ]  # fmt: skip
    for _ in range(2):
        with pytest.raises(BadLength):
            frames.next()

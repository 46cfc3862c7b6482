"""Frames come out whole, however the bytes come in."""

from __future__ import annotations

import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.errors import Malformed
from ottla.protocol.frames import BadLength, Frames

LIMIT = 1000
PAYLOADS = st.lists(st.binary(max_size=40), max_size=8)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


@given(PAYLOADS, st.data())
def test_requests_come_out_whole_wherever_the_bytes_were_cut(
    payloads: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(framed(payload) for payload in payloads)
    cuts = data.draw(st.sets(st.integers(0, len(stream))))
    frames = Frames(size_limit_bytes=LIMIT)
    pieces = [stream[a:b] for a, b in pairwise([0, *sorted(cuts), len(stream)])]
    # All are looked at after the last piece: a view must stay valid while others come.
    whole = [frame for piece in pieces for frame in frames.receive(piece)]
    assert [bytes(frame) for frame in whole] == payloads
    assert frames.unread_bytes == 0


@given(PAYLOADS, st.binary(min_size=1, max_size=40), st.data())
def test_a_request_comes_out_with_its_last_byte_and_not_before(
    payloads: list[bytes], last: bytes, data: st.DataObject
) -> None:
    stream = b"".join(framed(payload) for payload in [*payloads, last])
    missing = data.draw(st.integers(1, len(last)))
    frames = Frames(size_limit_bytes=LIMIT)
    assert len(frames.receive(stream[:-missing])) == len(payloads)
    assert frames.unread_bytes == len(framed(last)) - missing
    (frame,) = frames.receive(stream[-missing:])
    assert bytes(frame) == last


def test_many_requests_in_one_piece_come_out_at_once_and_in_order() -> None:
    payloads = [bytes([number]) * number for number in range(200)]
    stream = b"".join(framed(payload) for payload in payloads)
    whole = Frames(size_limit_bytes=LIMIT).receive(stream)
    assert [bytes(frame) for frame in whole] == payloads


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
def test_a_request_may_be_as_large_as_the_limit(size: int) -> None:
    (frame,) = Frames(size_limit_bytes=LIMIT).receive(framed(bytes(size)))
    assert len(frame) == size


@pytest.mark.parametrize("size", [-1, -(2**31), LIMIT + 1, 2**31 - 1])
def test_a_length_that_no_request_has_is_malformed_before_its_bytes_are_there(size: int) -> None:
    frames = Frames(size_limit_bytes=LIMIT)
    with pytest.raises(Malformed, match=f"a request of {size} bytes"):
        frames.receive(struct.pack(">i", size))


def test_the_limit_holds_for_a_length_that_comes_in_pieces_behind_a_good_request() -> None:
    frames = Frames(size_limit_bytes=LIMIT)
    length = struct.pack(">i", LIMIT + 1)
    assert len(frames.receive(framed(b"good") + length[:3])) == 1
    with pytest.raises(Malformed):
        frames.receive(length[3:])


def test_http_is_malformed() -> None:
    with pytest.raises(Malformed):
        Frames(size_limit_bytes=100 << 20).receive(b"GET / HTTP/1.1\r\n\r\n")


def test_a_view_stays_valid_while_later_bytes_arrive() -> None:
    frames = Frames(size_limit_bytes=LIMIT)
    frames.receive(framed(b"first")[:6])
    (first,) = frames.receive(framed(b"first")[6:] + framed(b"second")[:2])
    frames.receive(framed(b"second")[2:9])
    (second,) = frames.receive(framed(b"second")[9:])
    assert (bytes(first), bytes(second)) == (b"first", b"second")


def test_memory_does_not_grow_with_the_number_of_requests() -> None:
    frames = Frames(size_limit_bytes=1 << 20)
    stream = framed(bytes(10_000)) * 3
    pieces = [stream[at : at + 4096] for at in range(0, len(stream), 4096)]
    for piece in pieces:  # whatever is allocated once
        frames.receive(piece)
    tracemalloc.start()
    try:
        for _ in range(100):
            for piece in pieces:
                frames.receive(piece)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 50_000
    assert frames.unread_bytes == 0


def test_a_large_request_in_small_pieces_is_not_copied_at_each() -> None:
    """64 MB in 64 KB pieces: a copy at each would be 32 GB."""
    frames = Frames(size_limit_bytes=1 << 30)
    piece = bytes(65536)
    frames.receive(struct.pack(">i", 1024 * len(piece)))
    gathered = frames._unread
    for _ in range(1023):
        assert frames.receive(piece) == []
        assert frames._unread is gathered
    (whole,) = frames.receive(piece)
    assert len(whole) == 1024 * len(piece)


def test_requests_in_front_of_a_bad_length_are_handed_out_with_it() -> None:
    with pytest.raises(BadLength) as bad:
        Frames(size_limit_bytes=LIMIT).receive(
            framed(b"first") + framed(b"second") + struct.pack(">i", -5)
        )
    assert [bytes(frame) for frame in bad.value.whole] == [b"first", b"second"]

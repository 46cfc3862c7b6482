"""Segments of one direction that come late, twice or overlap."""

from __future__ import annotations

import pytest

from ottla.lab.captures.tcp_direction import Data, Direction


@pytest.mark.parametrize(
    "segments",
    [
        [(1, b"abcd"), (3, b"cdef")],
        [(3, b"cdef"), (1, b"abcd")],
        [(1, b"abcd"), (1, b"abcdef")],
        [(1, b"ab"), (3, b"cdef"), (2, b"bcde")],
    ],
)
def test_bytes_that_come_twice_are_taken_once(segments: list[tuple[int, bytes]]) -> None:
    direction = Direction()
    direction.syn(0)
    for sequence, payload in segments:
        direction.add(sequence, payload, 0)
    taken = list(direction.take(0, is_last=True))
    assert all(isinstance(each, Data) for each in taken)
    assert b"".join(each.data for each in taken if isinstance(each, Data)) == b"abcdef"

"""Batches of right records with one wrong record among them, and the topics that receive them.

`broken_records.json` has the verdicts of Apache Kafka 4.1.1;
tests/differential/test_broken_records.py asks a running one again, and records them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.wire import batches
from tests.wire.batches import Header, record, varint

COUNT: Final = 20
PLACE: Final = 7
TIME_MS: Final = 1_700_000_000_000
LONG_MAX: Final = (1 << 63) - 1
ANY_TIME: Final[dict[str, Any]] = {
    "message_timestamp_before_max_ms": LONG_MAX,
    "message_timestamp_after_max_ms": LONG_MAX,
}


class Mode(NamedTuple):
    """How a batch reaches its topic.

    Attributes:
        codec: of the batch.
        configs: of the topic, with `_` for `.`.
    """

    codec: int
    configs: dict[str, Any]


MODES: Final = {
    "plain": Mode(0, ANY_TIME),
    "plain, with limits of time": Mode(0, {}),
    "plain, LogAppendTime": Mode(0, {"message_timestamp_type": "LogAppendTime"}),
    "plain, compacted": Mode(0, {"cleanup_policy": "compact", **ANY_TIME}),
    "plain to gzip": Mode(0, {"compression_type": "gzip", **ANY_TIME}),
    "gzip": Mode(1, ANY_TIME),
    "snappy": Mode(2, ANY_TIME),
    "lz4": Mode(3, ANY_TIME),
    "zstd": Mode(4, ANY_TIME),
    "gzip, LogAppendTime": Mode(1, {"message_timestamp_type": "LogAppendTime"}),
    "gzip, compacted": Mode(1, {"cleanup_policy": "compact", **ANY_TIME}),
    "gzip to zstd": Mode(1, {"compression_type": "zstd", **ANY_TIME}),
    "gzip to plain": Mode(1, {"compression_type": "uncompressed", **ANY_TIME}),
}


@cache
def right(offset_delta: int, headers: tuple[Header, ...] = ()) -> bytes:
    """A right record with a key."""
    return record(b"v", key=b"k", offset_delta=offset_delta, headers=headers)


def overlong(number: int, size: int) -> bytes:
    """A number in more bytes than it needs."""
    out = bytearray(varint(number))
    while len(out) < size:
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


class Fields(NamedTuple):
    """A record's fields as they are encoded, right by default."""

    attributes: bytes = b"\0"
    timestamp_delta: bytes = varint(0)
    offset_delta: bytes = varint(PLACE)
    key: bytes = varint(1) + b"k"
    value: bytes = varint(1) + b"v"
    headers: bytes = varint(0)
    behind: bytes = b""

    def sized(self, size: bytes | None = None) -> bytes:
        """The record with its own size, or with another."""
        body = b"".join(self)
        return (varint(len(body)) if size is None else size) + body


ONE_HEADER: Final = varint(1) + varint(1) + b"h" + varint(1) + b"w"
SIZE: Final = len(b"".join(Fields()))

NAMED: Final = {
    "right": Fields().sized(),
    "right, with a header": Fields(headers=ONE_HEADER).sized(),
    "a null key": Fields(key=varint(-1)).sized(),
    "a null value": Fields(value=varint(-1)).sized(),
    "a header with a null value": Fields(headers=varint(1) + varint(1) + b"h" + varint(-1)).sized(),
    "an empty key of a header": Fields(headers=varint(1) + varint(0) + varint(0)).sized(),
    "attributes": Fields(attributes=b"\xff").sized(),
    # Lengths.
    "a key longer than the record": Fields(key=varint(50) + b"k").sized(),
    "a key longer than the batch": Fields(key=varint(5_000) + b"k").sized(),
    "a key of 2 GB": Fields(key=varint((1 << 31) - 1) + b"k").sized(),
    "a key one byte longer": Fields(key=varint(2) + b"k").sized(),
    "a key one byte shorter": Fields(key=varint(0) + b"k").sized(),
    "a key of -2 bytes": Fields(key=varint(-2)).sized(),
    "a key of -2^31 bytes": Fields(key=varint(-(1 << 31))).sized(),
    "a value longer than the record": Fields(value=varint(50) + b"v").sized(),
    "a value longer than the batch": Fields(value=varint(5_000) + b"v").sized(),
    "a value of 2 GB": Fields(value=varint((1 << 31) - 1) + b"v").sized(),
    "a value one byte longer": Fields(value=varint(2) + b"v").sized(),
    "a value one byte shorter": Fields(value=varint(0) + b"v").sized(),
    "a value of -2 bytes": Fields(value=varint(-2)).sized(),
    "a value that takes the number of headers": Fields(
        value=varint(2) + b"v", behind=b"\0"
    ).sized(),
    # Headers.
    "minus one header": Fields(headers=varint(-1)).sized(),
    "minus three headers": Fields(headers=varint(-3)).sized(),
    "minus 2^31 headers": Fields(headers=varint(-(1 << 31))).sized(),
    "a header that is missing": Fields(headers=varint(1)).sized(),
    "three headers, and one is there": Fields(headers=varint(3) + ONE_HEADER[1:]).sized(),
    "no headers, and one is there": Fields(headers=varint(0) + ONE_HEADER[1:]).sized(),
    "2^31-1 headers": Fields(headers=varint((1 << 31) - 1)).sized(),
    "more headers than bytes": Fields(headers=varint(60) + bytes(40)).sized(),
    "a header without a key": Fields(headers=varint(1) + varint(-1) + varint(0)).sized(),
    "a key of a header of -2 bytes": Fields(headers=varint(1) + varint(-2) + varint(0)).sized(),
    "a key of a header that is too long": Fields(
        headers=varint(1) + varint(50) + varint(0)
    ).sized(),
    "a key of a header that is no text": Fields(
        headers=varint(1) + varint(2) + b"\xff\xfe" + varint(0)
    ).sized(),
    "a value of a header that is too long": Fields(
        headers=varint(1) + varint(1) + b"h" + varint(50)
    ).sized(),
    "a value of a header of -2 bytes": Fields(
        headers=varint(1) + varint(1) + b"h" + varint(-2)
    ).sized(),
    # Sizes.
    "bytes behind the fields": Fields(behind=b"zzz").sized(),
    "a byte behind the fields": Fields(behind=b"\0").sized(),
    "a size one byte longer": Fields().sized(varint(SIZE + 1)),
    "a size one byte shorter": Fields().sized(varint(SIZE - 1)),
    "a size of zero": Fields().sized(varint(0)),
    "a size of -1": Fields().sized(varint(-1)),
    "a size of -2^31": Fields().sized(varint(-(1 << 31))),
    "a size of 5": Fields().sized(varint(5)),
    "a size of 2 GB": Fields().sized(varint((1 << 31) - 1)),
    "a record of zeros": varint(5) + bytes(5),
    "the smallest record": varint(6) + b"\0\0" + varint(PLACE) + b"\1\1\0",
    "a record of one byte": varint(1) + b"\0",
    "nothing": b"",
    "a second record": Fields().sized() * 2,
    # Numbers of too many bytes.
    "a size of two bytes": Fields().sized(overlong(SIZE, 2)),
    "a size of five bytes": Fields().sized(overlong(SIZE, 5)),
    "a size of six bytes": Fields().sized(overlong(SIZE, 6)),
    "a size with bits above the 32nd": Fields().sized(overlong(SIZE, 4)[:-1] + b"\x80\x70"),
    "a key's length of two bytes": Fields(key=overlong(1, 2) + b"k").sized(),
    "a key's length of five bytes": Fields(key=overlong(1, 5) + b"k").sized(),
    "a key's length of six bytes": Fields(key=overlong(1, 6) + b"k").sized(),
    "a key's length with bits above the 32nd": Fields(key=b"\x82\x80\x80\x80\x70k").sized(),
    "a value's length of five bytes": Fields(value=overlong(1, 5) + b"v").sized(),
    "a value's length of six bytes": Fields(value=overlong(1, 6) + b"v").sized(),
    "a number of headers of two bytes": Fields(headers=overlong(0, 2)).sized(),
    "a number of headers of five bytes": Fields(headers=overlong(0, 5)).sized(),
    "a number of headers of six bytes": Fields(headers=overlong(0, 6)).sized(),
    "an offset delta of five bytes": Fields(offset_delta=overlong(PLACE, 5)).sized(),
    "an offset delta of six bytes": Fields(offset_delta=overlong(PLACE, 6)).sized(),
    "a timestamp delta of five bytes": Fields(timestamp_delta=overlong(3, 5)).sized(),
    "a timestamp delta of ten bytes": Fields(timestamp_delta=overlong(3, 10)).sized(),
    "a timestamp delta of eleven bytes": Fields(timestamp_delta=overlong(3, 11)).sized(),
    "a timestamp delta with bits above the 64th": Fields(
        timestamp_delta=b"\x86" + b"\x80" * 8 + b"\x7e"
    ).sized(),
    # Offsets and times.
    "the offset delta of another": Fields(offset_delta=varint(3)).sized(),
    "an offset delta with a gap": Fields(offset_delta=varint(1_000)).sized(),
    "an offset delta of -1": Fields(offset_delta=varint(-1)).sized(),
    "an offset delta of 2^31-1": Fields(offset_delta=varint((1 << 31) - 1)).sized(),
    "an offset delta of -2^31": Fields(offset_delta=varint(-(1 << 31))).sized(),
    "a later time": Fields(timestamp_delta=varint(5)).sized(),
    "an earlier time": Fields(timestamp_delta=varint(-5)).sized(),
    "a time of -1": Fields(timestamp_delta=varint(-1 - TIME_MS)).sized(),
    "a time of -2": Fields(timestamp_delta=varint(-2 - TIME_MS)).sized(),
    "a time of 2^63-1": Fields(timestamp_delta=varint(LONG_MAX - TIME_MS)).sized(),
    "a time beyond 2^63-1": Fields(timestamp_delta=varint(LONG_MAX - TIME_MS + 1)).sized(),
    "a delta of 2^63-1": Fields(timestamp_delta=varint(LONG_MAX)).sized(),
    "a delta of -2^63": Fields(timestamp_delta=varint(-LONG_MAX - 1)).sized(),
}  # fmt: skip


def payload(middle: bytes, place: int = PLACE, count: int = COUNT) -> bytes:
    """Right records, with `middle` in place of one of them."""
    return b"".join(middle if index == place else right(index) for index in range(count))


def batch(middle: bytes, codec: int = 0, place: int = PLACE, count: int = COUNT) -> bytes:
    """The batch that a client sends."""
    return batches.batch(
        [b""] * count,
        records=payload(middle, place, count),
        compression=codec,
        timestamp=TIME_MS,
        max_timestamp=TIME_MS,
    )


_NUMBERS: Final = (
    0, 1, -1, -2, 63, 64, 127, 128, 8_191, 8_192, 1 << 20, (1 << 31) - 1, -(1 << 31),
)  # fmt: skip


def _number(rnd: random.Random, near: int) -> bytes:
    any_number = rnd.randrange(-200, 200)
    nearly = near, near, near, near + 1, near - 1, -near
    number = rnd.choice([*nearly, *_NUMBERS, any_number])
    return overlong(number, rnd.choice([0] * 12 + [2, 3, 4, 5, 6]))


def _sized_bytes(rnd: random.Random) -> bytes:
    data = rnd.randbytes(rnd.choice([0, 1, 1, 2, 5, 63, 64, 70]))
    return _number(rnd, len(data)) + data


def random_record(rnd: random.Random) -> bytes:
    """A record of which one field or more may be wrong."""
    if rnd.random() < 0.2:  # any byte of a right record
        whole = bytearray(Fields(headers=ONE_HEADER).sized())
        whole[rnd.randrange(len(whole))] = rnd.randrange(256)
        return bytes(whole)
    one = Fields()
    for name in rnd.sample(Fields._fields, rnd.choice([1, 1, 1, 2, 3])):
        if name in ("key", "value"):
            wrong = _sized_bytes(rnd)
        elif name == "headers":
            headers = [_sized_bytes(rnd) + _sized_bytes(rnd) for _ in range(rnd.randrange(4))]
            wrong = _number(rnd, len(headers)) + b"".join(headers)
        elif name == "behind":
            wrong = rnd.randbytes(rnd.choice([0, 0, 1, 3]))
        elif name == "attributes":
            wrong = rnd.randbytes(1)
        elif name == "offset_delta":
            wrong = _number(rnd, PLACE)
        else:
            wrong = overlong(
                rnd.choice([0, 1, -1, 40, 64, -8_193, 1 << 40, LONG_MAX, -LONG_MAX - 1]),
                rnd.choice([0] * 9 + [3, 9, 10, 11]),
            )
        one = one._replace(**{name: wrong})
    if rnd.random() < 0.2:
        return one.sized(_number(rnd, len(b"".join(one))))
    return one.sized()


RANDOM: Final = 150


def cases() -> Iterator[tuple[str, bytes]]:
    """Name and wrong record of each case: those with names, and random ones."""
    yield from NAMED.items()
    rnd = random.Random(4_1_1)
    for number in range(RANDOM):
        yield f"random {number}", random_record(rnd)


class Plain(NamedTuple):
    """A record as the plain decoder reads it; a header's key is bytes."""

    timestamp_delta_ms: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]


class _Wrong(Exception):
    """The payload is not right."""


def decoded(payload: bytes, count: int) -> list[Plain] | None:
    """The records of a payload, read one field after the other (DefaultRecord.readFrom).

    Returns:
        None if it has not exactly `count` right records.
    """
    reader = _Reader(payload)
    try:
        records = [reader.record() for _ in range(count)]
    except _Wrong:
        return None
    return records if reader.at == len(payload) else None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def number(self, bits: int) -> int:
        value = 0
        for index in range((bits + 6) // 7):
            byte = self.bytes_of(1)[0]
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                value &= (1 << bits) - 1
                return (value >> 1) ^ -(value & 1)
        raise _Wrong

    def bytes_of(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self._data):
            raise _Wrong
        return self._data[self.at - size : self.at]

    def sized(self) -> bytes | None:
        size = self.number(32)
        return None if size < 0 else self.bytes_of(size)

    def record(self) -> Plain:
        end = self.number(32) + self.at
        self.bytes_of(1)
        fields = self.number(64), self.number(32), self.sized(), self.sized()
        headers = []
        header_count = self.number(32)
        if header_count < 0:
            raise _Wrong
        for _ in range(header_count):
            key = self.sized()
            if key is None:
                raise _Wrong
            headers.append((key, self.sized()))
        if self.at != end:
            raise _Wrong
        return Plain(*fields, headers)


RECORD: Final = Path(__file__).with_name("broken_records.json")
Verdict = list[Any]
"""An error's name and the places of the bad records; or attributes, last offset delta, base
timestamp, max timestamp (None: the broker's) and count of the stored batch, and its payload in hex
(None: as sent)."""


def stored(data: bytes, middle: bytes) -> Verdict:
    """The verdict about a batch that was sent with the record `middle`, and can be fetched."""
    fields = batches.HEADER.unpack_from(data)
    attributes = fields[5]
    body = batches.decompress(attributes & 7, data[batches.HEADER.size : 12 + fields[1]])
    stamped = attributes & batches.LOG_APPEND_TIME
    payload_now = None if body == payload(middle) else body.hex()
    max_timestamp = None if stamped else fields[8]
    return [attributes, fields[6], fields[7], max_timestamp, fields[12], payload_now]

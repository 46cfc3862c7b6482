"""Encodes the records that a command produces as one record batch of format v2 (KIP-98)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..protocol.batch import HEADER, LOG_OVERHEAD, MAGIC, TRANSACTIONAL, Compression, seal
from ..protocol.compression import compressed
from ..protocol.records import Header
from ..protocol.varints import signed

NO_PRODUCER = (-1, -1, -1)


class OutgoingRecord(NamedTuple):
    """One record to produce.

    Attributes:
        value: None for a tombstone.
        partition: None: by the hash of the key; without a key, each partition in turn.
        timestamp_ms: CreateTime; None: the time of the call that sends it.
    """

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def encoded(
    records: Sequence[OutgoingRecord],
    *,
    now_ms: int,
    producer: tuple[int, int, int] = NO_PRODUCER,
    transactional: bool = False,
    compression: Compression = Compression.NONE,
) -> bytearray:
    """A whole batch with its CRC.

    Args:
        records: at least one, all of one partition.
        now_ms: the timestamp of records without one.
        producer: producer id, producer epoch and first sequence number; -1 without idempotence.
    """
    times_ms = [now_ms if each.timestamp_ms is None else each.timestamp_ms for each in records]
    first_ms, last_delta = times_ms[0], len(records) - 1
    payload = b"".join(
        _record(each, delta, time_ms - first_ms)
        for delta, (each, time_ms) in enumerate(zip(records, times_ms, strict=True))
    )
    payload = compressed(compression, payload)
    attributes = compression | (TRANSACTIONAL if transactional else 0)
    batch = bytearray(
        HEADER.pack(
            0, HEADER.size - LOG_OVERHEAD + len(payload), -1, MAGIC, 0, attributes, last_delta,
            first_ms, max(times_ms), *producer, len(records),
        )
    )  # fmt: skip
    batch += payload
    seal(batch)
    return batch


def _record(record: OutgoingRecord, offset_delta: int, time_delta_ms: int) -> bytes:
    body = bytearray(b"\0")  # attributes
    body += signed(time_delta_ms) + signed(offset_delta)
    body += _nullable(record.key) + _nullable(record.value)
    body += signed(len(record.headers))
    for name, content in record.headers:
        body += _nullable(name.encode()) + _nullable(content)
    return signed(len(body)) + bytes(body)


def _nullable(data: bytes | None) -> bytes:
    return signed(-1) if data is None else signed(len(data)) + data


def murmur2(data: bytes) -> int:
    """The hash that Kafka's default partitioner takes of a key, 32 bits (Utils.murmur2)."""
    mask, mixer = 0xFFFFFFFF, 0x5BD1E995
    length = len(data)
    code = 0x9747B28C ^ length
    whole = length - length % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * mixer & mask
        word = (word ^ word >> 24) * mixer & mask
        code = code * mixer & mask ^ word
    if whole < length:
        code = (code ^ int.from_bytes(data[whole:], "little")) * mixer & mask
    code = (code ^ code >> 13) * mixer & mask
    return code ^ code >> 15


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key among `count`, as Java's producer chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % count

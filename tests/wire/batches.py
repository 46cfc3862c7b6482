"""Writes record batches in which any field may be wrong, and reads batches.

It does not use Ottla's own batch code, so that it does not share its faults.
"""

from __future__ import annotations

import binascii
import gzip
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cramjam
import crc32c

HEADER = struct.Struct(">qiibIhiqqqhii")
XERIAL_HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
TRANSACTIONAL, CONTROL, LOG_APPEND_TIME = 0x10, 0x20, 0x08

Header = tuple[bytes, bytes | None]


def varint(number: int) -> bytes:
    """A zigzag-encoded number, as in records."""
    number = ((number << 1) ^ (number >> 63)) & ((1 << 64) - 1)
    out = bytearray()
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    value: bytes | None = b"v",
    *,
    key: bytes | None = None,
    timestamp_delta: int = 0,
    offset_delta: int = 0,
    headers: Iterable[Header] = (),
) -> bytes:
    """One record of a version 2 batch, preceded by its length."""
    headers = list(headers)
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta)
    body += _nullable(key) + _nullable(value) + varint(len(headers))
    for name, content in headers:
        body += varint(len(name)) + name + _nullable(content)
    return varint(len(body)) + body


def _xerial_snappy(data: bytes) -> bytes:
    """Snappy in the blocks of xerial's Java library, which Kafka uses."""
    block = bytes(cramjam.snappy.compress_raw(data))
    return XERIAL_HEADER + struct.pack(">i", len(block)) + block


def _from_xerial_snappy(data: bytes) -> bytes:
    out = b""
    position = len(XERIAL_HEADER)
    while position < len(data):
        (size,) = struct.unpack_from(">i", data, position)
        position += 4 + size
        out += bytes(cramjam.snappy.decompress_raw(data[position - size : position]))
    return out


def _lz4(data: bytes) -> bytes:
    """An LZ4 frame of independent blocks, because Java clients cannot read linked blocks."""
    compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


def compress(compression: int, data: bytes) -> bytes:
    """Compress with a codec by its attribute bits: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
    match compression:
        case 1:
            return gzip.compress(data)
        case 2:
            return _xerial_snappy(data)
        case 3:
            return _lz4(data)
        case 4:
            return bytes(cramjam.zstd.compress(data))
    return data


def decompress(compression: int, data: bytes) -> bytes:
    """The opposite of `compress`."""
    match compression:
        case 1:
            return gzip.decompress(data)
        case 2:
            return _from_xerial_snappy(data)
        case 3:
            return bytes(cramjam.lz4.decompress(data))
        case 4:
            return bytes(cramjam.zstd.decompress(data))
    return data


def batch(
    values: Sequence[bytes | None] = (b"v",),
    *,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    compression: int = 0,
    timestamp: int | None = None,
    timestamp_deltas: Sequence[int] | None = None,
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[Header] = (),
    offset_deltas: Sequence[int] | None = None,
    **forced: Any,
) -> bytes:
    """A batch of these values, valid unless the arguments say otherwise.

    Args:
        timestamp: of the first record in ms; now by default.
        forced: header fields written as given, right or wrong: base_offset,
            leader_epoch, magic, crc, attributes, last_offset_delta, max_timestamp, count, length,
            and `records`, the bytes behind the header.
    """
    first_timestamp = int(time.time() * 1000) if timestamp is None else timestamp
    body = forced.get("records")
    if body is None:
        body = b"".join(
            record(
                value,
                key=keys[i] if keys else None,
                timestamp_delta=timestamp_deltas[i] if timestamp_deltas else 0,
                offset_delta=offset_deltas[i] if offset_deltas else i,
                headers=headers,
            )
            for i, value in enumerate(values)
        )
    attributes = compression | TRANSACTIONAL * transactional | CONTROL * control
    max_timestamp = first_timestamp + (max(timestamp_deltas) if timestamp_deltas else 0)
    tail = struct.pack(
        ">hiqqqhii",
        forced.get("attributes", attributes),
        forced.get("last_offset_delta", len(values) - 1),
        first_timestamp,
        forced.get("max_timestamp", max_timestamp),
        producer_id,
        epoch,
        sequence,
        forced.get("count", len(values)),
    ) + compress(compression, body)
    head = struct.pack(
        ">qiibI",
        forced.get("base_offset", 0),
        forced.get("length", len(tail) + 9),
        forced.get("leader_epoch", -1),
        forced.get("magic", 2),
        forced.get("crc", crc32c.crc32c(tail)),
    )
    return head + tail


def message_set(magic: int, value: bytes = b"v") -> bytes:
    """One message of the formats before batches, magic 0 or 1."""
    stamp = struct.pack(">q", int(time.time() * 1000)) if magic else b""
    body = struct.pack(">bb", magic, 0) + stamp + struct.pack(">ii", -1, len(value)) + value
    message = struct.pack(">I", binascii.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a fetch answer."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[list[str | None]]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of a fetch answer; `size_bytes` includes the header."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    first_timestamp: int
    max_timestamp: int
    producer_id: int
    epoch: int
    sequence: int
    count: int
    crc_is_right: bool
    size_bytes: int
    records: list[Record]

    @property
    def compression(self) -> int:
        """The number of the codec, 0 for none."""
        return self.attributes & 7

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the batch is a marker."""
        return bool(self.attributes & CONTROL)


class _Reader:
    """Reads the fields of records one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._data[self.position]
            self.position += 1
            number |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7

    def nullable(self) -> bytes | None:
        size = self.varint()
        if size < 0:
            return None
        self.position += size
        return self._data[self.position - size : self.position]

    def record(self, base_offset: int, first_timestamp: int) -> Record:
        size = self.varint()
        end = self.position + size
        self.position += 1
        timestamp, offset = first_timestamp + self.varint(), base_offset + self.varint()
        key, value = self.nullable(), self.nullable()
        headers: list[list[str | None]] = []
        for _ in range(self.varint()):
            name, content = self.nullable() or b"", self.nullable()
            headers.append([name.decode(), None if content is None else content.decode()])
        self.position = end
        return Record(offset, timestamp, key, value, headers)


def batches_in(data: bytes | None) -> list[Batch]:
    """The complete batches of a fetch answer, without a partial last one."""
    out = []
    position = 0
    data = bytes(data or b"")
    while position + HEADER.size <= len(data):
        fields = HEADER.unpack_from(data, position)
        base_offset, length, leader_epoch, _, crc, attributes, last_delta, first, last = fields[:9]
        end = position + 12 + length
        if end > len(data):
            break
        count = fields[12]
        body = decompress(attributes & 7, data[position + HEADER.size : end]) if count else b""
        reader = _Reader(body)
        out.append(
            Batch(
                base_offset=base_offset,
                last_offset=base_offset + last_delta,
                leader_epoch=leader_epoch,
                attributes=attributes,
                first_timestamp=first,
                max_timestamp=last,
                producer_id=fields[9],
                epoch=fields[10],
                sequence=fields[11],
                count=count,
                crc_is_right=crc32c.crc32c(data[position + 21 : end]) == crc,
                size_bytes=12 + length,
                records=[reader.record(base_offset, first) for _ in range(count)],
            )
        )
        position = end
    return out


def marker(control_batch: Batch) -> dict[str, Any]:
    """The fields of a commit or abort marker, readable."""
    key, value = control_batch.records[0].key or b"", control_batch.records[0].value or b""
    key_version, kind = struct.unpack_from(">hh", key)
    value_version, coordinator_epoch = struct.unpack_from(">hi", value)
    return {
        "type": {0: "ABORT", 1: "COMMIT"}.get(kind, kind),
        "key_version": key_version,
        "value_version": value_version,
        "coordinator_epoch": coordinator_epoch,
        "attrs": control_batch.attributes,
        "count": control_batch.count,
        "seq": control_batch.sequence,
        "epoch": control_batch.epoch,
        "key_len": len(key),
        "value_len": len(value),
    }

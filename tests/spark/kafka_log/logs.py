"""Writes segments of any content, and reads them with the source's tasks, without Spark."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ottla.protocol.batch import HEADER, HEADER_SIZE, Compression, read_header, seal
from ottla.protocol.compression import compressed
from ottla.protocol.control import marker
from ottla.protocol.records import Header
from ottla.protocol.varints import signed

Pair = tuple[bytes | None, bytes | None]


def packed(
    records: Sequence[Pair],
    *,
    offsets: Sequence[int] | None = None,
    headers: Sequence[Header] = (),
    time_delta_ms: int = 1,
) -> bytes:
    """The payload of a batch."""
    out = bytearray()
    for index, (key, value) in enumerate(records):
        body = b"\0" + signed(index * time_delta_ms)
        body += signed(index if offsets is None else offsets[index])
        for content in (key, value):
            body += signed(-1) if content is None else signed(len(content)) + content
        body += signed(len(headers))
        for name, content in headers:
            body += signed(len(name.encode())) + name.encode()
            body += signed(-1) if content is None else signed(len(content)) + content
        out += signed(len(body)) + body
    return bytes(out)


def batch(
    base_offset: int,
    records: Sequence[Pair],
    *,
    codec: Compression = Compression.NONE,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    time_ms: int = 1_700_000_000_000,
    **content: Any,  # Any: the arguments of `packed`
) -> bytes:
    """A whole batch with its CRC; `producer` is (id, epoch, first sequence)."""
    payload = compressed(codec, packed(records, **content))
    offsets = content.get("offsets")
    last_delta = offsets[-1] if offsets else len(records) - 1
    data = bytearray(
        HEADER.pack(
            base_offset, HEADER_SIZE - 12 + len(payload), 7, 2, 0, attributes | codec, last_delta,
            time_ms, time_ms + max(len(records) - 1, 0), *producer, len(records),
        )
    )  # fmt: skip
    data += payload
    seal(data)
    return bytes(data)


def end_marker(offset: int, producer_id: int, epoch: int = 0, *, commit: bool) -> bytes:
    """A control batch at an offset."""
    data = marker(
        commit=commit,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=3,
        timestamp_ms=1_700_000_000_000,
    )
    struct.pack_into(">q", data, 0, offset)
    return bytes(data)


def segment(directory: Path, base_offset: int, batches: Iterable[bytes]) -> Path:
    """Write a segment's data file, and its index with an entry for each batch but the first."""
    directory.mkdir(parents=True, exist_ok=True)
    data, index = b"", b""
    for each in batches:
        if data:
            last_offset = read_header(each).last_offset
            index += struct.pack(">ii", last_offset - base_offset, len(data))
        data += each
    path = directory / f"{base_offset:020d}.log"
    path.write_bytes(data)
    path.with_suffix(".index").write_bytes(index)
    return path


def rows(directory: Path, **options: object) -> list[dict[str, Any]]:  # Any: values of columns
    """The rows of a batch read, from its tasks one after the other."""
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.source import LogReader

    given = {"path": str(directory), **{name: str(value) for name, value in options.items()}}
    parsed = parse(given)
    reader = LogReader(parsed, struct_type(parsed.level, parsed.columns))
    return [
        row
        for task in reader.partitions()
        for batch_of_rows in reader.read(task)
        for row in batch_of_rows.to_pylist()
    ]

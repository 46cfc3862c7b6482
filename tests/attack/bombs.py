"""Attacks by small compressed batches with much data in them."""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import Iterator
from typing import Any

import cramjam

from tests.wire.batches import batch, varint
from tests.wire.broker import Broker
from tests.wire.client import error_name

from .broker_process import BrokerSetup
from .scene import Scene, attack

_CHUNK = bytes(1 << 20)
_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4


def _record_of_zeros(value_bytes: int) -> Iterator[bytes]:
    """One record with a key and a value of `value_bytes` zeros, in pieces."""
    head = b"\0\0\0" + varint(1) + b"k" + varint(value_bytes)
    yield varint(len(head) + value_bytes + 1) + head
    for _ in range(value_bytes // len(_CHUNK)):
        yield _CHUNK
    yield bytes(value_bytes % len(_CHUNK)) + varint(0)


def _compressed(compression: int, pieces: Iterator[bytes]) -> bytes:
    """Compress piece by piece, so that the whole data is never in memory."""
    if compression == _GZIP:
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
            for piece in pieces:
                file.write(piece)
        return out.getvalue()
    if compression == _SNAPPY:
        blocks = (bytes(cramjam.snappy.compress_raw(piece)) for piece in pieces)
        joined = b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
        return b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + joined
    compressor = (
        cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
        if compression == _LZ4
        else cramjam.zstd.Compressor()
    )
    found = b""
    for piece in pieces:
        compressor.compress(piece)
        found += bytes(compressor.flush())
    return found + bytes(compressor.finish())


def _bomb(compression: int, value_bytes: int) -> bytes:
    body = _compressed(compression, _record_of_zeros(value_bytes))
    return _batch_of(compression, body, 1)


def _batch_of(compression: int, body: bytes, count: int) -> bytes:
    """A batch of records that are already compressed."""
    return batch(attributes=compression, records=body, last_offset_delta=count - 1, count=count)


def _send_bomb(
    scene: Scene, bomb: bytes, full_bytes: int, *, times: int = 3, **configs: Any
) -> None:
    """Produce a batch several times, then send ListOffsets by time and Fetch."""
    broker = scene.talk()
    topic = broker.topic(**configs)
    scene.notes.append(f"{len(bomb)} bytes decompress to {full_bytes >> 20} MiB")
    codes = [error_name(_produced(broker, topic, bomb)) for _ in range(times)]
    scene.notes.append(f"answers: {', '.join(codes)}")
    broker.list_offset(topic, timestamp=1)
    broker.fetch_raw([(topic, 0, 0)])


def _produced(broker: Broker, topic: str, records: bytes) -> int:
    return int(broker.produce_raw([(topic, 0, records)], version=9)[0]["error_code"])


@attack()
def zstd_bomb(scene: Scene) -> None:
    """A batch of 66 KB of zstd that decompresses to 1.5 GB, three times."""
    size = scene.count(1_500_000_000)
    _send_bomb(scene, _bomb(_ZSTD, size), size)


@attack()
def lz4_bomb(scene: Scene) -> None:
    """A batch of 880 KB of lz4 that decompresses to 200 MB, three times."""
    size = scene.count(200_000_000)
    _send_bomb(scene, _bomb(_LZ4, size), size)


@attack()
def gzip_bomb(scene: Scene) -> None:
    """A batch of 960 KB of gzip that decompresses to 1 GB."""
    size = scene.count(990_000_000)
    _send_bomb(scene, _bomb(_GZIP, size), size, times=1)


@attack()
def snappy_bomb(scene: Scene) -> None:
    """A batch of 980 KB of snappy that decompresses to 20 MB, three times."""
    size = scene.count(20_000_000)
    _send_bomb(scene, _bomb(_SNAPPY, size), size)


@attack()
def keyless_records_in_a_compacted_topic(scene: Scene) -> None:
    """A million records without keys in 10 KB of zstd, to a compacted topic, which refuses them."""
    count = scene.count(1_000_000)
    body = b"\x0c\0\0\0\1\0\0" * count  # lengths, delta 0, no key, an empty value, no headers
    bomb = _batch_of(_ZSTD, bytes(cramjam.zstd.compress(body, 19)), count)
    _send_bomb(scene, bomb, len(body), times=1, cleanup_policy="compact")


@attack(setup=BrokerSetup(settings={"log.cleaner.backoff.ms": "100"}), limit_s=90)
def bombs_in_a_compacted_topic(scene: Scene) -> None:
    """Bombs of all four codecs to a compacted topic, which the log cleaner then reads."""
    broker = scene.talk()
    configs: dict[str, Any] = {"min_cleanable_dirty_ratio": "0.01", "segment_bytes": "1048576"}
    topic = broker.topic(cleanup_policy="compact", **configs)
    for compression, size in (
        (_GZIP, 990_000_000), (_SNAPPY, 20_000_000), (_LZ4, 200_000_000), (_ZSTD, 1_500_000_000)
    ):  # fmt: skip
        code = _produced(broker, topic, _bomb(compression, scene.count(size)))
        scene.notes.append(f"codec {compression}: {error_name(code)}")
    broker.produce(topic, batch([bytes(900_000)], keys=[b"last"]))  # ends the segment
    time.sleep(5)


@attack()
def recompressed_bomb(scene: Scene) -> None:
    """One record of 1 GB in zstd, to a topic with compression.type=gzip."""
    size = scene.count(1_000_000_000)
    _send_bomb(scene, _bomb(_ZSTD, size), size, compression_type="gzip")


@attack()
def bombs_at_once(scene: Scene) -> None:
    """16 connections produce a batch of zstd that decompresses to 1 GB, all at once."""
    size = scene.count(1_000_000_000)
    bomb = _bomb(_ZSTD, size)
    topic = scene.talk().topic()
    brokers = [scene.talk() for _ in range(16)]
    part = {"index": 0, "records": bomb}
    body = {
        "acks": -1,
        "timeout_ms": 30_000,
        "topic_data": [{"name": topic, "partition_data": [part]}],
    }
    for broker in brokers:
        broker.connection.send("Produce", 9, body)
    for broker in brokers:
        broker.connection.receive("Produce", 9, timeout_s=50)

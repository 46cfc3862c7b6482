"""Frames of requests and answers, as a client and a broker send them."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ottla.lab.captures.captured_trace import Summary, read_capture
from ottla.lab.captures.frame_cutter import Room
from ottla.protocol import batch, messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.requests import request_frame
from ottla.trace.events import fields_of

HIGH_WATERMARK = 7
Line = dict[str, Any]


def produce_request(number: int, records: bytes = b"", *, acks: int = -1) -> bytes:
    """Produce v9 of a transaction to orders-0."""
    records = records or bytes(
        batch.build(
            [(b"k", b"v")], timestamp_ms=1, producer_id=5, producer_epoch=0, base_sequence=0,
            transactional=True,
        )
    )  # fmt: skip
    partitions = [{"index": 0, "records": records}]
    body = {
        "transactional_id": "shop", "acks": acks, "timeout_ms": 1000,
        "topic_data": [{"name": "orders", "partition_data": partitions}],
    }  # fmt: skip
    return bytes(request_frame(ApiKey.PRODUCE, 9, number, "me", body))


def produce_answer(number: int) -> bytes:
    """Its answer."""
    partitions = [{"index": 0, "error_code": 0, "base_offset": HIGH_WATERMARK}]
    body = {"responses": [{"name": "orders", "partition_responses": partitions}]}
    return bytes(messages.answer(ApiKey.PRODUCE, 9, number, body))


def end_request(number: int) -> bytes:
    """EndTxn v3."""
    body = {
        "transactional_id": "shop", "producer_id": 5, "producer_epoch": 0, "committed": True,
    }  # fmt: skip
    return bytes(request_frame(ApiKey.END_TXN, 3, number, "me", body))


def end_answer(number: int) -> bytes:
    """Its answer."""
    return bytes(messages.answer(ApiKey.END_TXN, 3, number, {"error_code": 0}))


def metadata_request(number: int) -> bytes:
    """Metadata v9 of orders."""
    body = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}
    return bytes(request_frame(ApiKey.METADATA, 9, number, "me", body))


def metadata_answer(number: int, ports: Mapping[int, int] | None = None) -> bytes:
    """Its answer, with the ports of nodes."""
    brokers = [
        {"node_id": node_id, "host": "here", "port": port}
        for node_id, port in (ports or {1: 9092}).items()
    ]
    body = {"brokers": brokers, "topics": []}
    return bytes(messages.answer(ApiKey.METADATA, 9, number, body))


def raw_request(key: int, version: int, number: int, body: bytes) -> bytes:
    """A request of any key and version."""
    data = struct.pack(">hhih2s", key, version, number, 2, b"me") + body
    return struct.pack(">i", len(data)) + data


def raw_answer(number: int, body: bytes) -> bytes:
    """An answer with any body."""
    return struct.pack(">ii", len(body) + 4, number) + body


def read(
    data: bytes, ports: Sequence[int] = (), room: Room | None = None
) -> tuple[list[Line], Summary]:
    """The lines of a capture's events."""
    events: list[Line] = []
    summary = read_capture(
        io.BytesIO(data), lambda event: events.append(fields_of(event)), ports, room
    )
    return events, summary


def told(events: Sequence[Line], *kinds: str) -> list[Any]:
    """What events say, without numbers and times."""
    found = []
    for event in events:
        if not kinds or event["kind"] in kinds:
            left_out = ("seq", "at_ms", "cause", "took_us")
            found.append({name: each for name, each in event.items() if name not in left_out})
    return found

"""A trace has the beginnings of keys and values: text alone, little of it, and only if it may."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from ottla.lab.tracing.previews import MOST_CHARACTERS, MOST_OF_A_BATCH, preview, previews_of
from ottla.lab.tracing.trace_events import MOST_PREVIEWED, request_fields
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import HEADER_SIZE, LOG_OVERHEAD, build, read_header
from ottla.protocol.messages import read_request, read_request_header
from ottla.protocol.requests import request_frame
from ottla.testing import Ottla


def batch_of(*records: tuple[bytes | None, bytes | None]) -> bytes:
    return bytes(build(records, timestamp_ms=1))


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (None, None), (b"", ""), (b"a broom", "a broom"), ("größe\n2".encode(), "größe\n2"),
        (b"\xff\x00", "<2 bytes>"), (b"key\x00", "<4 bytes>"), ("\u202egpj".encode(), "<6 bytes>"),
        (b"x" * MOST_CHARACTERS, "x" * MOST_CHARACTERS),
        (b"x" * 5000, "x" * MOST_CHARACTERS + "... (5000 bytes)"),
        (b"y" + "ä".encode() * 500, "y" + "ä" * (MOST_CHARACTERS - 1) + "... (1001 bytes)"),
        (b"x" * 300 + b"\xff" * 300, "<600 bytes>"),
    ],
)  # fmt: skip
def test_a_text_is_cut_and_other_bytes_are_counted(data: bytes | None, shown: str | None) -> None:
    assert preview(data) == shown


def test_the_first_records_of_a_batch_are_shown() -> None:
    data = batch_of((b"k", b"one"), (None, None), (None, b"3"), (None, b"4"))
    found = previews_of(data, 0, read_header(data))
    assert found == [
        {"key": "k", "value": "one"}, {"key": None, "value": None}, {"key": None, "value": "3"},
    ][:MOST_OF_A_BATCH]  # fmt: skip


def test_a_record_that_is_too_long_or_broken_ends_them() -> None:
    data = batch_of((None, b"first"), (None, b"x" * 100_000), (None, b"last"))
    assert previews_of(data, 0, read_header(data)) == [{"key": None, "value": "first"}]
    broken = data[:61] + b"\xff" * (len(data) - 61)
    assert previews_of(broken, 0, read_header(broken)) == []


def packed_batch_of(*records: tuple[bytes | None, bytes | None]) -> bytes:
    data = batch_of(*records)
    payload = gzip.compress(data[HEADER_SIZE:])
    length = (HEADER_SIZE - LOG_OVERHEAD + len(payload)).to_bytes(4, "big")
    return data[:8] + length + data[12:21] + b"\x00\x01" + data[23:HEADER_SIZE] + payload


def test_a_compressed_batch_is_opened_unless_it_is_large() -> None:
    packed = packed_batch_of((None, b"packed"), (None, b"2"))
    found = [{"key": None, "value": "packed"}, {"key": None, "value": "2"}]
    assert previews_of(packed, 0, read_header(packed)) == found
    large = read_header(packed)._replace(length=100_000)
    assert previews_of(packed, 0, large) == []


def test_little_of_a_compressed_batch_is_decompressed() -> None:
    bomb = packed_batch_of((None, b"first"), (None, bytes(10_000_000)))
    assert len(bomb) < 20_000
    assert previews_of(bomb, 0, read_header(bomb)) == [{"key": None, "value": "first"}]


def previewed(topic: str, *batches: bytes, with_previews: bool = True) -> list[object]:
    partition = {"index": 0, "records": b"".join(batches)}
    body: dict[str, Any] = {
        "transactional_id": None, "acks": -1, "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [partition]}],
    }  # fmt: skip
    frame = memoryview(request_frame(ApiKey.PRODUCE, 9, 1, "me", body))[4:]
    request = read_request(read_request_header(frame), frame)
    fields = request_fields(ApiKey.PRODUCE, request, with_previews=with_previews)
    return [each.get("first_records") for each in fields["batches"]]


def test_few_batches_of_a_message_have_them() -> None:
    found = previewed("t", *[batch_of((None, b"v"))] * (MOST_PREVIEWED + 2))
    assert found == [*[[{"key": None, "value": "v"}]] * MOST_PREVIEWED, None, None]


def test_internal_topics_and_traces_without_previews_have_none() -> None:
    assert previewed("__internal", batch_of((None, b"v"))) == [None]
    assert previewed("t", batch_of((None, b"v")), with_previews=False) == [None]


def test_records_that_are_written_and_read_are_shown_unless_the_trace_is_without_them() -> None:
    with Ottla() as broker:
        broker.trace.start()
        broker.produce("orders", ["a broom"], transactional_id="x")
        assert broker.read("orders")
        batches = [
            batch
            for event in broker.trace.events()
            for batch in (event.get("request") or event.get("response") or {}).get("batches", ())
        ]
        assert [each.get("first_records") for each in batches] == [
            [{"key": None, "value": "a broom"}], [{"key": None, "value": "a broom"}], None,
        ]  # fmt: skip
        broker.trace.start(with_previews=False)
        broker.trace.clear()
        broker.produce("orders", ["a secret"])
        assert "a secret" not in str(broker.trace.events())

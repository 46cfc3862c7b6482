"""Produce (0): the content of valid and invalid batches."""

from __future__ import annotations

import struct
import time
from typing import Any

from ..batches import batch, compress, message_set, record
from ..broker import Broker
from ..client import Closed, error_name
from ..registry import case


def attempt(
    broker: Broker, data: bytes, *, version: int = 9, topic: str | None = None
) -> str | list[Any]:
    """Produce a batch once: error name, base offset, indexes of bad records; or 'closed'."""
    topic = topic or broker.topic()
    try:
        answer = broker.produce_raw([(topic, 0, data)], version=version)[0]
    except Closed:
        return "closed"
    out = [error_name(answer["error_code"]), answer["base_offset"]]
    if answer.get("record_errors"):
        out.append([error["batch_index"] for error in answer["record_errors"]])
    return out


def attempts(
    broker: Broker, batches: dict[str, bytes], *, version: int = 9, topic: str | None = None
) -> dict[str, Any]:
    """Produce each batch, into a new topic unless one is given."""
    return {
        name: attempt(broker, data, version=version, topic=topic) for name, data in batches.items()
    }


@case
def records__empty_bytes(broker: Broker) -> Any:
    return attempt(broker, b"")


@case
def records__garbage(broker: Broker) -> Any:
    garbage = {"short": b"\x01\x02\x03", "long": bytes(range(1, 120)), "zeros": bytes(120)}
    return attempts(broker, garbage)


@case
def records__corrupt_crc(broker: Broker) -> Any:
    data = bytearray(batch([b"hello"]))
    data[-1] ^= 0xFF
    return [attempt(broker, bytes(data)), attempt(broker, batch(crc=0))]


@case
def records__trailing_bytes(broker: Broker) -> Any:
    return attempt(broker, batch() + b"\0" * 5)


@case
def records__cut_short(broker: Broker) -> Any:
    """Bytes that end before the end of the batch."""
    data = batch([b"hello" * 20])
    return attempts(broker, {str(n): data[:n] for n in (1, 11, 12, 16, 17, 60, 61, len(data) - 1)})


@case
def records__length_wrong(broker: Broker) -> Any:
    data = batch([b"hello" * 10])
    right = len(data) - 12
    lengths = {"shorter": right - 3, "longer": right + 3, "zero": 0, "negative": -1}
    wrong = {
        name: data[:8] + struct.pack(">i", length) + data[12:] for name, length in lengths.items()
    }
    return attempts(broker, wrong)


@case
def records__magic_0_and_1(broker: Broker) -> Any:
    return {
        f"magic{magic}-v{version}": attempt(broker, message_set(magic), version=version)
        for magic in (0, 1)
        for version in (3, 9)
    }


@case
def records__magic_3(broker: Broker) -> Any:
    return attempt(broker, batch(magic=3))


@case
def records__magic_by_version(broker: Broker) -> Any:
    """Unknown magic numbers."""
    return {
        f"{magic}-v{version}": attempt(broker, batch(magic=magic), version=version)
        for magic in (-1, 3, 127)
        for version in (3, 8, 12)
    }


@case
def records__count_wrong(broker: Broker) -> Any:
    wrong = {
        "more": batch([b"a"], count=2, last_offset_delta=1),
        "fewer": batch([b"a", b"b"], count=1, last_offset_delta=0),
        "delta_only": batch([b"a"], last_offset_delta=3),
        "count_only": batch([b"a", b"b"], count=1),
        "negative": batch(count=-1),
        "zero_with_record": batch(count=0),
    }
    return attempts(broker, wrong)


@case
def records__count_wrong_compressed(broker: Broker) -> Any:
    """The same in a compressed batch."""
    wrong = {
        "more": batch([b"a"], count=2, last_offset_delta=1, compression=1),
        "fewer": batch([b"a", b"b"], count=1, last_offset_delta=0, compression=1),
        "delta_only": batch([b"a"], last_offset_delta=3, compression=1),
        "negative_delta": batch([b"a"], last_offset_delta=-1, compression=1),
    }
    return attempts(broker, wrong)


@case
def records__empty_batch(broker: Broker) -> Any:
    empty = {
        "plain": batch([], last_offset_delta=0, count=0),
        "delta_minus_1": batch([], last_offset_delta=-1, count=0),
        "gzip": batch([], last_offset_delta=0, count=0, compression=1),
        "lz4": batch([], last_offset_delta=0, count=0, compression=3),
    }
    return attempts(broker, empty)


@case
def records__offset_deltas(broker: Broker) -> Any:
    two = [b"a", b"b"]
    wrong = {
        "gap": batch(two, offset_deltas=[0, 5]),
        "gap_header": batch(two, offset_deltas=[0, 5], last_offset_delta=5),
        "start_1": batch(two, offset_deltas=[1, 2]),
        "backwards": batch(two, offset_deltas=[1, 0]),
        "same": batch(two, offset_deltas=[0, 0]),
        "gzip_gap": batch(two, offset_deltas=[0, 5], compression=1),
    }
    return attempts(broker, wrong)


@case
def records__base_offset_and_leader_epoch_sent(broker: Broker, topic: str) -> Any:
    """The CRC covers neither: the offset must be 0, the epoch is overwritten."""
    sent = (batch(base_offset=1000), batch(base_offset=-1), batch(leader_epoch=77))
    answers = [attempt(broker, data, topic=topic) for data in sent]
    stored = broker.batches(topic)[0]
    return [answers, stored.base_offset, stored.leader_epoch, stored.crc_is_right]


@case
def records__control_batch(broker: Broker) -> Any:
    key, value = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0)
    with_producer = batch(
        [value], keys=[key], control=True, transactional=True, producer_id=1, epoch=0
    )
    return [
        attempt(broker, with_producer),
        attempt(broker, batch([value], keys=[key], control=True)),
    ]


@case
def records__unknown_attributes(broker: Broker) -> Any:
    """Attribute bits 6 to 15 set."""
    return [attempt(broker, batch(attributes=0x40)), attempt(broker, batch(attributes=-32768))]


@case
def records__timestamp_limits_of_topic(broker: Broker) -> Any:
    now_ms = int(time.time() * 1000)
    topic = broker.topic(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    times = {"now": now_ms, "old": now_ms - 60_000, "new": now_ms + 60_000}
    sent = {name: batch(timestamp=when) for name, when in times.items()}
    return attempts(broker, sent, topic=topic)


@case
def records__timestamp_after_max_by_default(broker: Broker) -> Any:
    """message.timestamp.after.max.ms is an hour by default."""
    now_ms, hour = int(time.time() * 1000), 3_600_000
    sent = {
        "far": batch(timestamp=now_ms + 2 * hour),
        "near": batch(timestamp=now_ms + hour // 2),
        "past": batch(timestamp=0),
        "none": batch(timestamp=-1),
        "second": batch([b"a", b"b"], timestamp=now_ms, timestamp_deltas=[0, 2 * hour]),
        "max_wrong": batch(timestamp=1000, max_timestamp=now_ms + 2 * hour),
        "gzip": batch(timestamp=now_ms + 2 * hour, compression=1),
    }
    return attempts(broker, sent)


@case
def records__max_timestamp_is_not_believed(broker: Broker, topic: str) -> Any:
    """A wrong max timestamp in the header is corrected."""
    broker.produced(topic, batch([b"a", b"b"], timestamp=1000, max_timestamp=5000))
    stored = broker.batches(topic)[0]
    return [
        stored.max_timestamp,
        stored.crc_is_right,
        broker.list_offset(topic, -3),
        broker.list_offset(topic, 3000),
    ]


@case
def records__log_append_time(broker: Broker) -> Any:
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    data = batch([b"a", b"b"], timestamp=1000, timestamp_deltas=[0, 7])
    answer = broker.produce(topic, data, version=9)
    stored = broker.batches(topic)[0]
    appended = answer["log_append_time_ms"]
    return {
        "answer_is_now": abs(appended - time.time() * 1000) < 60_000,
        "max_is_answer": stored.max_timestamp == appended,
        "first_ts": stored.first_timestamp,
        "flag": bool(stored.attributes & 8),
        "crc_ok": stored.crc_is_right,
        "old_ok": attempt(broker, batch(timestamp=1), topic=topic)[0],
    }


@case
def records__log_append_time_of_a_client(broker: Broker) -> Any:
    """A client sets the bit of LogAppendTime, also where the topic has another codec."""
    out: dict[str, Any] = {}
    for kind in ("CreateTime", "LogAppendTime"):
        for codec in ("producer", "gzip", "uncompressed"):
            topic = broker.topic(message_timestamp_type=kind, compression_type=codec)
            sent = [
                batch([b"a", b"b"], timestamp=1000, timestamp_deltas=deltas, attributes=8 | bits,
                      compression=bits, max_timestamp=5000)
                for bits in (0, 1)
                for deltas in ([0, 7], [3, 1])
            ]  # fmt: skip
            out[f"{kind}, {codec}"] = [
                [attempt(broker, data, topic=topic) for data in sent],
                [
                    [each.attributes, each.crc_is_right, each.first_timestamp, each.max_timestamp,
                     [record.timestamp for record in each.records]]
                    for each in broker.batches(topic)
                ],
            ]  # fmt: skip
    return out


@case
def records__log_append_time_found(broker: Broker) -> Any:
    """Offsets are found by the time of the append, also in a compressed batch."""
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    broker.produced(topic, batch([b"a", b"b"], timestamp=1000, compression=1))
    stored = broker.batches(topic)[0]
    found = broker.list_offset(topic, stored.max_timestamp)
    latest = broker.list_offset(topic, -3)
    return [
        stored.compression,
        stored.crc_is_right,
        found[1],
        found[2] == stored.max_timestamp,
        latest[1],
        broker.list_offset(topic, stored.max_timestamp + 1),
        broker.list_offset(topic, 1000)[1],
    ]


@case
def records__compression_round_trip(broker: Broker) -> Any:
    out = {}
    for compression in (1, 2, 3, 4):
        topic = broker.topic()
        data = batch(
            [b"a" * 200, b"b" * 200],
            compression=compression,
            keys=[b"k", None],
            headers=[(b"h", b"1"), (b"n", None)],
        )
        answer = broker.produced(topic, data, version=9)
        stored = broker.batches(topic)[0]
        records = [[r.offset, len(r.value or b""), r.key, r.headers] for r in stored.records]
        out[compression] = [answer, stored.compression, stored.crc_is_right, records]
    return out


@case
def records__compression_of_the_topic(broker: Broker) -> Any:
    """compression.type of the topic: producer keeps, anything else recompresses."""
    out = {}
    for kind in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"):
        topic = broker.topic(compression_type=kind)
        answers = [
            broker.produced(topic, batch([b"a" * 200, b"b" * 200], compression=c), version=9)
            for c in (0, 1)
        ]
        stored = broker.batches(topic)
        crcs = [found.crc_is_right for found in stored]
        out[kind] = [answers, [s.compression for s in stored], crcs, len(broker.values(topic))]
    return out


@case
def records__zstd_by_version(broker: Broker, topic: str) -> Any:
    data = batch([b"a" * 50], compression=4)
    return {f"v{v}": attempt(broker, data, version=v, topic=topic)[0] for v in (3, 6, 7, 9)}


@case
def records__unknown_codec(broker: Broker) -> Any:
    return {number: attempt(broker, batch(attributes=number)) for number in (5, 6, 7)}


@case
def records__broken_compression(broker: Broker) -> Any:
    """Codec bits of an uncompressed payload; and a compressed payload cut short."""
    cut = compress(1, record(b"v" * 100))[:-12]
    broken = {
        "not_gzip": batch(attributes=1),
        "not_lz4": batch(attributes=3),
        "cut_gzip": batch(attributes=1, records=cut),
        "not_zstd": batch(attributes=4),
        "not_snappy": batch(attributes=2),
    }
    return attempts(broker, broken)


@case
def records__compacted_without_key(broker: Broker) -> Any:
    topic = broker.topic(cleanup_policy="compact")
    data = batch([b"a", b"b", b"c"], keys=[b"k", None, b"l"])
    answer = broker.produce_raw([(topic, 0, data)], version=8)[0]
    return [
        error_name(answer["error_code"]),
        answer["base_offset"],
        [error["batch_index"] for error in answer["record_errors"]],
        bool(answer["error_message"]),
        attempt(broker, batch(keys=[b"k"]), topic=topic),
    ]


@case
def records__compacted_without_key_compressed(broker: Broker) -> Any:
    """The answer has the index of each bad record, also in a compressed batch."""
    topic = broker.topic(cleanup_policy="compact")
    keys = [None if i % 3 == 0 else b"k" for i in range(10)]
    return [
        attempt(broker, batch([b"v"] * 10, keys=keys, compression=c), topic=topic) for c in (0, 1)
    ]


@case
def records__content_preserved(broker: Broker, topic: str) -> Any:
    data = batch(
        [None, b"", b"\x00\xff"],
        keys=[None, b"", b"k"],
        timestamp=1_700_000_000_000,
        timestamp_deltas=[0, -5, 9],
        headers=[(b"a", b""), (b"a", None)],
    )
    broker.produced(topic, data)
    stored = broker.batches(topic)[0]
    records = [[r.offset, r.timestamp, r.key, r.value, r.headers] for r in stored.records]
    return [
        *records,
        stored.first_timestamp,
        stored.max_timestamp,
        stored.producer_id,
        stored.epoch,
        stored.sequence,
    ]


@case
def records__broken_inside(broker: Broker) -> Any:
    """A valid header and CRC over malformed records."""
    good = record(b"v")
    broken = {
        "zero_length": batch(records=b"\0" + good[1:]),
        "too_long": batch(records=b"\x7e" + good[1:]),
        "too_short": batch(records=b"\x02" + good[1:]),
        "cut": batch(records=good[:-2]),
        "behind": batch(records=good + b"\0\0"),
        "nothing": batch(records=b""),
        "gzip_cut": batch(records=good[:-2], compression=1),
        "gzip_behind": batch(records=good + b"\0\0", compression=1),
    }
    return attempts(broker, broken)


@case
def records__decompressed_size(broker: Broker) -> Any:
    """max.decompressed.message.bytes limits each record of a compressed batch, without its size."""
    out: dict[str, Any] = {}
    for recompressed in ("producer", "zstd"):
        limits: dict[str, Any] = {
            "max_decompressed_message_bytes": 1000,
            "compression_type": recompressed,
        }
        topic = broker.topic(**limits)
        for size in (993, 994):  # a record has seven bytes besides its value
            for count in (1, 3):
                data = {
                    str(codec): batch([b"v" * size] * count, compression=codec)
                    for codec in range(5)
                }
                codes = attempts(broker, data, topic=topic)
                out[f"{recompressed}, {count} of {size}"] = {
                    codec: told[0] for codec, told in codes.items()
                }
    return out

"""Transactions by raw requests, to measure the broker with a cheap client.

Each producer is a socket and two prepared frames, Produce 12 (which adds the partitions) and EndTxn
5; only epoch and CRC change. One loop serves all producers. If the broker answers
CONCURRENT_TRANSACTIONS, as Kafka does while markers are being written, the request is repeated
after a millisecond: no client is that eager, so clients see at least this ratio.
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
import time
from pathlib import Path

import crc32c

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import Result, result
from tests.wire.broker import Broker
from tests.wire.client import decode, encode, error_name
from tests.wire.transactions import Producer

RETRY_S = 0.001
# A partition in an answer to Produce 12: index, no error, three offsets and times.
PARTITION_BYTES = 33
# EndTxn 5 answers: length, correlation id, tags, throttle time, error, producer id, epoch.
ENDED = struct.Struct(">iiBihqh")


class Committing:
    """One transactional producer: takes each answer and returns the next frame."""

    def __init__(self, broker: Broker, topic: str, *, records: int, partitions: int) -> None:
        self._producer: Producer = broker.producer()
        self._batch = self._producer.batch([b"x" * 100] * (records // partitions))
        data = [{"index": index, "records": self._batch} for index in range(partitions)]
        self._body = {
            "transactional_id": self._producer.transactional_id,
            "acks": -1,
            "timeout_ms": 30_000,
            "topic_data": [{"name": topic, "partition_data": data}],
        }
        # Frame, correlation id, tags, one topic and its name, and how many partitions.
        self._first_error = 4 + 4 + 1 + 1 + 1 + len(topic) + 1 + 4
        self._partitions = partitions
        self.epoch = self._producer.epoch
        self.latencies_s: list[float] = []
        self.began = 0.0
        self._is_ending = False
        self._stored_bytes = 0
        self.socket = socket.create_connection(broker.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._prepare()

    def _prepare(self) -> None:
        self._produce = bytearray(encode("Produce", 12, self._body, correlation_id=1))
        self._starts = _all_positions(self._produce, self._batch)
        body = {
            "transactional_id": self._producer.transactional_id,
            "producer_id": self._producer.producer_id,
            "producer_epoch": self._producer.epoch,
            "committed": True,
        }
        self._end = bytearray(encode("EndTxn", 5, body, correlation_id=1))
        known = struct.pack(">qh", self._producer.producer_id, self._producer.epoch)
        self._end_epoch = self._end.index(known) + 8

    def begin(self, now: float) -> bytearray:
        """The request of the next transaction."""
        self.began, self._is_ending = now, False
        for start in self._starts:
            struct.pack_into(">h", self._produce, start + 51, self.epoch)
            (length,) = struct.unpack_from(">i", self._produce, start + 8)
            crc = crc32c.crc32c(bytes(self._produce[start + 21 : start + 12 + length]))
            struct.pack_into(">I", self._produce, start + 17, crc)
        return self._produce

    def answered(self, frame: bytes, now: float) -> bytearray | None:
        """The next request; None: repeat the same a little later."""
        if not self._is_ending:
            return self._produced(frame)
        *_, error, _, epoch = ENDED.unpack_from(frame)
        if error_name(error) == "CONCURRENT_TRANSACTIONS":
            return None
        assert error == 0, error_name(error)
        assert epoch < 32_000, "the epochs are exhausted: use a shorter run"
        self.epoch = epoch
        self.latencies_s.append(now - self.began)
        return self.begin(now)

    def again(self) -> bytearray:
        """The unanswered request."""
        return self._end if self._is_ending else self._produce

    def _is_all_stored(self, frame: bytes) -> bool:
        """Whether no partition has an error, without decoding: they then have a fixed size."""
        if len(frame) != self._stored_bytes:
            return False
        errors = range(self._first_error, len(frame), PARTITION_BYTES)[: self._partitions]
        return not any(frame[at] or frame[at + 1] for at in errors)

    def _produced(self, frame: bytes) -> bytearray | None:
        if not self._is_all_stored(frame) and self._refused(frame):
            return None
        self._is_ending = True
        struct.pack_into(">h", self._end, self._end_epoch, self.epoch)
        return self._end

    def _refused(self, frame: bytes) -> bool:
        answer = decode("Produce", 12, frame[4:])
        errors = {
            error_name(each["error_code"]) for each in answer["responses"][0]["partition_responses"]
        }
        if errors != {"NONE"}:
            assert errors == {"CONCURRENT_TRANSACTIONS"}, errors
            return True
        self._stored_bytes = len(frame)
        return False


def _all_positions(frame: bytearray, batch: bytes) -> list[int]:
    positions, position = [], frame.find(batch)
    while position >= 0:
        positions.append(position)
        position = frame.find(batch, position + len(batch))
    return positions


def _whole_frame(received: socket.socket) -> bytes:
    """An answer; they are small, so it nearly always comes in one piece."""
    frame = received.recv(65_536)
    assert frame, "the broker closed the connection"
    (length,) = struct.unpack_from(">i", frame)
    while len(frame) < 4 + length:
        frame += received.recv(65_536)
    return frame


def committing(
    broker: Broker, seconds: float, *, producers: int = 1, records: int = 1, partitions: int = 1
) -> Result:
    """Run that many producers, each committing one transaction after another."""
    topic = broker.topic(partitions)
    selector = selectors.DefaultSelector()
    every = [
        Committing(broker, topic, records=records, partitions=partitions) for _ in range(producers)
    ]
    started = now = time.perf_counter()
    later: list[tuple[float, Committing]] = []
    for each in every:
        selector.register(each.socket, selectors.EVENT_READ, each)
        each.socket.sendall(each.begin(now))
    while now - started < seconds:
        for key, _ in selector.select(RETRY_S if later else 1.0):
            each = key.data
            frame = _whole_frame(each.socket)
            following = each.answered(frame, time.perf_counter())
            if following is None:
                later.append((time.perf_counter() + RETRY_S, each))
            else:
                each.socket.sendall(following)
        now = time.perf_counter()
        while later and later[0][0] <= now:
            each = later.pop(0)[1]
            each.socket.sendall(each.again())
    latencies_s = [latency for each in every for latency in each.latencies_s]
    per_partition = len(latencies_s) * (records // partitions + 1)
    for index in range(partitions):
        broker.wait_stable(topic, 0, partition=index)
        assert broker.ends(topic, index)[1] >= per_partition, "a committed record is missing"
    return result("transactions", len(latencies_s), now - started, latencies_s)

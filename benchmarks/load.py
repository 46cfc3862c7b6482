"""The load generator: a process that runs one workload for some time.

`load.py HOST:PORT WORKLOAD SECONDS` prints one JSON object: the rate per second, the latencies of
the requests in ms, and the number of operations. Requests are built once and sent from memory;
answers are checked, and records are counted in the log at the end.
"""

from __future__ import annotations

import json
import socket
import statistics
import struct
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import crc32c

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.wire.batches import HEADER, batch
from tests.wire.broker import Broker
from tests.wire.client import LENGTH, encode, error_name

BATCH_BYTES = 16_384
ANSWER_BYTES = 1 << 20
FILL_BYTES = 64 << 20
LIMIT_BYTES = 256 << 20
IN_FLIGHT = 5

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a workload; `per_s` and `count` are in `unit`."""

    unit: str
    per_s: float
    count: int
    p50_ms: float
    p99_ms: float


def result(unit: str, count: float, took_s: float, latencies_s: list[float]) -> Result:
    """Summarize a run."""
    ordered = sorted(latencies_s) or [0.0]
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    median = statistics.median(ordered)
    return Result(unit, count / took_s, int(count), median * 1000, p99 * 1000)


class Wire:
    """A socket that sends prepared frames and reads answers whole."""

    def __init__(self, broker: Broker, answer_bytes: int = 2 * ANSWER_BYTES) -> None:
        self._socket = socket.create_connection(broker.address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(answer_bytes)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def exchange(self, frame: bytes | bytearray) -> memoryview:
        """Send a frame and read its answer, which is valid until the next read."""
        self._socket.sendall(frame)
        return self.receive()

    def send(self, frame: bytes | bytearray) -> None:
        """Send a frame."""
        self._socket.sendall(frame)

    def receive(self) -> memoryview:
        """Read one answer whole; it is valid until the next read."""
        view = memoryview(self._buffer)
        filled = 0
        while filled < 4 or filled < 4 + LENGTH.unpack_from(self._buffer)[0]:
            received = self._socket.recv_into(view[filled:])
            assert received, "the broker closed the connection"
            filled += received
        return view[4:filled]

    def pipelined(self, frame: bytes, seconds: float, limit: int) -> tuple[int, float, list[float]]:
        """Keep frames in flight; returns the number of answers, the seconds, and the latencies.

        All answers must have one size, so that counting them is cheap.
        """
        started = time.perf_counter()
        size = len(self.exchange(frame)) + 4
        sent_at = deque([time.perf_counter()] * IN_FLIGHT)
        self._socket.sendall(frame * IN_FLIGHT)
        latencies_s: list[float] = []
        unread = 0
        while sent_at:
            received = self._socket.recv_into(self._buffer)
            assert received, "the broker closed the connection"
            answered, unread = divmod(unread + received, size)
            now = time.perf_counter()
            latencies_s += [now - sent_at.popleft() for _ in range(answered)]
            if now - started < seconds and len(latencies_s) < limit:
                self._socket.sendall(frame * answered)
                sent_at.extend([now] * answered)
        return len(latencies_s) + 1, time.perf_counter() - started, latencies_s


def produce_body(topic: str, records: bytes, transactional_id: str | None = None) -> Body:
    """The body of a Produce of one batch with acks=all."""
    part = {"index": 0, "records": records}
    return {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": 30_000,
        "topic_data": [{"name": topic, "partition_data": [part]}],
    }


def produce(broker: Broker, size: int, seconds: float) -> Result:
    """Batches of 16 KB, five requests in flight."""
    count = max(1, BATCH_BYTES // size)
    topic = broker.topic()
    records = batch([b"x" * size] * count)
    frame = encode("Produce", 11, produce_body(topic, records), correlation_id=1)
    limit = LIMIT_BYTES // len(frame)
    answered, took_s, latencies_s = Wire(broker).pipelined(frame, seconds, limit)
    assert broker.ends(topic)[1] == answered * count, "not every batch was stored"
    broker.delete_topic(topic)
    return result("records", answered * count, took_s, latencies_s)


def produce_by_librdkafka(broker: Broker, size: int, seconds: float) -> Result:
    """The same through confluent-kafka, which batches by itself."""
    from confluent_kafka import Producer

    topic = broker.topic()
    settings = {
        "bootstrap.servers": f"{broker.address[0]}:{broker.address[1]}",
        "batch.size": BATCH_BYTES,
        "linger.ms": 5,
        "queue.buffering.max.messages": 200_000,
    }
    producer = Producer(settings)
    value = b"x" * size
    count, limit = 0, LIMIT_BYTES // size
    started = time.perf_counter()
    while time.perf_counter() - started < seconds and count < limit:
        for _ in range(100):
            try:
                producer.produce(topic, value, partition=0)
                count += 1
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    assert producer.flush(60) == 0
    took_s = time.perf_counter() - started
    assert broker.ends(topic)[1] == count, "not every record was stored"
    broker.delete_topic(topic)
    return result("records", count, took_s, [])


def fetch(broker: Broker, seconds: float) -> Result:
    """Answers of 1 MB, one after the other, over a log that is read repeatedly; in MB."""
    topic = broker.topic()
    records = batch([b"x" * 1000] * 16)
    produced = encode("Produce", 11, produce_body(topic, records), correlation_id=1)
    wire = Wire(broker)
    end = FILL_BYTES // len(records)
    wire.pipelined(produced, 60.0, end)
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": ANSWER_BYTES}
    body = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": ANSWER_BYTES,
        "topics": [{"topic": topic, "partitions": [part]}],
    }
    marked = 0x0123456789ABCDEF
    frame = bytearray(encode("Fetch", 11, _with_offset(body, marked), correlation_id=1))
    position = frame.index(struct.pack(">q", marked))
    step = ANSWER_BYTES // len(records) * 16
    offset, read, latencies_s = 0, 0, []
    started = now = time.perf_counter()
    while now - started < seconds:
        struct.pack_into(">q", frame, position, offset)
        answer = wire.exchange(frame)
        assert len(answer) > ANSWER_BYTES * 9 // 10, "less than 1 MB was answered"
        read += len(answer)
        offset = (offset + step) % ((end - ANSWER_BYTES // len(records)) * 16)
        before, now = now, time.perf_counter()
        latencies_s.append(now - before)
    broker.delete_topic(topic)
    return result("MB", read / 1e6, now - started, latencies_s)


def _with_offset(body: Body, offset: int) -> Body:
    body["topics"][0]["partitions"][0]["fetch_offset"] = offset
    return body


def one_record(broker: Broker, seconds: float) -> Result:
    """Idempotent requests of one record of 100 bytes, one at a time."""
    topic, producer = broker.topic(), broker.idempotent()
    records = producer.batch([b"x" * 100])
    frame = bytearray(encode("Produce", 11, produce_body(topic, records), correlation_id=1))
    start = frame.index(records)
    wire = Wire(broker)
    latencies_s: list[float] = []
    started = now = time.perf_counter()
    while now - started < seconds:
        _number(frame, start, sequence=len(latencies_s), epoch=producer.epoch)
        wire.exchange(frame)
        before, now = now, time.perf_counter()
        latencies_s.append(now - before)
    assert broker.ends(topic)[1] == len(latencies_s), "not every record was stored"
    broker.delete_topic(topic)
    return result("requests", len(latencies_s), now - started, latencies_s)


def _number(frame: bytearray, start: int, *, sequence: int, epoch: int) -> None:
    """Set sequence number, epoch and CRC of the batch at `start`, near the frame's end."""
    (length,) = struct.unpack_from(">i", frame, start + 8)
    struct.pack_into(">hi", frame, start + HEADER.size - 10, epoch, sequence)
    crc = crc32c.crc32c(bytes(frame[start + 21 : start + 12 + length]))
    struct.pack_into(">I", frame, start + 17, crc)


def transactions(broker: Broker, seconds: float) -> Result:
    """Transactions of one record: Produce 12, which adds the partition, and EndTxn 5."""
    topic, producer = broker.topic(), broker.producer()
    latencies_s = []
    started = now = time.perf_counter()
    while now - started < seconds:
        error, _ = producer.produce(topic, [b"x" * 100], version=12)
        assert error == "NONE", error
        ended, _, epoch = producer.end(version=5)
        assert ended == "NONE", ended
        producer = producer.but(epoch=epoch)
        before, now = now, time.perf_counter()
        latencies_s.append(now - before)
    assert broker.wait_stable(topic, 2 * len(latencies_s)) == 2 * len(latencies_s)
    broker.delete_topic(topic)
    return result("transactions", len(latencies_s), now - started, latencies_s)


def offset_commits(broker: Broker, seconds: float) -> Result:
    """Commits of one offset, one at a time."""
    topic, group = broker.topic(), broker.fresh("g")
    assert broker.commit(group, topic, 1) == "NONE"
    part = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    body = {"group_id": group, "topics": [{"name": topic, "partitions": [part]}]}
    frame = encode("OffsetCommit", 8, body, correlation_id=1)
    wire = Wire(broker)
    latencies_s: list[float] = []
    started = now = time.perf_counter()
    while now - started < seconds:
        wire.exchange(frame)
        before, now = now, time.perf_counter()
        latencies_s.append(now - before)
    assert broker.offsets(group, topic) == [[7, "NONE"]]
    return result("commits", len(latencies_s), now - started, latencies_s)


WORKLOADS: dict[str, Callable[[Broker, float], Result]] = {
    "produce 100 B": lambda broker, s: produce(broker, 100, s),
    "produce 1 KB": lambda broker, s: produce(broker, 1000, s),
    "produce 10 KB": lambda broker, s: produce(broker, 10_000, s),
    "librdkafka 100 B": lambda broker, s: produce_by_librdkafka(broker, 100, s),
    "librdkafka 1 KB": lambda broker, s: produce_by_librdkafka(broker, 1000, s),
    "librdkafka 10 KB": lambda broker, s: produce_by_librdkafka(broker, 10_000, s),
    "fetch 1 MB": fetch,
    "one record": one_record,
    "transactions": transactions,
    "offset commits": offset_commits,
}


def make_internal_topics(broker: Broker) -> None:
    """Create them by FindCoordinator; its first answers may say that they are missing."""
    for kind in (0, 1):
        body = {"key": "load", "key_type": kind}
        while error_name(broker.call("FindCoordinator", 3, body)["error_code"]) != "NONE":
            time.sleep(0.05)


def main() -> int:
    """Run the workload of the command line."""
    bootstrap, workload, seconds = sys.argv[1:]
    host, port = bootstrap.rsplit(":", 1)
    broker = Broker((host, int(port)), f"load {workload}")
    try:
        make_internal_topics(broker)
        done = WORKLOADS[workload](broker, float(seconds))
    finally:
        broker.close()
    print(json.dumps(asdict(done)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

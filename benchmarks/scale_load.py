"""Loads for bench_scale.py: requests one after the other, over many partitions or connections.

Requests are built once and sent from memory; error codes of answers are checked.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

from benchmarks.load import Wire, make_internal_topics, produce_body
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import encode
from tests.wire.transactions import Producer

Place = tuple[str, int]
"""A topic and the index of a partition."""

RECORD = batch([b"x" * 100])
PRODUCE_VERSION = 11
FETCH_VERSION = 12
WAIT_MS = 30_000
_MARKED = 0x0123456789ABCDEF
_EPOCH = struct.Struct(">i")


class Load(Protocol):
    """Units of work, one after the other."""

    def run(self, count: int) -> None:
        """Do so many units."""

    def close(self) -> None:
        """Close the connections."""


def produce_frame(place: Place, records: bytes = RECORD) -> bytes:
    """A Produce of one batch, ready to send."""
    body = produce_body(place[0], records)
    body["topic_data"][0]["partition_data"][0]["index"] = place[1]
    return encode("Produce", PRODUCE_VERSION, body, correlation_id=1)


def check_produced(answer: memoryview, topic: str) -> None:
    """Check the error code of a Produce of one partition."""
    # correlation id, tags, topics, the topic's name, partitions, index
    at = 4 + 1 + 1 + 1 + len(topic) + 1 + 4
    assert bytes(answer[at : at + 2]) == b"\0\0", bytes(answer)


class ProducerToMany:
    """Each record goes to the next partition, over one connection."""

    def __init__(self, broker: Broker, places: list[Place], connections: int = 1) -> None:
        self._frames = [(topic, produce_frame((topic, index))) for topic, index in places]
        self._wires = [Wire(broker) for _ in range(connections)]
        self._sent = 0

    def run(self, count: int) -> None:
        for number in range(self._sent, self._sent + count):
            topic, frame = self._frames[number % len(self._frames)]
            check_produced(self._wires[number % len(self._wires)].exchange(frame), topic)
        self._sent += count

    def close(self) -> None:
        for wire in self._wires:
            wire.close()


ManyProducers = ProducerToMany
"""The connections take turns."""


class SessionConsumer:
    """A consumer with an incremental fetch session (KIP-227) on some partitions."""

    def __init__(self, broker: Broker, places: list[Place]) -> None:
        self._offsets = dict.fromkeys(places, 0)
        self._wire = Wire(broker)
        parts: dict[str, list[dict[str, Any]]] = {}
        for topic, index in places:
            wanted = {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
            parts.setdefault(topic, []).append(wanted)
        topics = [{"topic": topic, "partitions": some} for topic, some in parts.items()]
        first = encode("Fetch", FETCH_VERSION, _fetch(0, 0, topics, wait_ms=0), correlation_id=1)
        answer = self._wire.exchange(first)
        self._session_id = _EPOCH.unpack_from(answer, 11)[0]
        assert self._session_id > 0, "there was no room for a session"
        self._epoch = 1
        self._templates: dict[Place, tuple[bytearray, int, int]] = {}
        self._send(places[0])

    def _send(self, place: Place) -> None:
        """Send a Fetch with the new offset of a partition; it waits for the next record."""
        found = self._templates.get(place)
        if found is None:
            wanted = {
                "partition": place[1],
                "fetch_offset": _MARKED,
                "partition_max_bytes": 1 << 20,
            }
            topics = [{"topic": place[0], "partitions": [wanted]}]
            body = _fetch(self._session_id, 0x01234567, topics, wait_ms=WAIT_MS)
            frame = bytearray(encode("Fetch", FETCH_VERSION, body, correlation_id=1))
            at = frame.index(_EPOCH.pack(0x01234567))
            found = frame, at, frame.index(struct.pack(">q", _MARKED))
            self._templates[place] = found
        frame, epoch_at, offset_at = found
        _EPOCH.pack_into(frame, epoch_at, self._epoch)
        struct.pack_into(">q", frame, offset_at, self._offsets[place])
        self._wire.send(frame)
        self._epoch += 1

    def take(self, place: Place) -> None:
        """Receive the answer with one record of a partition, and send the next Fetch."""
        answer = self._wire.receive()
        # correlation id, tags, throttle time, error code, session id, topics, the topic's name
        assert bytes(answer[9:11]) == b"\0\0", bytes(answer[:64])
        at = 16 + len(place[0]) + 1
        assert (answer[15], answer[at]) == (2, 2), "not one partition was answered"
        assert bytes(answer[at + 5 : at + 7]) == b"\0\0", bytes(answer[:64])
        assert bytes(answer[-90:-10]) == b"x" * 80, "the record is missing"
        self._offsets[place] += 1
        self._send(place)

    def close(self) -> None:
        self._wire.close()


def _fetch(
    session_id: int, epoch: int, topics: list[dict[str, Any]], *, wait_ms: int
) -> dict[str, Any]:
    return {
        "max_wait_ms": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": session_id,
        "session_epoch": epoch,
        "topics": topics,
    }


class ConsumerOfMany:
    """A consumer waits for records in all partitions; each record goes to the next one."""

    def __init__(self, broker: Broker, places: list[Place]) -> None:
        self._places = places
        self._producer = Wire(broker)
        self._frames = [produce_frame(place) for place in places]
        self._session = SessionConsumer(broker, places)
        self._sent = 0

    def run(self, count: int) -> None:
        for number in range(self._sent, self._sent + count):
            at = number % len(self._places)
            place = self._places[at]
            check_produced(self._producer.exchange(self._frames[at]), place[0])
            self._session.take(place)
        self._sent += count

    def close(self) -> None:
        self._producer.close()
        self._session.close()


class ManyConsumers:
    """Each connection waits for records in its own partition; they get records in turn."""

    def __init__(self, broker: Broker, places: list[Place], connections: int) -> None:
        self._places = places[:connections]
        self._frames = [produce_frame(place) for place in self._places]
        self._producer = Wire(broker)
        self._sessions = [SessionConsumer(broker, [place]) for place in self._places]
        self._sent = 0

    def run(self, count: int) -> None:
        for number in range(self._sent, self._sent + count):
            at = number % len(self._places)
            place = self._places[at]
            check_produced(self._producer.exchange(self._frames[at]), place[0])
            self._sessions[at].take(place)
        self._sent += count

    def close(self) -> None:
        self._producer.close()
        for session in self._sessions:
            session.close()


class Transactions:
    """Transactions of one record: Produce 12, which adds the partition, and EndTxn 5.

    Args:
        connections: each has its own transactional id; they take turns.
    """

    def __init__(self, broker: Broker, places: list[Place], connections: int) -> None:
        make_internal_topics(broker)
        self._broker = broker
        self._places = places
        self._connections = [broker.connection]
        self._connections += [broker.connect() for _ in range(connections - 1)]
        self._producers: list[Producer] = [broker.producer() for _ in range(connections)]
        self._sent = 0

    def run(self, count: int) -> None:
        for number in range(self._sent, self._sent + count):
            turn = number % len(self._producers)
            producer = self._producers[turn]
            topic, index = self._places[number % len(self._places)]
            self._broker.connection = self._connections[turn]
            error, _ = producer.produce(topic, [b"x" * 100], partition=index, version=12)
            assert error == "NONE", error
            ended, producer_id, epoch = producer.end_raw(version=5)
            assert ended == "NONE", ended
            self._producers[turn] = producer.but(producer_id=producer_id, epoch=epoch)
        self._sent += count

    def close(self) -> None:
        self._broker.close()

"""Attacks by large numbers of connections, sessions, producers, members and transactions."""

from __future__ import annotations

import struct
import uuid
from collections import Counter
from contextlib import suppress

from tests.wire.batches import batch
from tests.wire.client import encode, framed, header, until
from tests.wire.consumers import heartbeat_raw

from .broker_process import BrokerSetup
from .scene import Scene, attack, close_all, read_until_closed

_PIPELINED = 200


@attack()
def many_connections(scene: Scene) -> None:
    """5,000 connections send ApiVersions and then close at the same moment."""
    request = framed(header(18, 0))
    sockets = [scene.socket() for _ in range(scene.count(5000))]
    for connection in sockets:
        connection.sendall(request)
    for connection in sockets:
        assert len(connection.recv(4)) == 4, "a connection is not answered"
    close_all(sockets)


@attack()
def connections_that_come_and_go(scene: Scene) -> None:
    """20,000 connections, one after the other, close without sending a byte."""
    for _ in range(scene.count(20_000)):
        scene.socket().close()


@attack(limit_s=90)
def fetch_sessions_of_unknown_partitions(scene: Scene) -> None:
    """300 fetch sessions with 10,000 partitions each, none of which exists."""
    partitions = scene.count(10_000)
    part = struct.pack(">iiqqi", 0, -1, 0, -1, 1 << 20)
    numbered = b"".join(struct.pack(">i", index) + part[4:] for index in range(partitions))
    body = struct.pack(">iiiibii", -1, 0, 0, 1 << 20, 0, 0, 0) + struct.pack(">i", 1)
    body += struct.pack(">h", 7) + b"nowhere" + struct.pack(">i", partitions) + numbered
    body += struct.pack(">i", 0) + struct.pack(">h", 0)
    request = framed(header(1, 11) + body)
    connection = scene.connect(timeout_s=50)
    for _ in range(scene.count(300)):
        connection.send_raw(request)
        connection.frame(timeout_s=50)
    scene.notes.append(f"each in a request of {len(request)} bytes")
    connection.close()


@attack(limit_s=120)
def producer_ids(scene: Scene) -> None:
    """300,000 producer ids, every tenth of which writes a batch to one partition."""
    broker = scene.talk()
    topic = broker.topic()
    connection = scene.connect()
    init = encode(
        "InitProducerId", 1, {"transactional_id": None, "transaction_timeout_ms": 60_000},
        correlation_id=1,
    )  # fmt: skip
    for _ in range(scene.count(300_000) // _PIPELINED):
        connection.send_raw(init * _PIPELINED)
        ids = []
        for _ in range(_PIPELINED):
            frame = connection.frame()
            ids.append(struct.unpack_from(">q", frame, 4 + 4 + 2)[0])
        for producer_id in ids[::10]:
            records = batch([b"v"], producer_id=producer_id, epoch=0, sequence=0)
            broker.produce_raw([(topic, 0, records)], version=9)
    connection.close()


@attack(limit_s=90, setup=BrokerSetup(settings={
    "offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000",
}, steps_clock=True))  # fmt: skip
def offsets_that_expire_at_once(scene: Scene) -> None:
    """100,000 offsets of 250 groups expire at the same moment."""
    broker = scene.talk()
    partitions, groups = 400, scene.count(250)
    topic = broker.topic(partitions=partitions)
    for number in range(groups):
        group = f"old-{number}"
        parts = [{"partition_index": index, "committed_offset": 1} for index in range(partitions)]
        body = {
            "group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
            "retention_time_ms": -1, "topics": [{"name": topic, "partitions": parts}],
        }  # fmt: skip
        answer = broker.connection.call("OffsetCommit", 2, body)
        codes = {part["error_code"] for part in answer["topics"][0]["partitions"]}
        assert codes == {0}, f"OffsetCommit: {codes}"
    scene.process.step_clock(120)

    def gone() -> int:
        left = 0
        for number in (0, groups // 2, groups - 1):
            offsets = broker.offsets(f"old-{number}", topic, range(partitions))
            left += sum(offset != -1 for offset, _ in offsets)
        return left

    left = until(gone, lambda left: left == 0, limit_s=20, every_s=0.5)
    assert left == 0, f"{left} offsets of three groups have not expired"


@attack(limit_s=120, setup=BrokerSetup(settings={
    "group.consumer.session.timeout.ms": "6000", "group.consumer.min.session.timeout.ms": "6000",
            "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "2000", "group.consumer.max.size": "10000",
}))  # fmt: skip
def members_that_die_together(scene: Scene) -> None:
    """5,000 members of the consumer protocol in 200 groups stop, and all are fenced."""
    broker = scene.talk()
    topic = broker.topic(partitions=10)
    groups = [f"crowd-{number}" for number in range(200)]
    each = scene.count(25, least=5)
    for group in groups:
        for number in range(each):
            answer = heartbeat_raw(
                broker, group, f"m{number}", 0, subscribed_topic_names=[topic],
                rebalance_timeout_ms=10_000, topic_partitions=[],
            )  # fmt: skip
            assert answer["error"] == "NONE", f"a member cannot join: {answer['error']}"

    def left() -> int:
        body = {"group_ids": groups, "include_authorized_operations": False}
        answer = broker.connection.call("ConsumerGroupDescribe", 1, body)
        return sum(len(group["members"]) for group in answer["groups"])

    members = until(left, lambda left: left == 0, limit_s=30, every_s=0.5)
    assert members == 0, f"{members} dead members are not fenced"


@attack(limit_s=120, setup=BrokerSetup(settings={
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}))  # fmt: skip
def transactions_that_time_out(scene: Scene) -> None:
    """120 transactions over 3,000 partitions each time out together, and all end."""
    broker = scene.talk()
    partitions = scene.count(3000)
    broker.create_raw("wide", partitions=partitions)
    producers = []
    for _ in range(scene.count(120, least=20)):
        producers.append(broker.producer(timeout_ms=int(15_000 * max(scene.scale, 0.2))))
        producers[-1].add_all({"wide": list(range(partitions))})
    names = [producer.transactional_id for producer in producers]

    def states() -> Counter[str]:
        body = {"transactional_ids": names}
        answer = broker.connection.call("DescribeTransactions", 0, body, timeout_s=50)
        return Counter(each["transaction_state"] for each in answer["transaction_states"])

    scene.notes.append(f"before: {dict(states())}")
    seen = until(states, lambda seen: set(seen) == {"CompleteAbort"}, limit_s=50, every_s=0.5)
    assert set(seen) == {"CompleteAbort"}, f"transactions are still open: {dict(seen)}"


@attack()
def tls_hellos(scene: Scene) -> None:
    """2,000 TLS clients connect to the plaintext port; the log has a few lines, not 2,000."""
    hello = bytes.fromhex("16030100f8010000f40303") + scene.random.randbytes(240)
    for _ in range(scene.count(2000)):
        with suppress(OSError), scene.socket(timeout_s=5) as connection:
            connection.sendall(hello)
            read_until_closed(connection, 1024)


@attack()
def http_requests(scene: Scene) -> None:
    """2,000 HTTP requests to the port of the Kafka protocol."""
    for _ in range(scene.count(2000)):
        with suppress(OSError), scene.socket(timeout_s=5) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: broker\r\n\r\n")
            read_until_closed(connection, 1024)


@attack()
def malformed_frames_of_one_peer(scene: Scene) -> None:
    """30,000 malformed frames, each on a connection of its own: the log stays short."""
    frame = framed(header(3, 9, flexible=True) + b"\xff\xff\xff\xff\x0f")
    for _ in range(scene.count(30_000)):
        with suppress(OSError), scene.socket(timeout_s=5) as connection:
            connection.sendall(frame)
            read_until_closed(connection, 64)


@attack()
def client_ids(scene: Scene) -> None:
    """200,000 requests with as many client ids."""
    connection = scene.connect()
    for first in range(0, scene.count(200_000), _PIPELINED):
        for number in range(first, first + _PIPELINED):
            connection.send_raw(framed(header(18, 0, client_id=b"client-%d" % number)))
        for _ in range(_PIPELINED):
            connection.frame()
    connection.close()


@attack()
def groups_of_one_member(scene: Scene) -> None:
    """2,000 consumer groups, the only member of which leaves at once."""
    broker = scene.talk()
    topic = broker.topic()
    codes: Counter[str] = Counter()
    for number in range(scene.count(2000)):
        group = f"single-{number}"
        joined = heartbeat_raw(
            broker, group, str(uuid.UUID(int=number)), 0, subscribed_topic_names=[topic],
            rebalance_timeout_ms=10_000, topic_partitions=[],
        )  # fmt: skip
        left = heartbeat_raw(broker, group, str(uuid.UUID(int=number)), -1)
        codes.update((joined["error"], left["error"]))
    assert set(codes) == {"NONE"}, f"heartbeats: {dict(codes)}"

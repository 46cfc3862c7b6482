"""Attacks by members of share groups and of Streams groups."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import Connection, error_name
from tests.wire.settings import set_of_group
from tests.wire.shares import (
    ACCEPT,
    RELEASE,
    ShareMember,
    ShareSession,
    acknowledged,
    heartbeat_raw,
)
from tests.wire.streams import StreamsMember, prepare, subtopology, topology

from .broker_process import BrokerSetup
from .scene import Scene, attack

_LOCKS = 4000
"""The highest share.partition.max.record.locks."""
_IN_A_BATCH = 500


@attack(limit_s=180)
def a_million_acquired_records(scene: Scene) -> None:
    """1,000,000 records are acquired, and every other one is released: each has its own state."""
    broker = scene.talk()
    partitions = scene.count(250, least=10)
    topic, group = broker.topic(partitions=partitions), broker.fresh("g")
    records = batch([b"v"] * _IN_A_BATCH)
    for _ in range(_LOCKS // _IN_A_BATCH):
        for first in range(0, partitions, 50):
            indexes = range(first, min(first + 50, partitions))
            broker.produce_raw([(topic, index, records) for index in indexes])
    set_of_group(broker, group, share_partition_max_record_locks=_LOCKS)
    ShareMember.joined(broker, group, topic, partitions=partitions)
    count = 0
    for index in range(partitions):
        session = ShareSession(broker, group, topic)
        count += _acquire_all(session, topic, index)
        types = [ACCEPT if offset % 2 else RELEASE for offset in range(_LOCKS)]
        told = session.acknowledge(acknowledged(0, _LOCKS - 1, *types), partition=index)
        assert told == ["NONE"], f"acknowledgements: {told}"
    scene.notes.append(f"{count} records acquired")
    assert count == partitions * _LOCKS, f"{count} records acquired"


def _acquire_all(session: ShareSession, topic: str, index: int) -> int:
    """Acquire all records of a partition; their number."""
    count = 0
    for _ in range(2 * _LOCKS // _IN_A_BATCH):
        answer = session.fetch(partitions=[(topic, index)], max_records=_LOCKS)
        assert not isinstance(answer, str), answer
        for partition in answer:
            assert "error" not in partition, partition
            count += sum(last - first + 1 for first, last, _ in partition["acquired"])
        if count >= _LOCKS:
            break
    return count


@attack(limit_s=120)
def share_sessions(scene: Scene) -> None:
    """10,000 members open a share session each, and none closes it."""
    broker = scene.talk()
    topic, group = broker.filled_topic(), broker.fresh("g")
    ShareMember.joined(broker, group, topic)
    codes: Counter[str] = Counter()
    connections = [scene.connect() for _ in range(20)]
    for number in range(scene.count(10_000)):
        answer = _open_session(broker, connections[number % 20], group, topic, number)
        codes[error_name(answer["error_code"])] += 1
    scene.notes.append(f"answers: {dict(codes)}")
    assert set(codes) <= {"NONE", "SHARE_SESSION_LIMIT_REACHED"}, f"answers: {dict(codes)}"
    for connection in connections:
        connection.close()


def _open_session(
    broker: Broker, connection: Connection, group: str, topic: str, number: int
) -> dict[str, Any]:
    partition = {"partition_index": 0, "acknowledgement_batches": []}
    body = {
        "group_id": group, "member_id": str(uuid.UUID(int=number + 1)), "share_session_epoch": 0,
        "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1, "max_records": 1, "batch_size": 1,
        "topics": [{"topic_id": broker.topic_ids[topic], "partitions": [partition]}],
    }  # fmt: skip
    return connection.call("ShareFetch", 1, body)


@attack(limit_s=120, setup=BrokerSetup(settings={"group.share.max.size": "1000"}))
def share_members_that_come_and_go(scene: Scene) -> None:
    """2,000 share groups with one member each, which leaves at once."""
    broker = scene.talk()
    topic = broker.topic(partitions=10)
    codes: Counter[str] = Counter()
    for number in range(scene.count(2000)):
        group, member_id = f"queue-{number}", str(uuid.UUID(int=number + 1))
        codes[heartbeat_raw(broker, group, [topic], member_id=member_id)["error"]] += 1
        codes[heartbeat_raw(broker, group, None, member_id=member_id, epoch=-1)["error"]] += 1
    assert set(codes) == {"NONE"}, f"heartbeats: {dict(codes)}"


@attack(limit_s=120)
def topologies_of_a_megabyte(scene: Scene) -> None:
    """200 Streams groups with a topology of 1 MB each: 10,000 source topics that do not exist."""
    broker = scene.talk()
    sources = [f"nowhere-{number}-" + "x" * 90 for number in range(10_000)]
    given = topology(*(subtopology(str(i), *sources[i::10]) for i in range(10)))
    codes: Counter[str] = Counter()
    for _ in range(scene.count(200)):
        group = broker.fresh("g")
        prepare(broker, group)
        member = StreamsMember(broker, group, given)
        codes[member.error()] += 1
        codes[member.error(member_epoch=-1)] += 1
    scene.notes.append(f"answers: {dict(codes)}")


@attack()
def streams_patterns_of_a_megabyte(scene: Scene) -> None:
    """200 topologies whose sources are a regular expression of 1 MB: each of them is refused."""
    broker = scene.talk()
    pattern = "(a|aa)+" * 4000
    given = topology(subtopology("0", source_topic_regex=[pattern] * 35))
    codes: Counter[str] = Counter()
    for _ in range(scene.count(200)):
        codes[StreamsMember(broker, broker.fresh("g"), given).error()] += 1
    assert set(codes) == {"INVALID_REQUEST"}, f"answers: {dict(codes)}"

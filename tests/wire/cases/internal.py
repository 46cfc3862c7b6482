"""The records of the internal topics."""

from __future__ import annotations

import struct
from typing import Any

from ..batches import Record
from ..broker import Broker
from ..registry import case
from ..transactions import partition_of

STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def _records(broker: Broker, topic: str, name: str, key: bytes) -> list[Record]:
    """The records of a key in the partition of `name`."""
    partitions = len(broker.metadata([topic])["topics"][0]["partitions"])
    partition = partition_of(name, partitions)
    found: list[Record] = []
    offset = 0
    while batches := broker.batches(topic, offset, partition):
        found += [r for one in batches if not one.is_control for r in one.records if r.key == key]
        offset = batches[-1].last_offset + 1
    return found


@case
def internal__transaction_log(broker: Broker, topic: str) -> Any:
    """__transaction_state, partition abs(hash) % 50, has records of each state (key version 0)."""
    producer = broker.open_transaction(topic)
    producer.end()
    producer.wait_state("CompleteCommit")
    name = producer.transactional_id
    key = struct.pack(">hh", 0, len(name)) + name.encode()
    states, versions = [], set()
    for found in _records(broker, "__transaction_state", name, key):
        value = found.value or b""
        version, producer_id = struct.unpack_from(">hq", value)
        assert producer_id == producer.producer_id
        versions.add(version)
        states.append(value[2 + 8 + 2 + 4])
    return {"value_versions": sorted(versions), "states": [STATES[state] for state in states]}


@case
def internal__offsets_log(broker: Broker) -> Any:
    """__consumer_offsets, partition abs(hash(group)) % 50, has the commit (key version 1)."""
    group, topic = broker.fresh("g"), broker.topic()
    broker.commit(group, topic, 42, metadata="m")
    key = struct.pack(">hh", 1, len(group)) + group.encode()
    key += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", 0)
    found = _records(broker, "__consumer_offsets", group, key)
    return [len(found), struct.unpack_from(">hq", found[-1].value or b"")]

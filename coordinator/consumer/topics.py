"""Topics as consumer groups see them: names, ids, partitions, and whether they changed."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

_MAGIC: Final = b"\0"
_SIGN: Final = 1 << 63


class TopicMetadata(NamedTuple):
    """A topic as an assignor sees it.

    Attributes:
        racks: for each partition those of its replicas, sorted; empty where brokers have none.
    """

    topic_id: uuid.UUID
    name: str
    partition_count: int
    racks: tuple[tuple[str, ...], ...] = ()


class Topics(Protocol):
    """The topics of the cluster, as they are now."""

    @property
    def version(self) -> int:
        """A number that differs after any change that may concern topics."""

    @property
    def newest_version(self) -> int:
        """The version at which the last topic was created or first seen."""

    def by_name(self, name: str) -> TopicMetadata | None: ...
    def by_id(self, topic_id: uuid.UUID) -> TopicMetadata | None: ...

    def names(self) -> Iterable[str]:
        """The names of all topics."""


class NoTopics:
    """A cluster without topics."""

    version = newest_version = 0

    def by_name(self, name: str) -> TopicMetadata | None:
        return None

    def by_id(self, topic_id: uuid.UUID) -> TopicMetadata | None:
        return None

    def names(self) -> Iterable[str]:
        return ()


def metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """The hash of subscribed topics, kept with the group's epoch (KIP-1101).

    It differs after a topic is created, deleted or gets partitions. Kafka computes the same.
    """
    hashes = [
        topic_hash(topic) for topic in map(topics.by_name, sorted(names)) if topic is not None
    ]
    return _hash(b"".join(struct.pack("<q", each) for each in hashes)) if hashes else 0


# A group that has more topics than the cache would compute all hashes each time.
@lru_cache(maxsize=16_384)
def topic_hash(topic: TopicMetadata) -> int:
    """The hash of one topic: id, name, and its partitions with their racks."""
    high, low = topic.topic_id.int >> 64, topic.topic_id.int & ((1 << 64) - 1)
    parts = [_MAGIC, struct.pack("<QQ", high, low), _text(topic.name)]
    parts.append(struct.pack("<i", topic.partition_count))
    for partition in range(topic.partition_count):
        parts.append(struct.pack("<i", partition))
        racks = topic.racks[partition] if topic.racks else ()
        parts += [struct.pack("<i", len(rack)) + _text(rack) for rack in racks]
    return _hash(b"".join(parts))


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + struct.pack("<i", len(units) // 2)


def _hash(data: bytes) -> int:
    import xxhash

    value: int = xxhash.xxh3_64_intdigest(data)
    return value - 2 * _SIGN if value >= _SIGN else value

"""Reads the logs of a running cluster for `ottla audit --bootstrap`, Ottla's or Kafka's.

The driver lists the partitions with their offsets; executors fetch the batches from the leaders,
whole and as written (Fetch with read_uncommitted). The internal topics are read in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ottla.admin_offsets import EARLIEST, LATEST, partition_offsets
from ottla.client import Client, ErrorAnswer, NoAnswer, check
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.spark.audit_main import AuditFailed
from ottla.spark.audit_rows import Metadata, ReadBatch, SegmentFile
from ottla.spark.audit_run import Logs

_FETCH_BYTES: Final = 8 << 20
_RECENT_MS: Final = 10_000
_POLICY: Final = "cleanup.policy"
_TOPIC: Final = 2  # the type of a resource


def of_cluster(bootstrap: str) -> Logs:
    """The logs of a cluster, up to their present ends. Raises AuditFailed."""
    now_ms = time.time_ns() // 1_000_000
    try:
        with Client.to(bootstrap) as client:
            topics = {each.name: len(each.partitions) for each in client.metadata(None)}
            segments = [
                each
                for topic in sorted(topics, key=lambda name: (name.startswith("__"), name))
                for each in _ranges(client, bootstrap, topic, topics[topic])
            ]
            metadata = Metadata(_compacted(client, sorted(topics)))
    except (ErrorAnswer, NoAnswer, ValueError) as wrong:
        raise AuditFailed(str(wrong)) from None
    if not segments:
        raise AuditFailed(f"{bootstrap} has no partitions")
    return Logs(
        bootstrap,
        segments,
        metadata,
        wire_batches,
        bootstrap,
        now_ms,
        live_from_ms=now_ms - _RECENT_MS,
    )


def _ranges(client: Client, bootstrap: str, topic: str, partitions: int) -> Iterator[SegmentFile]:
    starts = partition_offsets(client, topic, dict.fromkeys(range(partitions), EARLIEST))
    ends = partition_offsets(client, topic, dict.fromkeys(range(partitions), LATEST))
    for index in range(partitions):
        yield SegmentFile(topic, index, starts[index], bootstrap, ends[index], False, True)


def _compacted(client: Client, topics: list[str]) -> frozenset[str]:
    """The topics that are compacted; those that do not tell are too."""
    resources = [
        {"resource_type": _TOPIC, "resource_name": name, "configuration_keys": [_POLICY]}
        for name in topics
    ]
    body = {"resources": resources, "include_synonyms": False, "include_documentation": False}
    answer = client.ask(ApiKey.DESCRIBE_CONFIGS, body)
    plain = {
        each.resource_name
        for each in answer.results
        for config in each.configs
        if config.name == _POLICY and config.value == "delete"
    }
    return frozenset(topics) - plain


@lru_cache(maxsize=4)
def _client(bootstrap: str) -> Client:
    """A connection of this process; the tasks of an executor share it one after the other."""
    return Client.to(bootstrap)


def wire_batches(segment: SegmentFile) -> Iterator[ReadBatch]:
    """The batches of a partition from `base_offset` to the offset `size`.

    Raises:
        ErrorAnswer: the leader refuses. NoAnswer: it does not answer.
    """
    client = _client(segment.path)
    offset, position = segment.base_offset, 0
    while offset < segment.size:
        data = memoryview(_fetched(client, segment, offset))
        found = False
        for at, header in headers_in(data):
            if header.last_offset < offset:
                continue
            if header.base_offset >= segment.size:
                return
            found = True
            yield ReadBatch(position, header, data[at : at + header.size_bytes])
            position += header.size_bytes
            offset = header.next_offset
        if not found:
            return  # compaction removed the last ones


def _fetched(client: Client, segment: SegmentFile, offset: int) -> bytes:
    asked: dict[str, Any] = {
        "partition": segment.partition,
        "fetch_offset": offset,
        "partition_max_bytes": _FETCH_BYTES,
    }
    body = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": _FETCH_BYTES,
        "isolation_level": 0,
        "topics": [{"topic": segment.topic, "partitions": [asked]}],
        "forgotten_topics_data": [],
    }
    leader = client.known_leader(segment.topic, segment.partition)
    answer = client.ask(ApiKey.FETCH, body, node_id=leader)
    check(answer.error_code, segment.topic)
    (topic,) = answer.responses
    (partition,) = topic.partitions
    check(partition.error_code, f"{segment.topic}-{segment.partition}")
    return bytes(partition.records or b"")

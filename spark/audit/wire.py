"""Reads the logs of a running cluster for `ottla audit --bootstrap`, Ottla's or Kafka's.

The driver lists the partitions with their offsets; executors fetch the batches from the leaders,
whole and as written (Fetch with read_uncommitted). The internal topics are read in the same way.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from ...audit import whole
from ...client.admin.offsets import EARLIEST, LATEST, partition_offsets
from ...client.cluster_client import Client, ErrorAnswer, NoAnswer, check
from ...client.log_batches import fetch
from ...client.properties import ClientProperties
from ...client.security import UNSECURED
from ...protocol.api_keys import ApiKey
from ...protocol.batch import HEADER_SIZE, read_header
from ..kafka_log.blocks import Block, Gap, Range, walk
from ..kafka_log.columns import last_offsets
from .main import AuditFailed
from .rows import LogPart, Metadata, rows_of
from .run import Logs

_FETCH_BYTES: Final = 8 << 20
_RECENT_MS: Final = 10_000
_POLICY: Final = "cleanup.policy"
_TOPIC: Final = 2  # the type of a resource


def of_cluster(bootstrap: str, properties: ClientProperties | None = None) -> Logs:
    """The logs of a cluster, up to their present ends.

    Args:
        bootstrap: HOST:PORT of each broker.
        properties: by which driver and executors connect; None without TLS and login.

    Raises:
        AuditFailed: it does not answer, or a key or certificate cannot be used.
    """
    now_ms = time.time_ns() // 1_000_000
    try:
        with _connected(bootstrap, properties) as client:
            topics = {each.name: len(each.partitions) for each in client.metadata(None)}
            parts = [
                each
                for topic in sorted(topics, key=lambda name: (name.startswith("__"), name))
                for each in _ranges(client, bootstrap, topic, topics[topic])
            ]
            metadata = Metadata(_compacted(client, sorted(topics)))
    except (ErrorAnswer, NoAnswer, ValueError) as wrong:
        raise AuditFailed(str(wrong)) from None
    if not parts:
        raise AuditFailed(f"{bootstrap} has no partitions")
    return Logs(
        bootstrap,
        parts,
        metadata,
        partial(wire_blocks, properties=properties),
        bootstrap,
        now_ms,
        live_from_ms=now_ms - _RECENT_MS,
    )


def logs_of_cluster(bootstrap: str, properties: ClientProperties | None = None) -> whole.Logs:
    """All rows of a small cluster, for `ottla.audit.whole`.

    Raises:
        AuditFailed: it does not answer. ErrorAnswer, NoAnswer: a leader refuses, or is gone.
    """
    cluster = of_cluster(bootstrap, properties)
    return replace(
        rows_of(cluster.parts, cluster.metadata, cluster.read),
        now_ms=cluster.now_ms,
        bootstrap=bootstrap,
        live_from_ms=cluster.live_from_ms,
    )


def _ranges(client: Client, bootstrap: str, topic: str, partitions: int) -> Iterator[LogPart]:
    starts = partition_offsets(client, topic, dict.fromkeys(range(partitions), EARLIEST))
    ends = partition_offsets(client, topic, dict.fromkeys(range(partitions), LATEST))
    for index in range(partitions):
        yield LogPart(topic, index, starts[index], ends[index], address=bootstrap)


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


def _connected(bootstrap: str, properties: ClientProperties | None) -> Client:
    security = UNSECURED if properties is None else properties.security()
    return Client.to(bootstrap, security=security)


@lru_cache(maxsize=4)
def _client(bootstrap: str, properties: ClientProperties | None) -> Client:
    """A connection of this process; the tasks of an executor share it one after the other."""
    client = _connected(bootstrap, properties)
    atexit.register(client.close)
    return client


def wire_blocks(
    part: LogPart, check_crc: bool, properties: ClientProperties | None = None
) -> Iterator[Block | Gap]:
    """The batches of a partition up to the end offset of the part.

    Raises:
        ErrorAnswer: the leader refuses. NoAnswer: it does not answer.
    """
    client = _client(part.address, properties)
    offset = part.base_offset
    while offset < part.end_offset:
        data = _fetched(client, part, offset)
        following = offset
        for block in walk(_InMemory(data), _whole(data, part), check_crc=check_crc):
            if isinstance(block, Gap):
                if block.is_tail and following > offset:
                    break  # a batch that the limit of the answer cuts
                yield block
                following = max(following, _behind(data, block.position, following))
                continue
            last = last_offsets(block.headers)
            wanted = (last >= offset) & (block.headers["base_offset"] < part.end_offset)
            if wanted.any():
                yield block.pick(wanted)
            following = max(following, int(last[-1]) + 1)
        if following == offset:
            return  # compaction removed the last ones
        offset = following


class _InMemory:
    """Bytes that were fetched, as a file."""

    skip_bytes = 1 << 20

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self._data[position : position + size_bytes]

    def close(self) -> None:
        pass


def _whole(data: bytes, part: LogPart) -> Range:
    return Range(0, len(data), len(data), part.base_offset, part.end_offset)


def _behind(data: bytes, position: int, offset: int) -> int:
    """The offset behind a damaged batch, as far as its header can be believed."""
    if position + HEADER_SIZE > len(data):
        return offset
    return min(read_header(data, position).next_offset, offset + _FETCH_BYTES)


def _fetched(client: Client, part: LogPart, offset: int) -> bytes:
    (partition,) = fetch(
        client,
        part.topic,
        {part.partition: offset},
        node_id=client.known_leader(part.topic, part.partition),
        partition_bytes=_FETCH_BYTES,
        with_epoch=False,  # the client may be older than a restart of the broker
    )
    check(partition.error_code, f"{part.topic}-{part.partition}")
    return bytes(partition.records or b"")

"""Fetches record batches of partitions, whole and as written, with their markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from ..protocol.api_keys import ApiKey
from ..protocol.batch import BatchHeader, headers_in
from ..protocol.control import read_marker
from ..protocol.errors import Code
from ..protocol.records import Record, records_in
from .admin.offsets import Isolation
from .cluster_client import Client, ErrorAnswer, check
from .fates import AbortedTransactions, Fate, Markers
from .retries import patiently

FETCH_BYTES: Final = 1 << 20
Unknown = TypeVar("Unknown")
"""What stands for the fate of a batch that a reader decides itself."""


class LogBatch(NamedTuple):
    """One record batch of a partition.

    Attributes:
        commits: for a marker: True for commit, False for abort; else None.
    """

    header: BatchHeader
    commits: bool | None
    records: tuple[Record, ...]


def fetch(
    client: Client,
    topic: str,
    offsets: Mapping[int, int],
    *,
    node_id: int,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    max_wait_ms: int = 0,
    partition_bytes: int = FETCH_BYTES,
    with_epoch: bool = True,
) -> list[Any]:  # Any: parts of an answer
    """The answers of a leader for partitions of a topic; their error codes are not checked.

    Args:
        offsets: the first offset by partition.
        max_wait_ms: the leader waits so long for a record.
        with_epoch: name the leader epoch of the last metadata; a leader refuses an older one than
            its own.

    Raises:
        ErrorAnswer: the leader refuses the whole request. NoAnswer: it does not answer.
    """
    known = client.known_leader_epoch if with_epoch else _no_epoch
    places = [
        {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": partition_bytes,
            "current_leader_epoch": known(topic, partition),
        }
        for partition, offset in offsets.items()
    ]
    body = {
        "max_wait_ms": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": partition_bytes * max(1, len(places)),
        "isolation_level": isolation,
        "topics": [{"topic": topic, "partitions": places}],
        "forgotten_topics_data": [],
    }
    answer = client.ask(ApiKey.FETCH, body, node_id=node_id)
    check(answer.error_code, topic)
    return [each for found in answer.responses for each in found.partitions]


def _no_epoch(topic: str, partition: int) -> int:
    return -1


def marker_in(data: bytes, at: int, header: BatchHeader) -> bool | None:
    """Whether a batch is a marker of a commit (True) or an abort (False); None for others."""
    marker = read_marker(data, at, header) if header.is_control else None
    return None if marker is None else marker.commit


def collect_markers(data: bytes, offset: int, markers: Markers) -> int | None:
    """Add the markers from an offset on; return the offset behind all batches, None for none."""
    behind = None
    for at, header in headers_in(data):
        commits = marker_in(data, at, header)
        if commits is not None and header.base_offset >= offset:
            markers.add(header, commits=commits)
        behind = header.next_offset
    return behind


def fates_in(
    data: bytes,
    headers: Iterable[tuple[int, BatchHeader]],
    decided: Any,  # part of an answer
    fate_behind: Callable[[BatchHeader], Unknown],
) -> Iterator[tuple[bool | None, Fate | Unknown]]:
    """Of each batch: what `marker_in` says, and the fate of its records; PLAIN for markers.

    Args:
        headers: the batches in `data`, each with its position.
        decided: the answer to a read_committed request of the same range.
        fate_behind: decides for transactional batches behind the last stable offset.
    """
    aborted = AbortedTransactions(decided.aborted_transactions or ())
    for at, header in headers:
        commits = marker_in(data, at, header)
        fate: Fate | Unknown = Fate.PLAIN
        if header.is_control:
            aborted.pass_marker(header, commits=commits)
        elif header.is_transactional and header.base_offset >= decided.last_stable_offset:
            fate = fate_behind(header)
        elif header.is_transactional:
            fate = Fate.ABORTED if aborted.has(header) else Fate.COMMITTED
        yield commits, fate


def log_batches(
    client: Client, topic: str, partition: int, start: int, end: int
) -> Iterator[LogBatch]:
    """The batches between two offsets, those of open and aborted transactions too.

    The records of the first and the last batch may lie outside of the offsets. Brokers may restart
    meanwhile (`patiently`).

    Raises:
        ErrorAnswer: the leader refuses; OFFSET_OUT_OF_RANGE if `start` is deleted.
        NoAnswer: it does not answer.
    """
    while start < end:
        data = patiently(partial(_fetched, client, topic, partition, start))
        for at, header in headers_in(data):
            if header.next_offset <= start or header.base_offset >= end:
                continue
            records = () if header.is_control else tuple(records_in(data, at, header))
            yield LogBatch(header, marker_in(data, at, header), records)
            start = header.next_offset


def _fetched(client: Client, topic: str, partition: int, offset: int) -> bytes:
    leader = client.leader(topic, partition)
    (found,) = fetch(client, topic, {partition: offset}, node_id=leader, max_wait_ms=500)
    check(found.error_code, f"{topic}-{partition}")
    if not found.records:  # the high watermark of a restarted broker lags
        raise ErrorAnswer(Code.OFFSET_NOT_AVAILABLE, f"{topic}-{partition}")
    return bytes(found.records)

"""Encodes the answer to a Fetch in pieces, so that records go from file to socket uncopied.

The codec would copy the records three times into one buffer, which is most of the cost of a Fetch.
This module encodes only the fields around the records; a property test in tests/protocol compares
it with the codec, version by version.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Mapping
from typing import Any, Final, Protocol

from .batch import Bytes
from .varints import length, unsigned


class Unread(Protocol):
    """Bytes that are read when they are sent."""

    def __len__(self) -> int: ...

    def part(self, start: int, size_bytes: int) -> bytes:
        """Read `size_bytes` from `start` on, within the length. Raises OSError."""


Body = Mapping[str, Any]
Pieces = list[Bytes | Unread]

PARTITIONS_IN_A_STEP: Final = 64

_ANSWER: Final = struct.Struct(">ii")  # size, correlation id
_SIZE: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")
_ERROR_AND_SESSION: Final = struct.Struct(">hi")
# Index, error code, high watermark, last stable offset; then, from version 5 on, log start offset.
_OFFSETS_4: Final = struct.Struct(">ihqq")
_OFFSETS: Final = struct.Struct(">ihqqq")
_ABORTED: Final = struct.Struct(">qq")
_DIVERGING: Final = struct.Struct(">iq")
_LEADER: Final = struct.Struct(">ii")

# The usual number of topics and of partitions, as a length.
_ONE_4: Final = length(1, False)
_ONE_12: Final = length(1, True)

_LOG_START_SINCE: Final = 5
_SESSIONS_SINCE: Final = 7
_PREFERRED_SINCE: Final = 11
_FLEXIBLE_SINCE: Final = 12
_IDS_SINCE: Final = 13


def encode_fetch_answer(version: int, correlation_id: int, body: Body) -> Pieces:
    """The whole frame with its size, as pieces to be written in order.

    Args:
        version: 4 to 18.
        body: FetchResponse in snake case, as the Fetch handler returns it; of the tagged fields
            only `diverging_epoch`, `current_leader` and `node_endpoints`.
    """
    out = _begin(version, correlation_id, body)
    pieces: Pieces = [out]
    flexible = version >= _FLEXIBLE_SINCE
    for topic in body["responses"]:
        _begin_topic(out, topic, version, flexible)
        for partition in topic["partitions"]:
            out = _partition(pieces, out, partition, version)
        if flexible:
            out.append(0)
    return _end(pieces, out, body, flexible)


def fetch_answer_in_steps(
    version: int, correlation_id: int, body: Body
) -> Generator[None, None, Pieces]:
    """`encode_fetch_answer` in steps of PARTITIONS_IN_A_STEP, for an answer with very many."""
    out = _begin(version, correlation_id, body)
    pieces: Pieces = [out]
    flexible = version >= _FLEXIBLE_SINCE
    count = 0
    for topic in body["responses"]:
        _begin_topic(out, topic, version, flexible)
        for partition in topic["partitions"]:
            count += 1
            if count % PARTITIONS_IN_A_STEP == 0:
                yield
            out = _partition(pieces, out, partition, version)
        if flexible:
            out.append(0)
        count += 1
        if count % PARTITIONS_IN_A_STEP == 0:
            yield
    return _end(pieces, out, body, flexible)


def _begin(version: int, correlation_id: int, body: Body) -> bytearray:
    flexible = version >= _FLEXIBLE_SINCE
    head = bytearray(_ANSWER.pack(0, correlation_id))
    if flexible:
        head.append(0)
    head += _SIZE.pack(body.get("throttle_time_ms", 0))
    if version >= _SESSIONS_SINCE:
        head += _ERROR_AND_SESSION.pack(body.get("error_code", 0), body.get("session_id", 0))
    topics = body["responses"]
    if len(topics) == 1:
        head += _ONE_12 if flexible else _ONE_4
    else:
        head += length(len(topics), flexible)
    return head


def _end(pieces: Pieces, out: bytearray, body: Body, flexible: bool) -> Pieces:
    if flexible:
        leaders = body.get("node_endpoints")
        if leaders:
            _endpoints(out, leaders)
        else:
            out.append(0)
    head = pieces[0]
    assert isinstance(head, bytearray)
    _SIZE.pack_into(head, 0, sum(map(len, pieces)) - _SIZE.size)
    return pieces


def _begin_topic(out: bytearray, topic: Body, version: int, flexible: bool) -> None:
    if version >= _IDS_SINCE:
        out += topic["topic_id"].bytes
    else:
        name = topic["topic"].encode()
        out += length(len(name), True) if flexible else _INT16.pack(len(name))
        out += name
    partitions = topic["partitions"]
    if len(partitions) == 1:
        out += _ONE_12 if flexible else _ONE_4
    else:
        out += length(len(partitions), flexible)


def _partition(pieces: Pieces, out: bytearray, partition: Body, version: int) -> bytearray:
    """Add a partition to the last piece, `out`; return the last piece then, behind its records."""
    flexible = version >= _FLEXIBLE_SINCE
    offsets = (
        partition["partition_index"],
        partition["error_code"],
        partition["high_watermark"],
        partition["last_stable_offset"],
    )
    if version >= _LOG_START_SINCE:
        out += _OFFSETS.pack(*offsets, partition["log_start_offset"])
    else:
        out += _OFFSETS_4.pack(*offsets)
    aborted = partition["aborted_transactions"]
    if aborted is None:
        out += b"\0" if flexible else _SIZE.pack(-1)
    else:
        _aborted(out, aborted, flexible)
    if version >= _PREFERRED_SINCE:
        out += _SIZE.pack(partition["preferred_read_replica"])
    records: Bytes | Unread = partition["records"]
    size_bytes = len(records)
    out += unsigned(size_bytes + 1) if flexible else _SIZE.pack(size_bytes)
    if size_bytes:
        out = bytearray()
        pieces += (records, out)
    if flexible:
        diverging, leader = partition.get("diverging_epoch"), partition.get("current_leader")
        if diverging is None and leader is None:
            out.append(0)
        else:
            _tags(out, diverging, leader)
    return out


def _aborted(out: bytearray, aborted: Iterable[Body], flexible: bool) -> None:
    entries = list(aborted)
    out += length(len(entries), flexible)
    for entry in entries:
        out += _ABORTED.pack(entry["producer_id"], entry["first_offset"])
        if flexible:
            out.append(0)


def _tags(out: bytearray, diverging: Body | None, leader: Body | None) -> None:
    out.append((diverging is not None) + (leader is not None))
    if diverging is not None:
        value = _DIVERGING.pack(diverging["epoch"], diverging["end_offset"]) + b"\0"
        out += bytes((0, len(value))) + value
    if leader is not None:
        value = _LEADER.pack(leader["leader_id"], leader["leader_epoch"]) + b"\0"
        out += bytes((1, len(value))) + value


def _endpoints(out: bytearray, endpoints: Iterable[Body]) -> None:
    """The addresses of new leaders (KIP-951), the only tagged field of the response itself."""
    leaders = list(endpoints)
    value = bytearray(length(len(leaders), True))
    for each in leaders:
        value += _SIZE.pack(each["node_id"])
        host = each["host"].encode()
        value += length(len(host), True) + host + _SIZE.pack(each["port"])
        rack = each["rack"]
        value += b"\0" if rack is None else length(len(rack.encode()), True) + rack.encode()
        value.append(0)
    out += bytes((1, 0)) + unsigned(len(value)) + value

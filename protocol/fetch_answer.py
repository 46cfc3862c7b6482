"""The answer to a Fetch in pieces, so that records go from the file to the socket uncopied.

The codec gathers an answer in one buffer; of a megabyte of records it makes three copies, which is
most of what a Fetch costs. Only what surrounds the records is encoded here; the property test in
tests/protocol compares it with the codec, version by version.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .batch import Bytes
from .varints import unsigned

Body = Mapping[str, Any]
Pieces = list[Bytes]

_SIZE: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")
_ERROR_AND_SESSION: Final = struct.Struct(">hi")
# Index, error code, high watermark, last stable offset; then, from version 5 on, log start offset.
_OFFSETS_4: Final = struct.Struct(">ihqq")
_OFFSETS: Final = struct.Struct(">ihqqq")
_ABORTED: Final = struct.Struct(">qq")
_DIVERGING: Final = struct.Struct(">iq")

_LOG_START_SINCE: Final = 5
_SESSIONS_SINCE: Final = 7
_PREFERRED_SINCE: Final = 11
_FLEXIBLE_SINCE: Final = 12
_IDS_SINCE: Final = 13


def encode_fetch_answer(version: int, correlation_id: int, body: Body) -> Pieces:
    """The whole frame, its size in front, in pieces to be written one after another.

    Args:
        version: 4 to 18.
        body: as the Fetch handler answers: FetchResponse in snake case; of the tagged fields
            `diverging_epoch` alone.
    """
    flexible = version >= _FLEXIBLE_SINCE
    head = bytearray(_SIZE.size) + _SIZE.pack(correlation_id)
    if flexible:
        head.append(0)
    head += bytes(_SIZE.size)  # throttle time
    if version >= _SESSIONS_SINCE:
        head += _ERROR_AND_SESSION.pack(body.get("error_code", 0), body.get("session_id", 0))
    topics = body["responses"]
    head += length(len(topics), flexible)
    pieces: Pieces = [head]
    for topic in topics:
        _topic(pieces, topic, version, flexible)
    if flexible:
        _last(pieces).append(0)
    _SIZE.pack_into(head, 0, sum(map(len, pieces)) - _SIZE.size)
    return pieces


def _topic(pieces: Pieces, topic: Body, version: int, flexible: bool) -> None:
    out = _last(pieces)
    if version >= _IDS_SINCE:
        out += topic["topic_id"].bytes
    else:
        name = topic["topic"].encode()
        out += length(len(name), True) if flexible else _INT16.pack(len(name))
        out += name
    partitions = topic["partitions"]
    out += length(len(partitions), flexible)
    for partition in partitions:
        _partition(pieces, partition, version, flexible)
    if flexible:
        _last(pieces).append(0)


def _partition(pieces: Pieces, partition: Body, version: int, flexible: bool) -> None:
    out = _last(pieces)
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
    _aborted(out, partition["aborted_transactions"], flexible)
    if version >= _PREFERRED_SINCE:
        out += _SIZE.pack(partition["preferred_read_replica"])
    records: Bytes = partition["records"]
    out += length(len(records), flexible)
    if records:
        pieces.append(records)
        pieces.append(bytearray())
    if flexible:
        _tags(_last(pieces), partition.get("diverging_epoch"))


def _aborted(out: bytearray, aborted: Iterable[Body] | None, flexible: bool) -> None:
    if aborted is None:
        out += b"\0" if flexible else _SIZE.pack(-1)
        return
    entries = list(aborted)
    out += length(len(entries), flexible)
    for entry in entries:
        out += _ABORTED.pack(entry["producer_id"], entry["first_offset"])
        if flexible:
            out.append(0)


def _tags(out: bytearray, diverging: Body | None) -> None:
    if diverging is None:
        out.append(0)
        return
    value = _DIVERGING.pack(diverging["epoch"], diverging["end_offset"]) + b"\0"
    out += bytes((1, 0, len(value))) + value


def _last(pieces: Pieces) -> bytearray:
    out = pieces[-1]
    assert isinstance(out, bytearray)
    return out


def length(size: int, flexible: bool) -> bytes:
    """A length: an int32, or one more as an unsigned varint."""
    return unsigned(size + 1) if flexible else _SIZE.pack(size)

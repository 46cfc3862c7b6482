"""Encodes the answer to a ShareFetch in pieces, so that records go from file to socket uncopied.

As `fetch_answer.py` does for a Fetch; a property test in tests/protocol compares it with the codec.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from typing import Any, Final

from .batch import Bytes
from .fetch_answer import PARTITIONS_IN_A_STEP, Pieces, Unread
from .varints import unsigned

Body = Mapping[str, Any]

# Size, correlation id, no tagged fields; throttle time, error code.
_HEAD: Final = struct.Struct(">iibih")
_INT32: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")
_PARTITION: Final = struct.Struct(">ih")
_LEADER: Final = struct.Struct(">iib")
_ACQUIRED: Final = struct.Struct(">qqhb")


def encode_share_fetch_answer(correlation_id: int, body: Body) -> Pieces:
    """The whole frame with its size, as pieces to be written in order.

    Args:
        body: ShareFetchResponse in snake case, as the ShareFetch handler returns it; versions 1
            and 2 are the same.
    """
    steps = share_fetch_answer_in_steps(correlation_id, body)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            pieces: Pieces = done.value
            return pieces


def share_fetch_answer_in_steps(correlation_id: int, body: Body) -> Generator[None, None, Pieces]:
    """`encode_share_fetch_answer` in steps, for an answer with very many partitions."""
    throttle_ms, code = body.get("throttle_time_ms", 0), body.get("error_code", 0)
    head = bytearray(_HEAD.pack(0, correlation_id, 0, throttle_ms, code))
    head += _text(body.get("error_message"))
    head += _INT32.pack(body.get("acquisition_lock_timeout_ms", 0))
    head += unsigned(len(body["responses"]) + 1)
    pieces: Pieces = [head]
    out, count = head, 0
    for topic in body["responses"]:
        out += topic["topic_id"].bytes
        out += unsigned(len(topic["partitions"]) + 1)
        for partition in topic["partitions"]:
            count += 1
            if count % PARTITIONS_IN_A_STEP == 0:
                yield
            out = _add_partition(pieces, out, partition)
        out.append(0)
    _add_endpoints(out, body)
    _INT32.pack_into(head, 0, sum(map(len, pieces)) - _INT32.size)
    return pieces


def _add_partition(pieces: Pieces, out: bytearray, partition: Body) -> bytearray:
    """Add a partition; returns the piece that is last then."""
    leader = partition["current_leader"]
    records: Bytes | Unread = partition["records"]
    out += _PARTITION.pack(partition["partition_index"], partition["error_code"])
    out += _text(partition.get("error_message"))
    out += _INT16.pack(partition["acknowledge_error_code"])
    out += _text(partition.get("acknowledge_error_message"))
    out += _LEADER.pack(leader["leader_id"], leader["leader_epoch"], 0)
    out += unsigned(len(records) + 1)
    if len(records):
        out = bytearray()
        pieces += (records, out)
    acquired = partition["acquired_records"]
    out += unsigned(len(acquired) + 1)
    for each in acquired:
        first, last, count = each["first_offset"], each["last_offset"], each["delivery_count"]
        out += _ACQUIRED.pack(first, last, count, 0)
    out.append(0)
    return out


def _add_endpoints(out: bytearray, body: Body) -> None:
    endpoints = body.get("node_endpoints") or ()
    out += unsigned(len(endpoints) + 1)
    for each in endpoints:
        out += _INT32.pack(each["node_id"]) + _text(each["host"])
        out += _INT32.pack(each["port"]) + _text(each["rack"])
        out.append(0)
    out.append(0)


def _text(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    encoded = text.encode()
    return unsigned(len(encoded) + 1) + encoded

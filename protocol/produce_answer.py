"""Encodes the answer to a Produce without error messages: nearly every one.

A producer of small batches gets tens of thousands of these a second, and building the codec's
objects would take a fifth of the time of such a request. Answers with more than codes and offsets
use the codec; a property test in tests/protocol compares both, version by version.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from .varints import length

Body = Mapping[str, Any]

_ANSWER: Final = struct.Struct(">ii")  # size, correlation id
_INT32: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")
# Index, error code, base offset, log append time; from version 5 on the log start offset.
_PARTITION_3: Final = struct.Struct(">ihqq")
_PARTITION_5: Final = struct.Struct(">ihqqq")
# No record errors and no message (null), since version 9 as varints, with no tagged fields.
_NO_WORDS_8: Final = b"\0\0\0\0\xff\xff"
_NO_WORDS_9: Final = b"\x01\0\0"
_STARTS_SINCE: Final = 5
_WORDS_SINCE: Final = 8
_FLEXIBLE_SINCE: Final = 9
_IDS_SINCE: Final = 13
_NO_ID: Final = bytes(16)
# The usual number of topics and of partitions, as a length.
_ONE_8: Final = length(1, False)
_ONE_9: Final = length(1, True)


def encode_produce_answer(version: int, correlation_id: int, body: Body) -> bytearray | None:
    """The whole frame with its size; None if the answer has more than codes and offsets.

    Args:
        version: 3 to 13.
        body: ProduceResponse in snake case, as the Produce handler returns it.
    """
    flexible = version >= _FLEXIBLE_SINCE
    one = _ONE_9 if flexible else _ONE_8
    no_words = _NO_WORDS_9 if flexible else _NO_WORDS_8 if version >= _WORDS_SINCE else b""
    out = bytearray(_ANSWER.pack(0, correlation_id))
    if flexible:
        out.append(0)
    topics = body["responses"]
    out += one if len(topics) == 1 else length(len(topics), flexible)
    for topic in topics:
        if version >= _IDS_SINCE:
            out += topic["topic_id"].bytes if topic["topic_id"] else _NO_ID
        else:
            name = topic["name"].encode()
            out += length(len(name), True) if flexible else _INT16.pack(len(name))
            out += name
        partitions = topic["partition_responses"]
        out += one if len(partitions) == 1 else length(len(partitions), flexible)
        for partition in partitions:
            has_words = partition.get("error_message") or partition.get("record_errors")
            if has_words or partition.get("current_leader"):
                return None
            offsets = (
                partition["index"],
                partition.get("error_code", 0),
                partition["base_offset"],
                partition["log_append_time_ms"],
            )
            if version >= _STARTS_SINCE:
                out += _PARTITION_5.pack(*offsets, partition["log_start_offset"]) + no_words
            else:
                out += _PARTITION_3.pack(*offsets)
        if flexible:
            out.append(0)
    out += _INT32.pack(body.get("throttle_time_ms", 0))
    if flexible:
        out.append(0)
    _INT32.pack_into(out, 0, len(out) - _INT32.size)
    return out

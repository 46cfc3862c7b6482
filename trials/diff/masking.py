"""Frames and commands for a report: without what records hold, and without passwords."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from ...protocol.batch import HEADER_SIZE, MAGIC, headers_in, seal
from ...protocol.errors import Refused
from ...protocol.varints import read_signed, read_size
from .messages import Answer, Fields, Request, answer_with_fields, with_fields
from .rules import SECRET

_COMPRESSED: Final = 0x07
_LENGTH_AT: Final = 8
_LENGTH_BEFORE: Final = 12
_ATTRIBUTES_AT: Final = 22
_WORD: Final = re.compile(
    r"(?i)((?:password|passwd|secret|token|jaas|credential|api.?key)[\w.-]*\s*[=:]\s*).*"
)
_FLAG: Final = re.compile(
    r"(?i)-{1,2}[\w.-]*(?:password|passwd|secret|token|credential|api.?key)[\w-]*"
)


def request_bytes(request: Request, *, values: bool) -> bytes | None:
    """The frame of a request for a report; None if it may hold a secret.

    Args:
        values: whether keys, values and headers of records stay; otherwise they become zero bytes.
    """
    if request.api in SECRET:
        return None
    if values or request.api_key is not ApiKey.PRODUCE:
        return request.frame
    if request.fields is None:
        return None
    masked_fields = _with_masked_records(request.fields, "topic_data", "partition_data")
    return with_fields(request, masked_fields)


def answer_bytes(request: Request, answer: Answer, *, values: bool) -> bytes | None:
    """The frame of an answer, likewise."""
    if request.api in SECRET:
        return None
    if values or request.api_key not in (ApiKey.FETCH, ApiKey.SHARE_FETCH):
        return answer.frame
    if answer.fields is None:
        return None
    masked_fields = _with_masked_records(answer.fields, "responses", "partitions")
    return answer_with_fields(request, answer, masked_fields)


def command_text(command: Sequence[str]) -> str:
    """A command without the values of options that look secret."""
    words, hides = [], False
    for word in command:
        words.append("(hidden)" if hides else _WORD.sub(r"\1(hidden)", word))
        hides = not hides and _FLAG.fullmatch(word) is not None
    return " ".join(words)


def _with_masked_records(fields: Fields, topics: str, partitions: str) -> Fields:
    """A message with masked records in each of the partitions of its topics."""
    masked_topics = [
        {
            **topic,
            partitions: [
                {**each, "records": masked(each["records"])} for each in topic[partitions]
            ],
        }
        for topic in fields[topics]
    ]
    return {**fields, topics: masked_topics}


def masked(records: bytes | None) -> bytes | None:
    """Batches with zero bytes in place of keys, values and contents of headers.

    A compressed batch becomes an uncompressed one. What is no whole batch of format 2 becomes zero
    bytes as a whole.
    """
    if not records:
        return records
    out, end = bytearray(), 0
    for position, header in headers_in(records):
        end = position + header.size_bytes
        batch = records[position:end]
        if header.magic != MAGIC:
            out += bytes(len(batch))
        elif header.is_control:
            out += batch
        else:
            out += _masked_batch(batch, header)
    return bytes(out) + bytes(len(records) - end)


def _masked_batch(batch: bytes, header: Any) -> bytes:
    from ...protocol.records import decompressed

    made = bytearray(batch[:HEADER_SIZE])
    payload = batch[HEADER_SIZE:]
    try:
        if header.compression:
            payload = decompressed(header.compression, payload)
            made[_ATTRIBUTES_AT] &= ~_COMPRESSED
        made += _masked_payload(payload, header.record_count)
    except (Refused, IndexError):  # it is broken, which may be what the report is about
        return bytes(batch[:HEADER_SIZE]) + bytes(len(batch) - HEADER_SIZE)
    made[_LENGTH_AT:_LENGTH_BEFORE] = (len(made) - _LENGTH_BEFORE).to_bytes(4, "big")
    seal(made)
    return bytes(made)


def _masked_payload(payload: bytes, record_count: int) -> bytes:
    made, at = bytearray(payload), 0
    for _ in range(record_count):
        size, at = read_size(payload, at)
        end = at + size
        _, at = read_signed(payload, at + 1)
        _, at = read_size(payload, at)
        at = _blank(made, at)
        at = _blank(made, at)
        headers, at = read_size(payload, at)
        for _ in range(headers):
            size, at = read_size(payload, at)
            at = _blank(made, at + size)
        at = end
    return bytes(made)


def _blank(data: bytearray, at: int) -> int:
    """Overwrite the bytes with a length at a position; the position behind them."""
    size, at = read_size(data, at)
    if size > 0:
        data[at : at + size] = bytes(size)
        return at + size
    return at

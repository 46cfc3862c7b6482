"""Bugs of the check of a client's records: a broken one is stored, or a right one refused."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_STORED: Final = "a broken record is stored, and every consumer of the partition stops at it"
_FOUND_BY: Final = (
    "tests/storage/test_broken_records.py",
    "tests/storage/test_record_stream.py",
    "tests/storage/test_validation.py",
)


def _of_walk(name: str, right: str, wrong: str, breaks: str = _STORED) -> Mutant:
    return Mutant(name, "storage/records/record_walk.py", right, wrong, breaks, _FOUND_BY)


def _of_shapes(name: str, right: str, wrong: str, breaks: str = _STORED) -> Mutant:
    return Mutant(name, "storage/records/record_shapes.py", right, wrong, breaks, _FOUND_BY)


MUTANTS: Final = (
    _of_walk(
        "records-of-a-run-are-measured-only",
        "        if column.count(column[:1]) != run:\n            return False\n",
        "",
    ),
    _of_walk(
        "the-headers-of-a-run-are-not-compared",
        "    for _ in range(2 * header_count):\n        at = behind_field(at)\n    return places",
        "    return places",
    ),
    _of_walk(
        "records-of-one-size-are-measured-only",
        "        if column.count(column[:1]) != record_count:\n            return False\n",
        "",
    ),
    _of_walk(
        "records-of-one-size-have-any-offsets",
        "    if offsets != _EVEN[:record_count] or not deltas",
        "    if not deltas",
        "compressed records get offsets of others",
    ),
    _of_walk(
        "a-size-is-not-compared-with-the-fields",
        "        if at != stop:\n            raise broken(",
        "        if at > stop:\n            raise broken(",
    ),
    _of_walk(
        "a-short-record-may-end-early",
        "            if at - body << 1 != size:",
        "            if at - body << 1 > size:",
    ),
    _of_walk(
        "a-short-record-with-a-header-may-be-cut",
        "                if headers or at > end:\n",
        "                if headers:\n",
        "a batch that comes in pieces is refused",
    ),
    _of_walk(
        "a-later-timestamp-is-read-as-an-offset",
        "            if delta_ms >= 0x80:\n                if offset_delta >= 0x80:\n"
        "                    break\n",
        "            if delta_ms >= 0x80:\n",
        "a right compressed batch is refused",
    ),
    _of_walk(
        "only-the-latest-time-of-a-run-is-looked-at",
        "            for number in (min(alike), max(alike)):\n",
        "            for number in (max(alike),):\n",
        "a record that is too old is stored",
    ),
    _of_walk(
        "the-times-of-a-run-may-differ-in-size",
        " or columns[-1].translate(None, _ASCII) != columns[-1]:\n",
        ":\n",
    ),
    _of_walk(
        "a-short-record-may-have-half-a-header",
        "                if headers & 1 or headers > _H",
        "                if headers > _H",
    ),
    _of_walk(
        "a-header-may-lack-its-key",
        '        if length & 1 or length < 0:\n            raise Refused(Code.INVALID_RECORD, "it',
        '        if length < 0:\n            raise Refused(Code.INVALID_RECORD, "it',
    ),
    _of_walk(
        "a-number-of-headers-may-be-negative",
        "    if header_count < 0:\n",
        "    if header_count < -2:\n",
    ),
    _of_walk(
        "the-order-of-a-long-run-is-not-looked-at",
        '        if columns[index] != b"".join(column):\n            return False\n',
        "",
        "compressed records get offsets of others",
    ),
    _of_shapes(
        "a-value-may-be-of-any-length",
        "            if value != encoded[step - rest_bytes]:\n",
        "            if False:\n",
    ),
    _of_shapes(
        "records-of-a-shape-may-have-other-keys",
        " or headers or key != key_size:\n",
        " or headers:\n",
    ),
    _of_shapes(
        "records-of-a-shape-may-have-headers",
        " or headers or key != key_size:\n",
        " or key != key_size:\n",
    ),
    _of_shapes(
        "the-last-record-of-a-shape-is-not-looked-at-to-its-end",
        "    if count and (start >= len(payload) or payload[start]):\n",
        "    if False:\n",
    ),
    _of_shapes(
        "the-last-record-of-a-shape-may-be-cut",
        "    if count and (start >= len(payload) or payload[start]):\n",
        "    if count and start < len(payload) and payload[start]:\n",
    ),
    _of_shapes(
        "a-short-value-may-be-of-any-length",
        "value >= 0x80 or value != value_bytes << 1:",
        "value >= 0x80:",
    ),
    _of_shapes(
        "times-of-a-shape-may-have-more-bytes",
        "                if delta_ms & time_mask != time_bits:\n                    break\n",
        "",
    ),
    _of_shapes(
        "records-of-a-shape-have-any-offsets",
        "            if offset_delta != offset or headers",
        "            if headers",
        "compressed records get offsets of others",
    ),
    Mutant(
        "a-number-keeps-bits-that-java-drops",
        "protocol/varints.py",
        "        value &= 0xFFFFFFFF\n",
        "",
        "a batch that Kafka stores is refused",
        _FOUND_BY,
    ),
    Mutant(
        "a-timestamp-does-not-wrap",
        "protocol/batch.py",
        "return wrapped_long(self.base_timestamp_ms + timestamp_delta_ms)",
        "return self.base_timestamp_ms + timestamp_delta_ms",
        "a timestamp beyond 2^63-1 closes the connection without an answer",
        _FOUND_BY,
    ),
    Mutant(
        "compressed-records-may-have-any-offsets",
        "storage/records/client_batch.py",
        "    if not found.is_in_order and header.attributes & COMPRESSION_MASK:\n",
        "    if False:\n",
        "two records have one offset",
        _FOUND_BY,
    ),
    Mutant(
        "recompressed-records-keep-their-offsets",
        "storage/records/recompression.py",
        "    if shift_ms or not is_in_order or header.attributes & LOG_APPEND_TIME:\n",
        "    if shift_ms or header.attributes & LOG_APPEND_TIME:\n",
        "two records have one offset",
        _FOUND_BY,
    ),
)

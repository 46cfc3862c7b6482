"""Changes of answers to Fetch: of the bytes of batches, and of the fields around them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from ...protocol.batch import CRC_START, HEADER_SIZE, headers_in, seal
from ...protocol.errors import Code
from .corrupt_answer import Answered, Body, Change, joined, shuffled_list

_BASE_OFFSET: Final = struct.Struct(">q")
_ATTRIBUTES: Final = struct.Struct(">h")
_MAGIC_POSITION: Final = 16
_FIRST_UNKNOWN_MAGIC: Final = 3
_FIRST_UNKNOWN_BIT: Final = 7
_MOST_SHIFT: Final = 1000
_MOST_EARLIER: Final = 100

BatchSpan: TypeAlias = tuple[int, int]
"""Position and size of a batch among the records of a partition."""


class Part(NamedTuple):
    """A partition in an answer; its fields may be changed."""

    topic: str
    fields: Body


def of_one_part(change: Callable[[Answered, Part], bool]) -> Change:
    """A change of one partition, drawn among those that have a place for it.

    Args:
        change: changes the fields of a partition; returns whether it has a place for that.
    """

    def changed(answered: Answered) -> Body | None:
        body, parts = _copied(answered)
        answered.random.shuffle(parts)
        return body if any(change(answered, part) for part in parts) else None

    return changed


def _copied(answered: Answered) -> tuple[Body, list[Part]]:
    """The answer, whose partitions may be changed, and those that the rule means."""
    topics: list[Body] = []
    parts: list[Part] = []
    for topic in answered.body["responses"]:
        partitions = [dict(each) for each in topic["partitions"]]
        topics.append({**topic, "partitions": partitions})
        name = topic.get("topic") or answered.topic_name(topic["topic_id"]) or ""
        parts += [
            Part(name, fields)
            for fields in partitions
            if answered.is_chosen(name, fields["partition_index"])
        ]
    return {**answered.body, "responses": topics}, parts


def of_batch(change: Callable[[Answered, bytearray, BatchSpan], bool]) -> Change:
    """A change of the bytes of one batch, which is drawn.

    Args:
        change: changes the batch within the records; returns whether it has a place for that.
    """

    def changed(answered: Answered, part: Part) -> bool:
        records = _records_of(part)
        batches = _batches_in(records)
        answered.random.shuffle(batches)
        if not any(change(answered, records, each) for each in batches):
            return False
        part.fields["records"] = bytes(records)
        return True

    return of_one_part(changed)


def _records_of(part: Part) -> bytearray:
    return joined([part.fields["records"] or b""])


def _batches_in(records: bytearray) -> list[BatchSpan]:
    return [(position, header.size_bytes) for position, header in headers_in(records)]


def _flip(answered: Answered, records: bytearray, batch: BatchSpan, lowest: int) -> bool:
    position, size = batch
    if lowest >= size or (answered.place or 0) >= size:
        return False
    place = answered.random.randrange(lowest, size) if answered.place is None else answered.place
    records[position + place] ^= 1 << answered.random.randrange(8)
    return True


@of_batch
def bit_flip(answered: Answered, records: bytearray, batch: BatchSpan) -> bool:
    """A bit, by default of what the CRC covers."""
    return _flip(answered, records, batch, CRC_START)


@of_batch
def bit_flip_right_crc(answered: Answered, records: bytearray, batch: BatchSpan) -> bool:
    """A bit, by default behind the header; the CRC fits again."""
    if not _flip(answered, records, batch, HEADER_SIZE):
        return False
    seal(records, batch[0])
    return True


@of_batch
def wrong_base_offset(answered: Answered, records: bytearray, batch: BatchSpan) -> bool:
    """A later base offset, which no CRC covers."""
    (base_offset,) = _BASE_OFFSET.unpack_from(records, batch[0])
    shift = answered.random.randint(1, _MOST_SHIFT)
    _BASE_OFFSET.pack_into(records, batch[0], base_offset + shift)
    return True


@of_batch
def unknown_magic(answered: Answered, records: bytearray, batch: BatchSpan) -> bool:
    """A format that does not exist."""
    records[batch[0] + _MAGIC_POSITION] = answered.random.randrange(_FIRST_UNKNOWN_MAGIC, 128)
    return True


@of_batch
def unknown_attribute(answered: Answered, records: bytearray, batch: BatchSpan) -> bool:
    """An attribute bit without a meaning; the CRC fits."""
    position = batch[0] + CRC_START
    (attributes,) = _ATTRIBUTES.unpack_from(records, position)
    bit = 1 << answered.random.randrange(_FIRST_UNKNOWN_BIT, 15)
    _ATTRIBUTES.pack_into(records, position, attributes | bit)
    seal(records, batch[0])
    return True


@of_one_part
def earlier_records(answered: Answered, part: Part) -> bool:
    """Whole batches of the log before the first one."""
    records = _records_of(part)
    batches = _batches_in(records)
    if not batches:
        return False
    (end,) = _BASE_OFFSET.unpack_from(records, batches[0][0])
    wanted = answered.random.randint(1, _MOST_EARLIER)
    earlier = answered.read_before(part.topic, part.fields["partition_index"], end, wanted)
    part.fields["records"] = bytes(earlier) + bytes(records)
    return len(earlier) > 0


@of_one_part
def cut_last_batch(answered: Answered, part: Part) -> bool:
    """The last of several batches is not there as a whole, as under a limit of bytes."""
    records = _records_of(part)
    batches = _batches_in(records)
    if len(batches) < 2:  # the first batch is always whole (KIP-74)
        return False
    position, size = batches[-1]
    part.fields["records"] = bytes(records[: position + answered.random.randrange(1, size)])
    return True


@of_one_part
def shuffled_aborted(answered: Answered, part: Part) -> bool:
    """The aborted transactions in another order."""
    aborted = list(part.fields["aborted_transactions"] or ())
    part.fields["aborted_transactions"] = shuffled_list(answered.random, aborted)
    return len(aborted) > 1


@of_one_part
def missing_aborted(answered: Answered, part: Part) -> bool:
    """One aborted transaction less."""
    aborted = list(part.fields["aborted_transactions"] or ())
    if not aborted:
        return False
    del aborted[answered.random.randrange(len(aborted))]
    part.fields["aborted_transactions"] = aborted
    return True


@of_one_part
def extra_aborted(answered: Answered, part: Part) -> bool:
    """A transaction of the answer is called aborted that is not."""
    if part.fields["aborted_transactions"] is None:  # not with read_uncommitted
        return False
    aborted = list(part.fields["aborted_transactions"])
    producers = {entry["producer_id"] for entry in aborted}
    others = [
        {"producer_id": header.producer_id, "first_offset": header.base_offset}
        for _, header in headers_in(_records_of(part))
        if header.is_transactional and not header.is_control and header.producer_id not in producers
    ]
    if not others:
        return False
    aborted.append(answered.random.choice(others))
    part.fields["aborted_transactions"] = aborted
    return True


@of_one_part
def wrong_high_watermark(answered: Answered, part: Part) -> bool:
    """A high watermark beyond the end of the log."""
    return _moved(answered, part, "high_watermark")


@of_one_part
def wrong_last_stable_offset(answered: Answered, part: Part) -> bool:
    """A last stable offset beyond the end of the log."""
    return _moved(answered, part, "last_stable_offset")


def _moved(answered: Answered, part: Part, name: str) -> bool:
    fields = part.fields
    if fields["error_code"] != Code.NONE or fields[name] < 0:
        return False
    beyond = fields["high_watermark"] + answered.random.randint(1, _MOST_SHIFT)
    fields[name] = beyond
    return True

"""A batch with a broken record is refused wherever the record is, as by Apache Kafka 4.1.1."""

from __future__ import annotations

import json
import time
from itertools import product
from typing import Any, Final

import pytest

from ottla.protocol.batch import read_header
from ottla.protocol.errors import Refused
from ottla.protocol.records import records_in
from ottla.storage.records.client_batch import Rules, check_at_once
from ottla.storage.records.payloads import PieceSizes
from ottla.storage.records.record_errors import InvalidRecords
from ottla.storage.records.record_walk import TakesLong, walk
from tests.storage.broken_records import (
    COUNT,
    MODES,
    NAMED,
    PLACE,
    RECORD,
    Mode,
    Verdict,
    batch,
    cases,
    decoded,
    payload,
    stored,
)
from tests.storage.logs import config, everything, open_log
from tests.wire.batches import record, varint

KAFKAS: Final[dict[str, dict[str, Verdict]]] = json.loads(RECORD.read_text())

# Kafka takes a compressed record by its fields alone, and stores one with another size, which no
# consumer can read. Ottla refuses it.
REFUSED_BY_OTTLA_ALONE: Final = ["INVALID_RECORD"]


def settings(mode: Mode) -> dict[str, Any]:
    configs = dict(mode.configs)
    if "cleanup_policy" in configs:
        configs["cleanup_policy"] = frozenset({configs["cleanup_policy"]})
    return configs


def verdict(middle: bytes, mode: Mode) -> Verdict:
    log = open_log(**settings(mode))
    try:
        log.append(bytearray(batch(middle, mode.codec)), now_ms=int(time.time() * 1000))
    except Refused as refused:
        assert log.log_end_offset == 0, "a refusal changes nothing"
        places = refused.record_errors if isinstance(refused, InvalidRecords) else ()
        return [refused.code.name, *(index for index, _ in places)]
    ((_, data),) = everything(log)
    return stored(bytes(data), middle)


def comparable(found: Verdict, middle: bytes) -> Verdict:
    """A verdict with the records of what is stored: Kafka writes some numbers in fewer bytes."""
    if len(found) < 5:
        return found
    if found[5] is None:
        found = [*found[:5], payload(middle).hex()]
    records = decoded(bytes.fromhex(found[5]), COUNT)
    if records is None:
        return [*found[:5], None]
    return [*found[:5], [each._replace(headers=_as_text(each.headers)) for each in records]]


def _as_text(headers: list[tuple[bytes, bytes | None]]) -> Any:
    return [(key.decode(errors="replace").encode(), value) for key, value in headers]


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_with_one_broken_record_gets_kafkas_verdict(mode: str) -> None:
    for case, middle in cases():
        kafkas = KAFKAS[case].get(mode, KAFKAS[case]["plain"])
        ours = verdict(middle, MODES[mode])
        if decoded(payload(middle), COUNT) is None:
            assert ours == REFUSED_BY_OTTLA_ALONE, (case, kafkas)
            if not MODES[mode].codec:
                assert kafkas in (ours, ["UNKNOWN_SERVER_ERROR"]), case
        else:
            assert comparable(ours, middle) == comparable(kafkas, middle), case


def test_the_recorded_verdicts_are_of_these_cases() -> None:
    assert list(KAFKAS) == [case for case, _ in cases()]


BROKEN: Final = [name for name, middle in NAMED.items() if decoded(payload(middle), COUNT) is None]
_TOLD: Final = "record.* is broken|truncated|more bytes than"
PLACES: Final = [(20, PLACE), (20, 0), (20, 19), (9, 4), (3, 1), (300, 150), (3_000, 1_500)]


@pytest.mark.parametrize(("count", "place"), PLACES)
@pytest.mark.parametrize("in_steps", [False, True])
def test_a_broken_record_is_found_at_each_place(count: int, place: int, in_steps: bool) -> None:
    rules = Rules(config(), 1_700_000_000_000, "orders-0")
    if in_steps:
        rules = rules._replace(at_once_records=0, sizes=PieceSizes(0, 100))
    check_at_once(batch(NAMED["right"]), rules)
    for codec in (0, 1):
        for case in BROKEN:
            with pytest.raises(Refused, match=f"INVALID_RECORD.*{_TOLD}"):
                check_at_once(batch(NAMED[case], codec, place, count), rules)


@pytest.mark.parametrize("count", [5, 6, 20, 64, 65])
@pytest.mark.parametrize(
    ("key", "value"),
    [(b"k", b"v"), (None, b"v" * 70), (b"", None), (b"k", b"")],
    ids=["short", "without a key", "without a value", "with an empty value"],
)
def test_records_of_one_size_are_checked_byte_by_byte(
    key: bytes | None, value: bytes | None, count: int
) -> None:
    records = [record(value, key=key, offset_delta=delta) for delta in range(count)]
    right, size = b"".join(records), len(records[0])
    found = walk(right, count)
    assert (found.count, found.is_in_order) == (count, True)
    assert found.all_have_keys == (key is not None)
    places = sorted({*range(size), *range(len(right) - size, len(right))})
    for place, bit, is_in_all in product(places, range(8), (False, True)):
        changed = bytearray(right)
        for changes in range(place % size, len(right), size) if is_in_all else (place,):
            changed[changes] ^= 1 << bit
        check_walk(bytes(changed), count)


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [(b"k" * 20, b"v" * 8_180, 2), (b"k" * 70, b"v", 6)],
    ids=["size", "key"],
)
def test_a_longer_number_is_not_read_as_a_shorter_one(key: bytes, value: bytes, place: int) -> None:
    records = [record(value, key=key, offset_delta=delta) for delta in range(6)]
    check_walk(b"".join(records), 6)
    for index, each in enumerate(records):
        assert each[place - 1] >= 0x80 > each[place], "the last byte of the number"
        size = b"" if place == 2 else varint(len(each) - 3)
        records[index] = size + each[len(size) : place] + each[place + 1 :]
    check_walk(b"".join(records), 6)


def test_a_key_may_not_reach_beyond_records_of_one_size() -> None:
    check_walk(b"".join(bytes((12, 0, 0, delta << 1, 0x7E, 0, 0)) for delta in range(6)), 6)


def check_walk(payload: bytes, count: int) -> None:
    """The walk finds what a plain decoder finds, in bytes as in a view."""
    read = decoded(payload, count)
    for sent in (payload, memoryview(bytes(8) + payload)[8:]):
        try:
            found = walk(sent, count)
        except Refused:
            assert read is None, payload
            continue
        except TakesLong:  # it may have many headers, and steps tell
            continue
        assert read is not None, payload
        deltas = [each.timestamp_delta_ms for each in read]
        assert (found.smallest_delta_ms, found.largest_delta_ms) == (min(deltas), max(deltas))
        assert found.all_have_keys == all(each.key is not None for each in read)
        assert found.is_in_order == ([each.offset_delta for each in read] == [*range(count)])


@pytest.mark.parametrize("codec", range(5))
def test_a_reader_names_the_broken_record(codec: int) -> None:
    for case in BROKEN:
        data = batch(NAMED[case], codec)
        with pytest.raises(Refused, match=r"INVALID_RECORD.* is broken"):
            list(records_in(data, 0, read_header(data)))

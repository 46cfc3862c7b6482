"""Records that come in pieces are checked as if they were there as a whole, and never are."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ottla.protocol.errors import Refused
from ottla.storage.records.record_copy import Entry, RecordCopy
from ottla.storage.records.record_stream import WHOLE_BYTES, Head, RecordStream, Wants
from ottla.storage.records.record_walk import TakesLong, Walked, walk
from tests.protocol.bombs import one_record, zeros
from tests.storage import broken_records
from tests.storage.broken_records import decoded, random_record
from tests.wire.batches import record, varint

RECORDS: Final = st.builds(
    record,
    st.none() | st.binary(max_size=40) | st.just(b"v" * 200),
    key=st.none() | st.binary(max_size=9),
    timestamp_delta=st.sampled_from([0, 0, 1, -1, 63, 64, 5_000, -70_000, 1 << 40]),
    offset_delta=st.sampled_from([0, 1, 63, 64, 9_000]),
    headers=st.lists(
        st.tuples(st.binary(max_size=4), st.none() | st.binary(max_size=4)), max_size=2
    ),
)
RUNS: Final = st.builds(lambda one, count: [one] * count, RECORDS, st.integers(1, 40))


def run_at_times(earliest: int, latest: int, count: int, size: int) -> list[bytes]:
    """Records of one size, whatever their times, unless these need very different numbers."""
    records = []
    for index in range(count):
        delta_ms = earliest + (latest - earliest) * (index * 7 % count) // count
        value = b"v" * (size + 9 - len(varint(delta_ms)))
        records.append(record(value, timestamp_delta=delta_ms, offset_delta=index))
    return records


TIMES: Final = st.sampled_from(
    [0, 1, -1, 63, 64, -64, -65, 8_191, 8_192, -8_193, 1 << 27, -1 << 34]
)
RUNS_AT_TIMES: Final = st.builds(
    run_at_times, TIMES, TIMES, st.integers(1, 40), st.sampled_from([0, 50, 100])
)
BATCHES: Final = st.lists(RUNS | RUNS_AT_TIMES, min_size=1, max_size=4).map(
    lambda runs: [one for run in runs for one in run]
)

SIZES: Final = st.lists(st.integers(0, 300), max_size=30)


def records_in_order(
    seed: int, key: bytes | None, first_ms: int, *, others: int = 0, smallest: int = 0
) -> list[bytes]:
    """Records whose values differ in length, and some among them that differ in more.

    Args:
        others: percent of them.
    """
    chance = Random(seed)
    records = []
    for index in range(90):
        one: dict[str, Any] = {
            "key": key,
            "timestamp_delta": first_ms + index // 8,
            "offset_delta": index,
        }
        size = chance.randrange(smallest, 300 if smallest else 100)
        if chance.randrange(100) < others:
            changes: list[dict[str, Any]] = [
                {"key": b"other"},
                {"headers": [(b"h", b"")]},
                {"timestamp_delta": 9_000},
                {"offset_delta": index ^ 1},
                {"timestamp_delta": -first_ms - 1},
                {},
            ]
            one |= chance.choice(changes)
            size = chance.choice([size, 0, 63, 9_000])
        records.append(record(b"\0" * size, **one))
    return records


OF_ALL_SIZES: Final = st.builds(
    records_in_order,
    st.integers(0, 1 << 32),
    st.sampled_from([None, b"", b"k", b"k" * 36, b"k" * 63, b"k" * 64]),
    st.sampled_from([0, 60, 64, 8_190]),
    others=st.sampled_from([0, 2, 20]),
    smallest=st.sampled_from([0, 64]),
)


Found = tuple[int, int, bool, bool] | str


def fed(stream: RecordStream, wants: Wants, pieces: Iterator[bytes]) -> Iterator[int]:
    """Take the walk; after each step what of the payload is at hand."""
    for wants_more in wants:
        if wants_more:
            piece = next(pieces, None)
            if piece is None:
                stream.end()
            else:
                stream.feed(piece)
        yield len(stream._payload)


def in_pieces(payload: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield payload[at : at + size]
        at += size
    yield payload[at:]


def seen(found: Walked) -> Found:
    return (
        found.largest_delta_ms, found.smallest_delta_ms, found.all_have_keys, found.is_in_order,
    )  # fmt: skip


def walked(payload: bytes, count: int) -> Found:
    try:
        return seen(walk(payload, count))
    except Refused as refused:
        return refused.code.name
    except TakesLong:
        return streamed(payload, count, [])  # like every caller of a walk


def streamed(payload: bytes, count: int, sizes: list[int]) -> Found:
    stream = RecordStream(count)
    try:
        for _ in fed(stream, stream.check(), in_pieces(payload, sizes)):
            pass
    except Refused as refused:
        return refused.code.name
    return seen(stream.found)


def expected(payload: bytes, count: int) -> Found:
    """What every record says, read by a plain decoder."""
    records = decoded(payload, count)
    if records is None:
        return "INVALID_RECORD"
    deltas = [each.timestamp_delta_ms for each in records]
    return (
        max(deltas),
        min(deltas),
        all(each.key is not None for each in records),
        [each.offset_delta for each in records] == list(range(count)),
    )


def read(payload: bytes, count: int, sizes: tuple[int, ...] = ()) -> list[Head]:
    heads: list[Head] = []
    stream = RecordStream(count)
    steps = stream.heads(lambda head: heads.append(head) or False)  # type: ignore[func-returns-value]  # None counts as false
    for _ in fed(stream, steps, in_pieces(payload, list(sizes))):
        pass
    return heads


@given(BATCHES, SIZES)
def test_a_batch_in_pieces_is_checked_as_a_whole_one(
    records: list[bytes], sizes: list[int]
) -> None:
    payload, count = b"".join(records), len(records)
    assert streamed(payload, count, sizes) == walked(payload, count) == expected(payload, count)


@given(BATCHES, SIZES, st.data())
@example([record()] * 30, [], None)
def test_a_damaged_batch_is_judged_as_by_a_plain_decoder(
    records: list[bytes], sizes: list[int], data: Any
) -> None:
    """Whole, and in pieces; each bad record, wherever it is, because consumers stop at it."""
    payload, count = bytearray(b"".join(records)), len(records)
    if data is None:
        payload[7 * 12] = 4
    else:
        for _ in range(data.draw(st.integers(0, 3))):
            payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        count = max(1, count + data.draw(st.sampled_from([0, 0, 0, 1, -1])))
        payload = payload[: data.draw(st.integers(1, len(payload)) | st.just(len(payload)))]
    harmed = bytes(payload)
    right = expected(harmed, count)
    assert walked(harmed, count) == right
    assert streamed(harmed, count, sizes) == right


@given(st.integers(0, 1 << 32), st.integers(1, 60), st.integers(0, 59), SIZES)
@settings(max_examples=300)
def test_a_batch_with_one_broken_field_is_judged_as_by_a_plain_decoder(
    seed: int, count: int, place: int, sizes: list[int]
) -> None:
    harmed = broken_records.payload(random_record(Random(seed)), place % count, count)
    right = expected(harmed, count)
    assert walked(harmed, count) == right
    assert streamed(harmed, count, sizes) == right


@given(OF_ALL_SIZES, SIZES, st.data())
def test_records_that_differ_in_length_alone_are_judged_as_by_a_plain_decoder(
    records: list[bytes], sizes: list[int], data: Any
) -> None:
    """Right, damaged anywhere or cut."""
    payload, count = bytearray(b"".join(records)), len(records)
    starts = [0]
    for one in records[:-1]:
        starts.append(starts[-1] + len(one))
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.sampled_from(starts))
        at = min(max(0, start + data.draw(st.integers(-1, 9))), len(payload) - 1)
        payload[at] = data.draw(st.integers(0, 255))
    harmed = bytes(payload[: data.draw(st.just(len(payload)) | st.integers(1, len(payload)))])
    right = expected(harmed, count)
    assert walked(harmed, count) == right
    assert streamed(harmed, count, sizes) == right


@pytest.mark.parametrize("smallest", [0, 64])
@pytest.mark.parametrize("key", [None, b"k", b"k" * 36])
def test_each_byte_of_a_record_among_others_of_other_lengths_is_checked(
    key: bytes | None, smallest: int
) -> None:
    right = records_in_order(7, key, 0, smallest=smallest)
    for place in (20, 70, 89):
        start = len(b"".join(right[:place]))
        end = start + len(right[place])
        for at in {*range(start - 1, min(start + 9, end)), end - 1}:
            for change in (1, 2, 0x7F, 0x80, 0xFE):
                payload = bytearray(b"".join(right))
                payload[at] = payload[at] + change & 0xFF
                harmed = bytes(payload)
                assert walked(harmed, 90) == expected(harmed, 90), (place, at - start, change)


HEADERS: Final[list[Any]] = [(b"h", b"w"), (b"", None), (b"ab", b"")]


@pytest.mark.parametrize("headers", [0, 1, 3])
def test_each_byte_of_a_record_among_others_of_its_shape_is_checked(headers: int) -> None:
    count = 40
    right = [
        record(b"v", key=b"k", offset_delta=delta, headers=HEADERS[:headers])
        for delta in range(count)
    ]
    start = len(b"".join(right[:20]))
    for at in range(start, start + len(right[20])):
        for change in (1, 2, 0x7F, 0x80, 0xFE):
            payload = bytearray(b"".join(right))
            payload[at] = payload[at] + change & 0xFF
            harmed = bytes(payload)
            assert walked(harmed, count) == expected(harmed, count), (at - start, change)


@pytest.mark.parametrize("headers", [0, 1, 3])
def test_a_batch_may_be_cut_at_each_byte(headers: int) -> None:
    count = 30
    payload = b"".join(
        record(b"v" * (delta % 3), offset_delta=delta, headers=HEADERS[:headers])
        for delta in range(count)
    )
    for size in range(len(payload)):
        assert streamed(payload, count, [size]) == (0, 0, False, True), size


@pytest.mark.parametrize("value", [b"v", b"v" * 70])
@pytest.mark.parametrize("difference", [1, 64, 8_192])
@pytest.mark.parametrize("wrong", [None, 3, 63, 64, 200, 8_191, 8_192, 9_000, 20_999])
def test_runs_of_one_shape_tell_whether_their_offsets_are_in_order(
    wrong: int | None, value: bytes, difference: int
) -> None:
    count = 21_000
    deltas = list(range(count))
    if wrong is not None:
        deltas[wrong] = wrong ^ difference
    payload = b"".join(record(value, offset_delta=delta) for delta in deltas)
    assert walk(payload, count).is_in_order == (wrong is None)


@pytest.mark.parametrize("size", [50, 100])
@pytest.mark.parametrize(
    ("earliest", "latest"),
    [(0, 60), (-60, 0), (64, 8_000), (-8_000, -65), (-8_000, 8_000), (9_000, 1 << 20),
     (-1 << 20, 1 << 20), (1 << 21, 1 << 26), (-1 << 26, 1 << 26), (0, 1 << 40)],
)  # fmt: skip
def test_runs_of_one_shape_tell_their_earliest_and_latest_time(
    earliest: int, latest: int, size: int
) -> None:
    records = run_at_times(earliest, latest, 100, size)
    payload = b"".join(records)
    assert walked(payload, 100) == expected(payload, 100)


def test_records_of_one_size_with_times_of_two_sizes_are_read_one_by_one() -> None:
    """The time is one byte longer in the middle, where it looks like the others' fields."""
    right = run_at_times(64, 8_000, 40, 50)
    for place in (0, 20, 39):
        records = list(right)
        (records[place],) = run_at_times(3, 3, 1, 50)
        payload = b"".join(records)
        assert walked(payload, 40) == expected(payload, 40)


@given(BATCHES, st.lists(st.integers(0, 300), max_size=30))
def test_each_record_has_a_head(records: list[bytes], sizes: list[int]) -> None:
    payload = b"".join(records)
    assert read(payload, len(records), tuple(sizes)) == read(payload, len(records))


LARGE: Final = 5 * WHOLE_BYTES


def test_only_the_last_piece_of_a_large_record_is_in_memory() -> None:
    stream = RecordStream(1)
    most = max(fed(stream, stream.check(), one_record(LARGE)))
    assert most <= 2 * WHOLE_BYTES
    assert (stream.found.largest_delta_ms, stream.found.all_have_keys) == (0, False)


@pytest.mark.parametrize("count", [3, 30])
def test_a_large_record_stands_among_others(count: int) -> None:
    def payload() -> Iterator[bytes]:
        for _ in range(count // 3):
            yield record(key=b"k", timestamp_delta=3)
            yield from one_record(2 * WHOLE_BYTES)
            yield record(key=b"k", timestamp_delta=-3)

    stream = RecordStream(count)
    assert max(fed(stream, stream.check(), payload())) <= 3 * WHOLE_BYTES
    assert seen(stream.found) == (3, -3, False, False)


@pytest.mark.parametrize("behind", [b"", b"\0\0"])
def test_a_large_record_that_is_not_as_long_as_it_says_is_refused(behind: bytes) -> None:
    head = b"\0\0\0" + varint(-1) + varint(LARGE)
    body = len(head) + LARGE + len(behind) + (1 if behind else 0)

    def payload() -> Iterator[bytes]:
        yield varint(body) + head
        yield from zeros(LARGE)
        yield behind

    stream = RecordStream(1)
    with pytest.raises(Refused, match="INVALID_RECORD"):
        list(fed(stream, stream.check(), payload()))


def test_very_many_headers_are_read_in_steps() -> None:
    many = 100_000
    body = b"\0\0\0\1\1" + varint(many) + b"\0\1" * many
    stream = RecordStream(1)
    steps = list(fed(stream, stream.check(), iter([varint(len(body)) + body])))
    assert len(steps) > many / 1_000


@pytest.mark.parametrize("regular", [False, True])
def test_very_many_records_are_walked_over_in_steps(regular: bool) -> None:
    count = 60_000
    kinds = [record(b"v" * (1 if regular else i % 3), key=b"k") for i in range(7)]
    payload = b"".join(kinds[i % 7] for i in range(count))
    stream = RecordStream(count)
    steps = sum(1 for _ in fed(stream, stream.check(), iter([payload])))
    assert steps > count / 1_100


@settings(deadline=None)  # a loaded machine takes longer
@given(BATCHES, st.lists(st.integers(0, 300), max_size=30), st.sampled_from([0, -7, 1 << 33]))
def test_a_copy_has_the_records_that_stay_and_their_times(
    records: list[bytes], sizes: list[int], shift_ms: int
) -> None:
    payload = b"".join(records)
    stays = [(index * 7) % 3 != 1 for index in range(len(records))]
    verdicts = iter(stays)
    seen: list[Entry] = []

    def stay(entry: Entry) -> bool:
        seen.append(entry)
        return next(verdicts)

    copy = RecordCopy(len(records))
    walk_over = copy.copy(stay, lambda delta_ms, delta: (delta_ms - shift_ms, delta + 1))
    for _ in fed(copy, walk_over, in_pieces(payload, sizes)):
        pass
    heads = read(payload, len(records))
    told = [(entry.timestamp_delta_ms, entry.offset_delta) for entry in seen]
    assert told == [(head.timestamp_delta_ms, head.offset_delta) for head in heads]
    if any(stays):
        kept = [head for head, is_kept in zip(heads, stays, strict=True) if is_kept]
        copied = read(bytes(copy.out), len(kept))
        assert [head[3:] for head in copied] == [head[3:] for head in kept]
        assert [head.offset_delta - 1 for head in copied] == [head.offset_delta for head in kept]
        assert [head.timestamp_delta_ms for head in copied] == [
            head.timestamp_delta_ms - shift_ms for head in kept
        ]


def test_a_large_record_is_copied_without_being_at_hand() -> None:
    copy = RecordCopy(1)
    seen: list[Entry] = []

    def later(delta_ms: int, offset_delta: int) -> tuple[int, int]:
        return delta_ms + 9, offset_delta

    steps = copy.copy(lambda entry: not seen.append(entry), later)  # type: ignore[func-returns-value]  # None counts as false
    out = 0
    head = b""
    for at_hand in fed(copy, steps, one_record(LARGE)):
        assert max(at_hand, len(copy.out)) <= 2 * WHOLE_BYTES
        head = head or bytes(copy.out[:20])
        out += len(copy.out)
        copy.out.clear()
    out += len(copy.out)
    (as_sent,) = (len(next(one_record(LARGE))),)
    assert out == as_sent + LARGE + 1
    assert head[4:6] == b"\0" + varint(9)
    assert seen == [Entry(0, 0, None, False)]

"""Kinds of corrupt answers: legal ones can be decoded, and the same seed gives the same bytes."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ottla.broker.requests.request_fields import shown
from ottla.lab.actions.rule_checks import check_rule
from ottla.lab.answers.corrupt_answer import Answered, joined
from ottla.lab.answers.corruption import KINDS, corrupt_frame
from ottla.lab.rules.rule import CannotFire, RuleSpec, WrongRule, read
from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build, crc_is_right, headers_in, read_header
from ottla.protocol.control import marker
from ottla.protocol.decoding import skip_tagged_fields
from ottla.protocol.fetch_answer import encode_fetch_answer
from ottla.protocol.messages import answer
from tests.protocol.message_values import SERVED, Values, schema

DOCUMENT = Path(__file__).parents[2] / "docs/reference/lab/index.md"
SEEDS = range(6)
CORRELATION_ID = 77
EARLIER = bytes(build([(b"k", b"earlier")], timestamp_ms=1, base_offset=0))
OF_BATCHES = (
    "bit_flip", "bit_flip_right_crc", "wrong_base_offset", "unknown_magic", "unknown_attribute",
    "cut_last_batch",
)  # fmt: skip


def records() -> bytes:
    """Batches of three transactional producers, of which one has committed."""
    data = bytearray()
    for index in range(6):
        data += build(
            [(b"key", b"value-%d" % each) for each in range(3)],
            timestamp_ms=1, base_offset=10 + 3 * index, producer_id=index % 3, producer_epoch=0,
            base_sequence=0, transactional=True,
        )  # fmt: skip
    data += marker(
        commit=True, producer_id=2, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1
    )
    return bytes(data)


def fetched(version: int) -> dict[str, Any]:
    """The body of an answer to Fetch."""

    def partition(index: int) -> dict[str, Any]:
        return {
            "partition_index": index, "error_code": 0, "high_watermark": 29,
            "last_stable_offset": 29, "log_start_offset": 0, "preferred_read_replica": -1,
            "aborted_transactions": [
                {"producer_id": each, "first_offset": 10 + 3 * each} for each in range(2)
            ],
            "records": records(),
        }  # fmt: skip

    topics = []
    for number in (1, 2):
        named = {"topic_id": uuid.UUID(int=number)} if version > 12 else {"topic": f"t{number}"}
        topics.append({**named, "partitions": [partition(index) for index in range(3)]})
    return {"session_id": 5, "responses": topics}


def described(version: int) -> dict[str, Any]:
    """The body of an answer to Metadata."""
    brokers = [{"node_id": each, "host": "127.0.0.1", "port": 9092 + each} for each in (1, 2, 3)]
    partitions = [
        {"partition_index": each, "leader_id": 1, "leader_epoch": 4, "replica_nodes": [1],
         "isr_nodes": [1]}
        for each in range(3)
    ]  # fmt: skip
    if version < 7:
        partitions = [{**each, "leader_epoch": -1} for each in partitions]
    topics = [{"name": name, "partitions": partitions} for name in ("t1", "t2")]
    return {"brokers": brokers, "controller_id": 1, "topics": topics}


def body_of(key: ApiKey, version: int, seed: int) -> dict[str, Any]:
    if key is ApiKey.FETCH:
        return fetched(version)
    if key is ApiKey.METADATA:
        return described(version)
    return Values(seed).of_struct(schema(key, "Response"), version)


def changed(
    name: str, key: ApiKey, version: int, seed: int, **given: Any
) -> tuple[bytes, dict[str, Any] | None]:
    """The frame of a changed answer, and its fields if they are what was changed."""
    body = given.pop("body", None) or body_of(key, version, seed)
    before = shown(body, 1 << 20, 1 << 20)
    kind = KINDS[name]
    if kind.change is None:
        frame = encoded(key, version, body)
        return bytes(corrupt_frame(name, bytearray(frame), Random(seed))), None
    made = kind.change(
        Answered(
            key,
            version,
            CORRELATION_ID,
            body,
            Random(seed),
            topic_name=lambda topic_id: f"t{topic_id.int}",
            read_before=lambda *place: EARLIER,
            **given,
        )
    )
    assert shown(body, 1 << 20, 1 << 20) == before, "the broker's own values have changed"
    if made is None:
        return b"", None
    if isinstance(made, bytearray):
        return bytes(made), None
    return encoded(key, version, made), made


def encoded(key: ApiKey, version: int, body: dict[str, Any]) -> bytes:
    if key is ApiKey.FETCH:
        return bytes(joined(encode_fetch_answer(version, CORRELATION_ID, body)))
    return bytes(answer(key, version, CORRELATION_ID, body))


def decoded(key: ApiKey, version: int, frame: bytes) -> object:
    """The fields of a whole answer, which has no bytes behind them."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert int.from_bytes(frame[4:8], "big") == CORRELATION_ID
    cls = codec.message_class(key, "Response")
    view, position = memoryview(frame), 8
    if codec.is_flexible(cls, version) and key is not ApiKey.API_VERSIONS:
        position = skip_tagged_fields(view, position)
    message, end = codec.decoder(cls, version)(view, position)
    assert end == len(frame)
    return shown(message, 1 << 20, 1 << 20)


WITH_PLACE = [
    (name, key, version)
    for name, kind in KINDS.items()
    for key, version in SERVED
    if kind.has_place(key, version)
    and (kind.apis or kind.is_legal or key in (ApiKey.FETCH, ApiKey.METADATA, ApiKey.END_TXN))
]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    for _, key, version in (case for case in WITH_PLACE if case[0] == name):
        first, again = (changed(name, key, version, 7)[0] for _ in range(2))
        assert first == again, (key, version)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.is_legal])
def test_an_answer_with_a_legal_change_can_be_decoded(name: str) -> None:
    for _, key, version in (case for case in WITH_PLACE if case[0] == name):
        for seed in range(2) if name == "unknown_tags" else SEEDS:
            frame, _ = changed(name, key, version, seed)
            if frame:
                decoded(key, version, frame)
            else:  # random values may have too few elements to shuffle
                assert key not in (ApiKey.FETCH, ApiKey.METADATA), (key, version, seed)


def test_unknown_tags_hide_nothing() -> None:
    for key, version in SERVED:
        if KINDS["unknown_tags"].has_place(key, version):
            body = Values("full").of_struct(schema(key, "Response"), version)
            frame, _ = changed("unknown_tags", key, version, 3, body=body)
            plain = bytes(answer(key, version, CORRELATION_ID, body))
            assert decoded(key, version, frame) == decoded(key, version, plain), (key, version)
            assert len(frame) > len(plain)


def parts(body: dict[str, Any] | None) -> list[dict[str, Any]]:
    assert body is not None
    return [part for topic in body["responses"] for part in topic["partitions"]]


def differing(name: str, seed: int, **given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The partition of a Fetch that a change hits, before and after it."""
    _, body = changed(name, ApiKey.FETCH, 12, seed, **given)
    (pair,) = [
        (before, after)
        for before, after in zip(parts(fetched(12)), parts(body), strict=True)
        if before != after
    ]
    return pair


@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if set(kind.apis) == {ApiKey.FETCH}]
)
def test_a_change_hits_one_partition_that_its_rule_means(name: str) -> None:
    for seed in SEEDS:
        _, after = differing(name, seed, is_chosen=lambda topic, index: (topic, index) == ("t2", 1))
        assert after["partition_index"] == 1
    assert changed(name, ApiKey.FETCH, 12, 1, is_chosen=lambda *_: False)[0] == b""


@pytest.mark.parametrize("name", OF_BATCHES)
def test_a_change_of_a_batch_leaves_the_others(name: str) -> None:
    for seed in SEEDS:
        before, after = differing(name, seed)
        was, is_ = before["records"], after["records"]
        hit = [
            (at, header) for at, header in headers_in(was)
            if is_[at : at + header.size_bytes] != was[at : at + header.size_bytes]
        ]  # fmt: skip
        assert len(hit) == 1
        at, header = hit[0]
        if name == "cut_last_batch":
            assert len(is_) < len(was)
            continue
        assert len(is_) == len(was)
        now = read_header(is_, at)
        bits = (int.from_bytes(was, "big") ^ int.from_bytes(is_, "big")).bit_count()
        match name:
            case "bit_flip":
                assert bits == 1
                assert not crc_is_right(is_, at, now)
            case "bit_flip_right_crc":
                assert crc_is_right(is_, at, now)
            case "wrong_base_offset":
                assert now.base_offset > header.base_offset
                assert crc_is_right(is_, at, now)
            case "unknown_magic":
                assert now.magic > 2
            case "unknown_attribute":
                assert now.attributes & 0x7F == header.attributes
                assert now.attributes > 0x7F
                assert crc_is_right(is_, at, now)


@pytest.mark.parametrize("place", [0, 8, 16, 21, 60, 61, 70])
def test_a_bit_flips_at_the_place_that_is_asked_for(place: int) -> None:
    for seed in SEEDS:
        before, after = differing("bit_flip", seed, place=place)
        was, is_ = before["records"], after["records"]
        (at,) = [index for index in range(len(was)) if was[index] != is_[index]]
        assert at in {position + place for position, _ in headers_in(was)}


def test_changes_of_aborted_transactions() -> None:
    for seed in SEEDS:
        before, after = differing("shuffled_aborted", seed)
        assert after["aborted_transactions"] == before["aborted_transactions"][::-1]
        before, after = differing("missing_aborted", seed)
        (left,) = after["aborted_transactions"]
        assert left in before["aborted_transactions"]
        before, after = differing("extra_aborted", seed)
        *those, extra = after["aborted_transactions"]
        assert those == before["aborted_transactions"]
        assert extra["producer_id"] == 2


def test_earlier_records_come_before_the_others() -> None:
    before, after = differing("earlier_records", 1)
    assert after["records"] == EARLIER + before["records"]


@pytest.mark.parametrize("name", ["wrong_high_watermark", "wrong_last_stable_offset"])
def test_a_wrong_offset_is_beyond_the_log(name: str) -> None:
    field = name.removeprefix("wrong_")
    for seed in SEEDS:
        before, after = differing(name, seed)
        assert after == {**before, field: after[field]}
        assert after[field] > before["high_watermark"]


def test_shuffled_lists_have_the_same_elements_in_another_order() -> None:
    for key, version in ((ApiKey.FETCH, 12), (ApiKey.METADATA, 12)):
        for seed in SEEDS:
            _, body = changed("shuffled", key, version, seed)
            assert body is not None
            before = body_of(key, version, seed)
            for outer in {"responses", "brokers", "topics"} & body.keys():
                assert body[outer] != before[outer]
                assert _sorted(body[outer]) == _sorted(before[outer])


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=repr)
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in value.items()}
    return value


def test_changes_of_metadata() -> None:
    for seed in SEEDS:
        _, body = changed("unknown_leader", ApiKey.METADATA, 12, seed)
        assert body is not None
        leaders = [each["leader_id"] for topic in body["topics"] for each in topic["partitions"]]
        assert sorted(leader > 3 for leader in leaders) == [False] * 5 + [True]
        _, body = changed("missing_partition", ApiKey.METADATA, 12, seed)
        assert body is not None
        assert sorted(len(topic["partitions"]) for topic in body["topics"]) == [2, 3]
        _, body = changed("older_leader_epoch", ApiKey.METADATA, 12, seed)
        assert body is not None
        epochs = [each["leader_epoch"] for topic in body["topics"] for each in topic["partitions"]]
        assert sorted(epochs)[0] < 4
        assert sorted(epochs)[1:] == [4] * 5


def test_an_answer_without_a_place_is_left_alone() -> None:
    empty = fetched(12)
    for part in parts(empty):
        part |= {"records": b"", "aborted_transactions": None, "error_code": 6}
    for name, kind in KINDS.items():
        if set(kind.apis) == {ApiKey.FETCH}:
            assert changed(name, ApiKey.FETCH, 12, 1, body=empty)[0] == b"", name
    assert changed("older_leader_epoch", ApiKey.METADATA, 6, 1)[0] == b""


@pytest.mark.parametrize(
    ("match", "action", "why"),
    [
        ({"api": "Produce"}, {"what": "bit_flip"}, "acts on Fetch alone"),
        ({"api": "Fetch"}, {"what": "unknown_leader"}, "acts on Metadata alone"),
        ({"api": "EndTxn"}, {"what": "shuffled"}, "acts on Fetch, Metadata, Produce, ListOffsets"),
        ({"api": "Metadata", "versions": [0, 6]}, {"what": "older_leader_epoch"}, "version 7"),
        ({"api": "Fetch", "versions": [4, 11]}, {"what": "unknown_tags"}, "flexible versions"),
        ({}, {"what": "bitflip"}, "is none of bit_flip, "),
        ({}, {"what": "unknown_magic", "place": 3}, "takes no place"),
        ({}, {"what": "bit_flip_right_crc", "place": 20}, "bytes from 21 on"),
    ],
)
def test_a_kind_without_a_place_is_refused(
    match: dict[str, Any], action: dict[str, Any], why: str
) -> None:
    given = {"match": match, "action": {"kind": "corrupt", **action}}
    with pytest.raises((CannotFire, WrongRule), match=why):
        check_rule(read(given, RuleSpec), None)  # type: ignore[arg-type]  # needs no cluster


def test_the_document_says_of_each_kind_whether_it_is_legal() -> None:
    listed = {
        name: cells[3].strip() == "yes"
        for line in DOCUMENT.read_text().splitlines()
        if len(cells := line.split("|")) == 7 and cells[3].strip() in ("yes", "no")
        for name in re.findall("`([a-z_]+)`", cells[1])
    }
    assert listed == {name: kind.is_legal for name, kind in KINDS.items()}

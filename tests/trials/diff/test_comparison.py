"""Two answers, field by field: what is equal, and what a difference is called."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from ottla.protocol import messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build, crc_is_right, headers_in
from ottla.protocol.requests import request_frame
from ottla.trials.diff.comparison import FieldDifference, Known, compared
from ottla.trials.diff.fetched import Fetched
from ottla.trials.diff.ids import Ids, Translation
from ottla.trials.diff.masking import command_text, masked
from ottla.trials.diff.messages import Request, read_answer, read_request, with_fields

TOPIC_IDS = UUID(int=1), UUID(int=2)


def request(key: ApiKey, version: int, body: dict[str, Any]) -> Request:
    return read_request(bytes(request_frame(key, version, 1, "c", body))[4:])


def differences(
    key: ApiKey, version: int, ours: Any, theirs: Any, *, ids: Ids | None = None, asked: Any = None
) -> list[FieldDifference]:
    """What two bodies of answers differ in."""
    sent = request(key, version, asked or {})
    answers = [
        read_answer(sent, bytes(messages.answer(key, version, 1, body))[4:])
        for body in (ours, theirs)
    ]
    known = Known(frozenset({"old"}), {"t"})
    return compared(sent, (answers[0], answers[1]), ids or Ids(), known)


def topic(name: str, topic_id: UUID, **fields: Any) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id, "partitions": [], "error_code": 0, **fields}


def test_ids_in_the_same_place_are_one() -> None:
    ids = Ids()
    ours = [{"topics": [topic("t", TOPIC_IDS[0])]}, {"topics": [topic("t", TOPIC_IDS[1])]}]
    assert differences(ApiKey.METADATA, 12, *ours, ids=ids) == []
    assert ids.to_left("uuid", TOPIC_IDS[1]) == TOPIC_IDS[0]
    # From now on one stands for the other, and for nothing else.
    other = {"topics": [topic("t", UUID(int=9))]}
    (found,) = differences(ApiKey.METADATA, 12, ours[0], other, ids=ids)
    assert found.kind == "topics.topic_id"


def test_the_order_of_elements_is_no_difference() -> None:
    rows = [topic("t", UUID(int=1)), topic("u", UUID(int=2), error_code=3)]
    ours, theirs = {"topics": rows}, {"topics": rows[::-1]}
    assert differences(ApiKey.METADATA, 12, ours, theirs) == []


def test_a_code_has_its_name_and_its_place() -> None:
    rows = [{"topics": [topic("t", UUID(int=1), error_code=code)]} for code in (0, 3)]
    (found,) = differences(ApiKey.METADATA, 9, *rows)
    assert found == FieldDifference(
        "topics[t].error_code", "topics.error_code", "NONE", "UNKNOWN_TOPIC_OR_PARTITION"
    )


def test_an_element_that_one_side_lacks_counts_if_the_run_has_named_it() -> None:
    for name, count in (("old", 0), ("of-others", 0), ("__consumer_offsets", 0), ("t", 1)):
        theirs = {"topics": [topic(name, UUID(int=1))]}
        assert len(differences(ApiKey.METADATA, 9, {"topics": []}, theirs)) == count, name


@pytest.mark.parametrize(
    ("ours", "theirs", "count"),
    [({"throttle_time_ms": 5}, {}, 0), ({"error_message": "a"}, {}, 0), ({"error_code": 1}, {}, 1)],
)
def test_fields_of_rules_are_no_difference(ours: Any, theirs: Any, count: int) -> None:
    assert len(differences(ApiKey.LIST_GROUPS, 4, {}, {})) == 0
    key = ApiKey.DESCRIBE_CLUSTER
    assert len(differences(key, 1, ours, theirs)) == count


def test_times_of_now_are_equal_and_others_are_not() -> None:
    def offsets(timestamp: int) -> Any:
        partition = {"partition_index": 0, "timestamp": timestamp, "offset": 1, "error_code": 0}
        return {"topics": [{"name": "t", "partitions": [partition]}]}

    now = 1_700_000_000_000
    for ours, theirs, count in ((now, now + 5_000, 0), (now, 1, 1), (now, -1, 1)):
        found = differences(ApiKey.LIST_OFFSETS, 7, offsets(ours), offsets(theirs))
        assert len(found) == count


def test_epochs_and_producers_are_translated_also_in_batches() -> None:
    ids = Ids()
    init = {"transactional_id": "x"}
    rows = [{"producer_id": 7, "producer_epoch": 3}, {"producer_id": 2_000, "producer_epoch": 4}]
    (found,) = differences(ApiKey.INIT_PRODUCER_ID, 4, *rows, ids=ids, asked=init)
    assert found.path == "producer_epoch"
    batch = build([(None, b"v")], timestamp_ms=1, producer_id=2_000, producer_epoch=4)
    partition = {"index": 0, "records": bytes(batch)}
    produce = request(
        ApiKey.PRODUCE, 9, {"topic_data": [{"name": "t", "partition_data": [partition]}]}
    )
    end = request(ApiKey.END_TXN, 3, {"transactional_id": "x", **rows[1], "committed": True})
    to_ottla = Translation(ids.to_left, lambda _, value: value)
    translated = read_request(to_ottla.of(end)).fields
    assert translated is not None
    assert (translated["producer_id"], translated["producer_epoch"]) == (7, 3)
    fields = read_request(to_ottla.of(produce)).fields
    assert fields is not None
    records = fields["topic_data"][0]["partition_data"][0]["records"]
    ((position, header),) = headers_in(records)
    assert (header.producer_id, header.producer_epoch) == (7, 3)
    assert crc_is_right(records, position, header)


def fetch_answer(sent: Request, *batches: bytes) -> Any:
    partition = {"partition_index": 0, "error_code": 0, "records": b"".join(batches)}
    body = {"responses": [{"topic": "t", "partitions": [partition]}]}
    return read_answer(sent, bytes(messages.answer(ApiKey.FETCH, 12, 1, body))[4:])


def test_fetches_are_compared_by_content_whichever_answer_it_comes_in() -> None:
    sent = request(ApiKey.FETCH, 12, {})
    first, second, other = (
        bytes(build([(None, value)], timestamp_ms=1, base_offset=offset))
        for value, offset in ((b"a", 0), (b"b", 1), (b"c", 1))
    )
    fetched = Fetched(Ids())
    one, two = fetch_answer(sent, first), fetch_answer(sent, second)
    assert fetched.compared(sent, (fetch_answer(sent, first, second), one)) == []
    assert fetched.compared(sent, (fetch_answer(sent), two)) == []
    (found,) = fetched.compared(sent, (fetch_answer(sent), fetch_answer(sent, other)))
    assert found.path == "responses[t].partitions[0].records[1]"
    (hole,) = Fetched(Ids()).compared(sent, (fetch_answer(sent, first, second), two), is_final=True)
    assert hole.kafka == "no batch at 0: the next begins at 1"


def test_a_request_is_written_as_it_was_read() -> None:
    body = {"topics": [{"topic_id": TOPIC_IDS[0], "partitions": [{"partition": 1}]}]}
    sent = request(ApiKey.FETCH, 17, body)
    assert sent.fields is not None
    assert with_fields(sent, sent.fields) == sent.frame


def test_a_report_hides_records_and_secrets() -> None:
    batch = bytes(build([(b"key", b"value")], timestamp_ms=1, producer_id=5, base_sequence=2))
    hidden = masked(batch)
    assert hidden is not None
    assert b"key" not in hidden
    assert b"value" not in hidden
    ((position, header),) = headers_in(hidden)
    assert crc_is_right(hidden, position, header)
    assert len(hidden) == len(batch)
    command = ["run", "--password", "hunter2", "sasl.password=hunter2", "--topic", "t"]
    assert command_text(command) == "run --password (hidden) sasl.password=(hidden) --topic t"


def test_answers_of_different_versions_differ_in_nothing_else() -> None:
    sent = request(ApiKey.API_VERSIONS, 4, {})
    new, old = (
        read_answer(sent, bytes(messages.answer(ApiKey.API_VERSIONS, version, 1, {}))[4:])
        for version in (4, 0)
    )
    (found,) = compared(sent, (new, old), Ids(), Known(frozenset(), set()))
    assert found[2:] == ("an answer of version 4", "an answer of version 0")

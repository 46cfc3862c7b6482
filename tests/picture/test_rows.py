"""What the text of a row says: the records that were asked for, the node, moves of the clock."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.picture.model import model_of
from ottla.trace.events import ClockAdvanced, ClockJumped, DecisionRefused, LeadersChanged, Request

from .traces import Trace


def texts(trace: Trace) -> list[str]:
    found: list[str] = model_of(trace.events, title="t")["rows"]["text"]
    return found


def fetch_from(trace: Trace, offset: int, records: int = 4) -> int:
    """A Fetch whose answer has one batch of the offsets 0 to 3."""
    part = {"partition": 0, "fetch_offset": offset}
    batch = {
        "topic": "t", "partition": 0, "base_offset": 0, "last_offset": 3, "records": records,
        "first_records": [{"key": None, "value": f"order-{number}"} for number in range(3)],
    }  # fmt: skip
    answer = {"topic": "t", "partitions": [{"partition_index": 0, "records": "<9 bytes>"}]}
    asked = {"topics": [{"topic": "t", "partitions": [part]}]}
    return trace.call("c", "Fetch", asked, responses=[answer], batches=[batch])


@pytest.mark.parametrize(
    ("offset", "records", "said"),
    [
        (0, 4, "t-0 9 B (4 records to 3) “order-0”, “order-1”, …"),
        (2, 4, "t-0 9 B (2 records to 3, after 2 earlier in the batch) “order-2”"),
        (3, 4, "t-0 9 B (1 record to 3, after 3 earlier in the batch)"),
        (2, 3, "t-0 9 B (3 records to 3, some of them before 2)"),
    ],
)
def test_a_fetch_lists_the_records_from_its_offset_on(offset: int, records: int, said: str) -> None:
    trace = Trace()
    fetch_from(trace, offset, records)
    (text,) = texts(trace)
    assert text.endswith(f"ok 1.0 ms: {said}")


def test_earlier_offsets_of_a_batch_are_counted_and_are_not_found_by_a_search() -> None:
    trace = Trace()
    for offset, records in ((0, 4), (2, 4), (2, 3)):
        fetch_from(trace, offset, records)
    model = model_of(trace.events, title="t")
    assert model["earlier"] == {1: [2], 2: [-2]}
    assert [each[0][1:] for each in model["rows"]["offsets"]] == [[0, 3], [2, 3], [2, 3]]


def ask(trace: Trace, node_id: int | None) -> None:
    number = trace.ask("c", "Produce")
    request = trace.events[number - 1]
    assert isinstance(request, Request)
    request.node_id = node_id
    trace.answer(number)


def test_a_request_names_its_node_if_there_are_several() -> None:
    trace = Trace()
    for node_id in (1, 1, None):
        ask(trace, node_id)
    assert not any("node" in text for text in texts(trace))
    ask(trace, 2)
    assert [text.partition(" →")[0] for text in texts(trace)] == [
        "Produce (node 1)", "Produce (node 1)", "Produce", "Produce (node 2)",
    ]  # fmt: skip


def tell_brokers(trace: Trace) -> None:
    trace.call("c", "Metadata", {}, brokers=[{"node_id": 1}, {"node_id": 2}])


def move_leader(trace: Trace) -> None:
    trace.add(LeadersChanged(topic="t", leaders=[[2, 1], [-1, 1]]))


@pytest.mark.parametrize("tell", [tell_brokers, move_leader])
def test_nodes_that_are_not_asked_count(tell: Any) -> None:
    trace = Trace()
    ask(trace, 1)
    tell(trace)
    assert texts(trace)[0].startswith("Produce (node 1) →")


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [("FENCED_INSTANCE_ID", [0, 0, 1]), (None, [0, 1, 0]), ("INVALID_PRODUCER_EPOCH", [0, 0, 1])],
)
def test_a_refusal_with_its_answer_is_one_error(answer: str | None, wanted: list[int]) -> None:
    trace = Trace()
    asked = trace.ask("c", "OffsetCommit")
    trace.add(DecisionRefused(cause=asked, topic="o", partition=0, code="FENCED_INSTANCE_ID"))
    trace.answer(asked, error=answer)
    rows = model_of(trace.events, title="t")["rows"]
    assert rows["error"] == wanted
    assert rows["errors"][1] == ["FENCED_INSTANCE_ID"]  # by which it is found


def test_the_end_of_a_transaction_has_the_epoch_of_its_producer() -> None:
    trace = Trace()
    fields = {"transactional_id": "shop", "producer_id": 4, "producer_epoch": 3, "committed": True}
    trace.call("c", "EndTxn", fields)
    trace.call("c", "Produce", fields)
    assert [text.partition(" →")[0] for text in texts(trace)] == [
        "EndTxn shop commit epoch 3", "Produce shop",
    ]  # fmt: skip


def test_moves_of_the_clock_are_rows_with_their_length() -> None:
    trace = Trace()
    for event in (
        ClockAdvanced(by_ms=45_000), ClockAdvanced(by_ms=5, moved_by="t.py:3"),
        ClockJumped(by_ms=-5_400_000), ClockJumped(by_ms=36_500 * 86_400_000),
    ):  # fmt: skip
        trace.add(event)
    assert texts(trace) == [
        "the clock moves forward by 45 s", "the clock moves forward by 5 ms, moved by t.py:3",
        "the wall clock is set back by 1.5 h", "the wall clock is set forward by 36500 d",
    ]  # fmt: skip
    assert set(model_of(trace.events, title="t")["rows"]["mark"]) == {"t"}

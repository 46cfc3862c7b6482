"""What the page draws of a trace: rows, lanes, transactions, groups and arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ottla.picture.model import Model, model_of
from ottla.trace.events import Event, Request

from .traces import Trace, commit_offset, copied, end_transaction, fetch, produce


def model(events: Sequence[Event]) -> Model:
    return model_of(events, title="t")


def row_of(found: Model, seq: int) -> int:
    rows = found["rows"]
    return next(i for i, each in enumerate(rows["seq"]) if each <= seq <= rows["last"][i])


def lane_names(found: Model, seq: int) -> list[tuple[str, str]]:
    numbers = found["rows"]["lanes"][row_of(found, seq)]
    return [tuple(found["lanes"][number][:2]) for number in numbers]


def arcs(found: Model) -> list[tuple[int, int, str]]:
    seqs = found["rows"]["seq"]
    return [(seqs[first], seqs[last], kind) for first, last, kind, _ in found["arcs"]]


def test_an_answer_right_behind_its_request_shares_its_row() -> None:
    trace = Trace()
    number = trace.ask("a", "Metadata")
    trace.answer(number)
    late = trace.ask("a", "Metadata")
    trace.call("b", "Metadata", {})
    answer = trace.answer(late)
    found = model(trace.events)
    rows = found["rows"]
    assert (rows["mark"], rows["events"]) == (["x", "q", "x", "a"], [2, 1, 2, 1])
    assert rows["answer"] == [-1, 3, -1, -1]
    assert rows["request"][row_of(found, answer)] == row_of(found, late)


def test_each_event_is_in_one_row_in_their_order() -> None:
    events = copied().events
    rows = model(events)["rows"]
    assert sum(rows["events"]) == len(events)
    assert rows["seq"] == sorted(rows["seq"])


def test_a_row_is_in_the_lanes_that_it_touches() -> None:
    trace = copied()
    found = model(trace.events)
    seqs = {each.api: each.seq for each in trace.events if isinstance(each, Request)}
    assert lane_names(found, seqs["Fetch"]) == [("client", "reader"), ("partition", "orders-0")]
    wanted = [("client", "writer"), ("transaction", "x"), ("partition", "invoices-0")]
    assert lane_names(found, seqs["Produce"]) == wanted
    wanted = [("client", "writer"), ("transaction", "x"), ("group", "g")]
    assert lane_names(found, seqs["TxnOffsetCommit"]) == wanted
    assert lane_names(found, seqs["EndTxn"] + 1) == [
        ("coordinator", "__transaction_state-3"), ("transaction", "x")
    ]  # fmt: skip


def asked_of(*partitions: int, offset: int = 0) -> list[dict[str, Any]]:
    parts = [{"partition": each, "fetch_offset": offset} for each in partitions]
    return [{"topic": "t", "partitions": parts}]


def partitions_of(trace: Trace, seq: int) -> list[str]:
    return [name for kind, name in lane_names(model(trace.events), seq) if kind == "partition"]


def test_a_fetch_without_records_and_a_question_for_offsets_are_in_the_lanes_of_partitions() -> (
    None
):
    trace = Trace()
    fetched = trace.call("c", "Fetch", {"topics": asked_of(0, 2)}, responses=[])
    listed = trace.call("c", "ListOffsets", {"topics": asked_of(1)}, topics=[])
    assert partitions_of(trace, fetched) == ["t-0", "t-2"]
    assert partitions_of(trace, listed) == ["t-1"]


def test_a_fetch_of_a_session_is_in_the_lanes_of_the_partitions_of_the_session() -> None:
    trace = Trace()
    begin = {"session_id": 0, "session_epoch": 0, "topics": asked_of(0, 1)}
    trace.call("c", "Fetch", begin, session_id=5)
    again = trace.call("c", "Fetch", {"session_id": 5, "session_epoch": 1, "topics": []})
    gone = [{"topic": "t", "partitions": [0]}]
    changed = trace.call(
        "c", "Fetch",
        {"session_id": 5, "session_epoch": 2, "topics": asked_of(3), "forgotten_topics_data": gone},
    )  # fmt: skip
    late = trace.ask("c", "Fetch", session_id=5, session_epoch=3, topics=[])
    other = trace.call("d", "Fetch", {"session_id": 6, "session_epoch": 3, "topics": []})
    answer = trace.answer(late, session_id=5)
    assert partitions_of(trace, again) == ["t-0", "t-1"]
    assert partitions_of(trace, changed) == ["t-1", "t-3"]
    assert partitions_of(trace, late) == partitions_of(trace, answer) == ["t-1", "t-3"]
    assert partitions_of(trace, other) == []  # it began before the trace


def test_the_model_has_the_lanes_of_clients_that_findings_name() -> None:
    trace = Trace()
    for client in ("shop", "shop-2", "a.shop", "shop.a", "bank"):
        trace.call(client, "Metadata", {})
    trace.call("shop", "Produce", {}, error_code=6)
    found = model(trace.events)
    assert [found["lanes"][each][1] for each in found["named"]] == ["shop"]
    asked = trace.ask("bank", "EndTxn", transactional_id="x")
    trace.fail(asked, "delay")
    found = model(trace.events)
    assert "EndTxn of bank" in found["findings"][0][1]
    assert [found["lanes"][each][1] for each in found["named"]] == ["shop", "bank"]


def test_a_transaction_lasts_from_its_first_partition_to_its_end() -> None:
    trace = copied()
    found = model(trace.events)
    ((owner, first, last, outcome, began_before),) = found["transactions"]
    assert (owner, outcome, began_before) == ("x", "commit", False)
    assert found["rows"]["text"][first].startswith("AddPartitionsToTxn")
    assert "CompleteCommit" in found["rows"]["text"][last]
    assert found["rows"]["transaction"][first] == found["rows"]["transaction"][last] == 1
    assert found["rows"]["transaction"][row_of(found, 1)] == 0


def bands(found: Model, kind: str) -> list[tuple[str, str]]:
    return [(found["lanes"][lane][1], label) for lane, _, _, each, label, _ in found["bands"]
            if each == kind]  # fmt: skip


def test_states_are_bands_and_an_open_transaction_is_one_in_its_partition() -> None:
    found = model(copied().events)
    assert bands(found, "state") == [
        ("x", "Ongoing"),
        ("x", "PrepareCommit"),
        ("x", "CompleteCommit"),
    ]
    assert bands(found, "open") == [("invoices-0", "T1 commit")]


def test_a_transaction_that_does_not_end_is_open_to_the_end() -> None:
    trace = copied()
    cut = trace.events[:-5]
    found = model(cut)
    ((_, _, last, outcome, _),) = found["transactions"]
    assert (last, outcome) == (len(found["rows"]["seq"]) - 1, "open")
    assert bands(found, "open") == [("invoices-0", "T1 open")]


def test_a_trace_that_begins_in_a_transaction_says_so() -> None:
    trace = Trace()
    end_transaction(trace, "x", commit=False)
    ((_, first, _, outcome, began_before),) = model(trace.events)["transactions"]
    assert (first, outcome, began_before) == (0, "abort", True)


def test_a_refused_request_begins_no_transaction() -> None:
    trace = Trace()
    number = trace.ask("writer", "AddPartitionsToTxn", v3_and_below_transactional_id="x")
    trace.answer(number, error="INVALID_PRODUCER_EPOCH")
    trace.decide(0, "y", "Empty", "Ongoing")
    found = model(trace.events)
    assert [each[0] for each in found["transactions"]] == ["y"]
    assert found["rows"]["error"][0] == 1
    assert found["rows"]["errors"][0] == ["INVALID_PRODUCER_EPOCH"]


def test_a_capture_without_decisions_has_transactions_of_its_requests() -> None:
    trace = Trace()
    trace.call("w", "AddPartitionsToTxn", {"v3_and_below_transactional_id": "x"})
    trace.call("w", "EndTxn", {"transactional_id": "x", "committed": False})
    trace.call("w", "AddPartitionsToTxn", {"v3_and_below_transactional_id": "x"})
    found = model(trace.events)
    assert [each[3] for each in found["transactions"]] == ["abort", "open"]


def test_arcs_lead_from_a_read_to_its_copy_and_to_the_offset_that_covers_it() -> None:
    trace = copied()
    seqs = {each.api: each.seq for each in trace.events if isinstance(each, Request)}
    assert arcs(model(trace.events)) == [
        (seqs["Fetch"], seqs["TxnOffsetCommit"], "cover"), (seqs["Fetch"], seqs["Produce"], "copy")
    ]  # fmt: skip


def test_offsets_of_an_aborted_transaction_cover_nothing_for_the_next_one() -> None:
    trace = Trace()
    read = fetch(trace, "reader", "orders", 0, 3)
    commit_offset(trace, "x", "g", "orders", 4)
    end_transaction(trace, "x", commit=False)
    again = produce(trace, "x", "invoices", 0)
    covering = commit_offset(trace, "x", "g", "orders", 4)
    end_transaction(trace, "x", commit=True)
    found = arcs(model(trace.events))
    assert (read, covering, "cover") in found
    assert (read, again, "copy") in found


def test_reads_of_clients_that_are_no_members_have_no_arcs() -> None:
    trace = Trace()
    trace.call("reader", "OffsetFetch", {"group_id": "g"})
    fetch(trace, "elsewhere", "orders", 0, 3)
    commit_offset(trace, "x", "g", "orders", 4)
    assert arcs(model(trace.events)) == []


def join(trace: Trace, member: str) -> int:
    return trace.ask(member, "JoinGroup", group_id="g", member_id=member)


def joined(trace: Trace, number: int, member: str, generation: int, *members: str) -> None:
    listed: list[dict[str, Any]] = [{"member_id": each} for each in members]
    trace.answer(
        number, error_code=0, generation_id=generation, member_id=member, leader="a",
        members=listed,
    )  # fmt: skip


def test_a_rebalance_names_the_members_that_it_waits_for() -> None:
    trace = Trace()
    first = join(trace, "a")
    trace.move_group(first, "g", "Empty", "PreparingRebalance")
    trace.move_group(first, "g", "PreparingRebalance", "CompletingRebalance")
    joined(trace, first, "a", 1, "a")
    trace.move_group(0, "g", "CompletingRebalance", "Stable")
    second = join(trace, "b")
    waits = trace.move_group(second, "g", "Stable", "PreparingRebalance")
    third = join(trace, "a")
    trace.move_group(third, "g", "PreparingRebalance", "CompletingRebalance")
    joined(trace, third, "a", 2, "a", "b")
    joined(trace, second, "b", 2)
    follower = trace.ask("b", "SyncGroup", group_id="g", member_id="b")
    found = model(trace.events)
    texts = found["rows"]["text"]
    assert texts[row_of(found, waits)].endswith("waits for JoinGroup of a")
    assert texts[row_of(found, follower)].endswith("waits for SyncGroup of a")
    assert ("g", "Stable 1") in bands(found, "state")
    assert ("g", "CompletingRebalance 2") in bands(found, "state")


def test_a_rebalance_after_an_expired_session_names_no_member_to_wait_for() -> None:
    """The event does not say which member is gone."""
    trace = Trace()
    first, second = join(trace, "a"), join(trace, "b")
    joined(trace, first, "a", 1, "a", "b")
    joined(trace, second, "b", 1)
    lost = trace.move_group(0, "g", "Stable", "PreparingRebalance")
    again = join(trace, "b")
    found = model(trace.events)
    texts = found["rows"]["text"]
    assert texts[row_of(found, lost)].endswith("a member's session has expired")
    assert "waits" not in texts[row_of(found, again)]


def test_a_rebalance_that_ends_while_members_sync_has_two_possible_reasons() -> None:
    trace = Trace()
    trace.move_group(join(trace, "a"), "g", "PreparingRebalance", "CompletingRebalance")
    late = trace.move_group(0, "g", "CompletingRebalance", "PreparingRebalance")
    found = model(trace.events)
    told = found["rows"]["text"][row_of(found, late)]
    assert told.endswith("no SyncGroup came in time, or a member's session has expired")


def test_a_group_that_became_empty_waits_for_no_earlier_member() -> None:
    trace = Trace()
    first = join(trace, "a")
    joined(trace, first, "a", 1, "a")
    trace.move_group(0, "g", "Stable", "PreparingRebalance")
    trace.move_group(0, "g", "PreparingRebalance", "Empty")
    again = join(trace, "b")
    moved = trace.move_group(again, "g", "Empty", "PreparingRebalance")
    found = model(trace.events)
    assert "waits" not in found["rows"]["text"][row_of(found, moved)]


def test_a_fault_is_in_the_lanes_of_its_request() -> None:
    trace = Trace()
    number = trace.ask("writer", "EndTxn", transactional_id="x")
    fault = trace.fail(number, "drop_answer")
    found = model(trace.events)
    assert lane_names(found, fault) == [("client", "writer"), ("transaction", "x")]
    assert found["rows"]["mark"][row_of(found, fault)] == "f"


def test_rows_have_the_offsets_that_they_read_write_and_commit() -> None:
    trace = copied()
    found = model(trace.events)
    seqs = {each.api: each.seq for each in trace.events if isinstance(each, Request)}

    def offsets(api: str) -> list[list[int]]:
        each: list[list[int]] = found["rows"]["offsets"][row_of(found, seqs[api])]
        return [range_[1:] for range_ in each]

    assert offsets("Fetch") == [[0, 3]]
    assert offsets("Produce") == [[10, 10]]
    assert offsets("TxnOffsetCommit") == [[4, 4]]


def test_a_trace_of_two_brokers_has_a_row_for_each_event() -> None:
    one, two = copied().events, copied().events
    found = model([*one, *two])
    assert sum(found["rows"]["events"]) == len(one) + len(two)


def test_a_row_has_the_first_keys_and_values() -> None:
    records = [{"key": "k", "value": "a\nb"}, {"key": None, "value": "x" * 50}, {"value": None}]
    batch = {"topic": "t", "partition": 0, "records": 9, "first_records": records}
    trace = Trace()
    trace.call("a", "Produce", {"batches": [batch, "... 3 more"]}, responses=[])
    trace.call("b", "Fetch", {}, batches=[{**batch, "first_records": records[2:]}])
    written, read = model(trace.events)["rows"]["text"]
    assert f"“k”=“a b”, “{'x' * 30}…”, …" in written
    assert read.endswith("no records null")

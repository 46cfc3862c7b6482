"""What stands out in a trace is said in sentences; what is usual is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla.picture.findings.find import MOST, findings_in
from ottla.picture.page import render_page
from ottla.picture.rows import MOST_CHARACTERS
from ottla.protocol.errors import Code
from ottla.trace.events import (
    Answer,
    ClockAdvanced,
    ClockJumped,
    Decision,
    Fault,
    LeadersChanged,
    RuleAdded,
    RuleRemoved,
)

from .traces import Trace, copied, produce


def texts(trace: Trace) -> list[str]:
    return [each.text for each in findings_in(trace.events)]


def seqs(trace: Trace) -> list[int]:
    return [each.seq for each in findings_in(trace.events)]


def write(trace: Trace, client: str, end: int, *, crc: int = 1, producer_id: int = -1) -> int:
    """A Produce of one record to t-0, which is stored, and has no answer yet."""
    batch = {
        "topic": "t", "partition": 0, "records": 1, "crc": crc, "producer_id": producer_id,
    }  # fmt: skip
    number = trace.ask(client, "Produce", batches=[batch])
    trace.append(number, "t", 0, end)
    return number


def read(
    trace: Trace, client: str, offset: int, *, isolation: int = 1, error: int = 0,
    lso: int = 100, batches: list[dict[str, Any]] | None = None,
) -> int:  # fmt: skip
    """A Fetch of t-0."""
    asked = {
        "isolation_level": isolation,
        "topics": [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": offset}]}],
    }
    part = {
        "partition_index": 0, "error_code": error, "high_watermark": 100, "last_stable_offset": lso,
    }  # fmt: skip
    responses = [{"topic": "t", "partitions": [part]}]
    return trace.call(client, "Fetch", asked, responses=responses, batches=batches or [])


def batch_at(offset: int, *, is_transactional: bool = False) -> dict[str, Any]:
    return {
        "topic": "t", "partition": 0, "base_offset": offset, "last_offset": offset, "records": 1,
        "is_transactional": is_transactional, "is_control": False,
    }  # fmt: skip


def offsets(value: str, offset: int) -> dict[str, Any]:
    parts = [{"partition_index": 0, value: offset}]
    return {"topics": [{"name": "t", "partitions": parts}]}


def ask_for_end(trace: Trace, client: str, end: int) -> int:
    asked = offsets("timestamp", -1)
    return trace.call(client, "ListOffsets", asked, **offsets("offset", end))


def test_a_rule_that_acts_is_named_with_the_requests_that_it_hits() -> None:
    trace = Trace()
    for client in ("shop", "shop", "bank"):
        asked = trace.ask(client, "EndTxn", transactional_id=client)
        action = {"kind": "error", "code": "NOT_COORDINATOR"}
        trace.add(Fault(cause=asked, id=3, name="drill", action=action))
        trace.answer(asked, error="NOT_COORDINATOR")
    assert texts(trace) == [
        "Fault rule 3 “drill” (error code=NOT_COORDINATOR) acted 3 times on EndTxn of shop and"
        " EndTxn of bank"
    ]
    assert seqs(trace) == [1]  # the first request that it hit


def test_a_rule_is_said_with_its_author_and_its_moment() -> None:
    trace = Trace()
    rule = RuleAdded(id=1, action={"kind": "delay", "ms": 9}, added_by="test_shop.py:3 in test_it")
    added = trace.add(rule)
    trace.answer(_hit(trace, 1))
    assert texts(trace) == [
        "Fault rule 1 (delay ms=9) acted on EndTxn of shop. It was added by test_shop.py:3 in"
        f" test_it (#{added})"
    ]


def test_a_rule_that_is_older_than_the_trace_is_said_so() -> None:
    trace = Trace()
    trace.wait(12_000)
    trace.answer(_hit(trace, 1, added_by="test_old.py:9", added_at_ms=1_000_000))
    rule = "Fault rule 1 (delay ms=9) was there before this trace"
    who = "test_old.py:9 added it 12.0 s before"
    acted = "It acted on EndTxn of shop"
    assert texts(trace) == [f"{rule}: {who}, and it was not removed. {acted}"]
    trace.add(RuleRemoved(id=1, fired=1))
    assert texts(trace) == [f"{rule}: {who}. {acted}"]


def test_a_rule_of_just_before_the_trace_has_no_time_that_is_zero() -> None:
    trace = Trace()
    trace.answer(_hit(trace, 1, added_by="test_old.py:9", added_at_ms=999_960))
    (text,) = texts(trace)
    assert ": test_old.py:9 added it just before, and it was not" in text


def _hit(trace: Trace, rule: int, **of_rule: Any) -> int:
    asked = trace.ask("shop", "EndTxn", transactional_id="shop")
    trace.add(Fault(cause=asked, id=rule, action={"kind": "delay", "ms": 9}, **of_rule))
    return asked


def test_a_batch_that_is_stored_twice_is_said_if_its_first_answer_was_lost() -> None:
    trace = Trace()
    first = write(trace, "shop", 1)
    trace.add(Answer(cause=first, api="Produce", unanswered="closed"))
    trace.answer(write(trace, "shop", 2), responses=[])
    assert texts(trace) == [
        "t-0 has the same batch twice, at 0 and 1: shop got no answer to its Produce #1 and sent it"
        " again, without idempotence (no producer id: enable.idempotence is off)"
    ]


@pytest.mark.parametrize(
    ("crc", "producer_id", "is_lost"), [(2, -1, True), (1, 7, True), (1, -1, False)]
)
def test_another_batch_an_idempotent_one_and_an_answered_one_are_not_stored_twice(
    crc: int, producer_id: int, is_lost: bool
) -> None:
    trace = Trace()
    first = write(trace, "shop", 1, producer_id=producer_id)
    if is_lost:
        trace.add(Answer(cause=first, api="Produce", unanswered="closed"))
    else:
        trace.answer(first, responses=[])
    trace.answer(write(trace, "shop", 2, crc=crc, producer_id=producer_id), responses=[])
    assert texts(trace) == []


def begun(trace: Trace, owner: str) -> None:
    """A transaction of `writer` with a record at offset 4 of t-0."""
    asked = trace.ask("writer", "AddPartitionsToTxn", transactional_id=owner)
    trace.decide(asked, owner, "Empty", "Ongoing", ("t", 0))
    trace.answer(asked)
    number = trace.ask(
        "writer", "Produce", transactional_id=owner,
        batches=[{"topic": "t", "partition": 0, "records": 1, "producer_id": 7, "crc": 1}],
    )  # fmt: skip
    trace.append(number, "t", 0, 5)
    trace.answer(number, responses=[])


def test_a_transaction_that_the_broker_aborts_is_said_with_its_time() -> None:
    trace = Trace()
    begun(trace, "shop")
    trace.wait(10_000)
    seq = trace.decide(0, "shop", "Ongoing", "PrepareAbort", ("t", 0))
    event = trace.events[seq - 1]
    assert isinstance(event, Decision)
    event.by_timer = True
    assert texts(trace)[0] == (
        "The broker aborted T1 of shop (writer), which was open for 10.0 s:"
        " transaction.timeout.ms was over. Its last request is #4 (Produce)"
    )
    assert seqs(trace)[0] == seq


def test_a_producer_that_fences_another_is_named() -> None:
    trace = Trace()
    begun(trace, "shop")
    asked = trace.ask("writer-2", "InitProducerId", transactional_id="shop")
    trace.decide(asked, "shop", "Ongoing", "PrepareAbort", ("t", 0))
    trace.answer(asked, error_code=int(Code.CONCURRENT_TRANSACTIONS))
    assert texts(trace) == [
        "InitProducerId of writer-2 with the same transactional id aborted T1 of shop (writer), and"
        " fenced writer"
    ]
    assert seqs(trace) == [asked]  # and not the new state


def test_an_open_transaction_is_said_with_the_readers_that_wait_for_it() -> None:
    trace = Trace()
    begun(trace, "shop")
    first = read(trace, "audit", 4, lso=4)
    read(trace, "dirty", 4, lso=4, isolation=0)
    second = read(trace, "report", 4, lso=4)
    read(trace, "audit", 4, lso=4)
    assert texts(trace) == [
        "T1 of shop (writer) is still open at the end, in t-0 from offset 4, and holds up audit"
        f" (read_committed, #{first}) and report (read_committed, #{second})"
    ]


@pytest.mark.parametrize(("isolation", "said"), [(0, True), (1, False)])
def test_a_reader_of_aborted_records_is_said(isolation: int, said: bool) -> None:
    trace = Trace()
    begun(trace, "shop")
    asked = trace.ask("writer", "EndTxn", transactional_id="shop", committed=False)
    trace.decide(asked, "shop", "Ongoing", "PrepareAbort", ("t", 0))
    trace.answer(asked)
    read(trace, "audit", 4, isolation=isolation, batches=[batch_at(4, is_transactional=True)])
    sentence = (
        "audit reads t-0 with isolation.level=read_uncommitted, and gets offset 4 of T1 (shop),"
        " which was aborted"
    )
    assert (sentence in texts(trace)) == said
    assert "writer aborted T1 of shop (writer) by EndTxn" in texts(trace)


def test_a_reader_that_begins_at_the_end_is_said() -> None:
    trace = Trace()
    trace.call("mailer", "OffsetFetch", {}, **offsets("committed_offset", -1))
    asked = ask_for_end(trace, "mailer", 7)
    read(trace, "mailer", 7)
    read(trace, "mailer", 7)
    assert texts(trace) == [
        "mailer has no committed offset and begins t-0 at its end, offset 7"
        " (auto.offset.reset=latest): it does not read what was written before"
    ]
    assert seqs(trace) == [asked]  # and not the Fetch, which any position has


@pytest.mark.parametrize(("end", "offset"), [(0, 0), (7, 0), (7, 3)])
def test_a_reader_that_begins_elsewhere_or_in_an_empty_log_is_usual(end: int, offset: int) -> None:
    trace = Trace()
    ask_for_end(trace, "mailer", end)
    read(trace, "mailer", offset)
    assert texts(trace) == []


def test_a_reader_that_skips_records_of_a_cut_log_is_said() -> None:
    trace = Trace()
    trace.call("night", "DeleteRecords", {}, **offsets("low_watermark", 4))
    refused = read(trace, "audit", 2, error=int(Code.OFFSET_OUT_OF_RANGE))
    assert texts(trace)[1].startswith("Fetch of audit was refused: OFFSET_OUT_OF_RANGE")
    last = read(trace, "audit", 6)
    assert texts(trace) == [
        "night deleted the records of t-0 before offset 4 (DeleteRecords)",
        "audit asked t-0 for offset 2, which the log does not have (OFFSET_OUT_OF_RANGE,"
        f" #{refused}). It goes on at 6, as its auto.offset.reset says, and skips offsets 4 to 5",
    ]
    assert seqs(trace)[1] == last


@pytest.mark.parametrize(
    ("timestamp", "told"), [(-1, "latest"), (-2, "earliest"), (1_000_000, "by_duration")]
)
def test_the_question_of_a_reader_shows_its_auto_offset_reset(timestamp: int, told: str) -> None:
    trace = Trace()
    read(trace, "audit", 2, error=int(Code.OFFSET_OUT_OF_RANGE))
    trace.call("audit", "ListOffsets", offsets("timestamp", timestamp), **offsets("offset", 6))
    asked = trace.events[-2].seq
    read(trace, "audit", 6)
    (text,) = texts(trace)
    assert f"It goes on at 6, as auto.offset.reset={told} says (#{asked}), and skips" in text
    assert seqs(trace) == [asked]
    trace = Trace()
    read(trace, "audit", 2, error=int(Code.OFFSET_OUT_OF_RANGE))
    ask_for_end(trace, "audit", 9)
    read(trace, "audit", 6)  # by itself
    assert "as its auto.offset.reset says" in texts(trace)[0]


def join(trace: Trace, client: str, instance: str | None = None) -> int:
    fields = {"group_id": "g", "session_timeout_ms": 6000, "group_instance_id": instance}
    return trace.call(client, "JoinGroup", fields, member_id=f"{client}-1", generation_id=1)


def test_a_group_that_loses_a_member_by_time_is_said_with_its_session() -> None:
    trace = Trace()
    joined = join(trace, "worker")
    trace.wait(6000)
    moved = trace.move_group(0, "g", "Stable", "PreparingRebalance")
    leave = trace.ask("other", "LeaveGroup", group_id="g")
    trace.move_group(leave, "g", "Stable", "PreparingRebalance")
    trace.answer(leave)
    assert texts(trace) == [
        f"Group g lost a member: no heartbeat of worker after #{joined} came within"
        f" session.timeout.ms=6000, so its partitions were taken away (#{moved})"
    ]
    assert seqs(trace) == [moved]


def test_a_member_whose_instance_id_is_taken_is_said_if_it_is_still_there() -> None:
    trace = Trace()
    first = join(trace, "packer-1", "packer")
    join(trace, "packer-2", "packer")
    assert texts(trace) == []  # packer-1 may have ended
    trace.call("packer-1", "Heartbeat", {"group_id": "g"}, error_code=int(Code.FENCED_INSTANCE_ID))
    assert texts(trace)[0] == (
        "packer-2 joined group g with group.instance.id=packer, which packer-1 had"
        f" (#{first}): packer-1 was fenced"
    )


def test_records_that_members_read_twice_are_said() -> None:
    trace = Trace()
    join(trace, "worker-1")
    join(trace, "worker-2")
    read(trace, "worker-1", 0, batches=[batch_at(0)])
    second = read(trace, "worker-2", 0, batches=[batch_at(0)])
    read(trace, "worker-2", 1, batches=[batch_at(0)])  # a part of the batch
    read(trace, "nobody", 0, batches=[batch_at(0)])
    assert texts(trace) == [
        "Members of group g read t-0, offset 0 and more, 2 times (worker-1 and worker-2)"
    ]
    assert seqs(trace) == [second]


@pytest.mark.parametrize("is_early", [True, False])
def test_a_member_that_goes_on_where_another_committed_is_said(is_early: bool) -> None:
    trace = Trace()
    read(trace, "worker-1", 0, batches=[batch_at(0)])
    steps: list[Callable[[], int]] = [
        lambda: trace.call(
            "worker-1", "OffsetCommit", {"group_id": "g"} | offsets("committed_offset", 1),
            **offsets("error_code", 0),
        ),
        lambda: trace.call("worker-1", "Produce", {}, responses=[]),
    ]  # fmt: skip
    for step in steps if is_early else reversed(steps):
        step()
    if is_early:  # and the next one, which nothing follows
        trace.call(
            "worker-1", "OffsetCommit", {"group_id": "g"} | offsets("committed_offset", 1),
            **offsets("error_code", 0),
        )  # fmt: skip
    first, commit = 3, 7 if is_early else 5
    leave = trace.call("worker-1", "LeaveGroup", {"group_id": "g"})
    fields = {"group_id": "g"}
    trace.call("worker-2", "OffsetFetch", fields, **offsets("committed_offset", 1))
    sentence = f"worker-2 goes on with t-0 at offset 1, which worker-1 committed (#{commit})"
    if is_early:
        sentence += (
            ". worker-1 commits before anything is produced of what it read"
            f" (commit #{first}, first Produce #5)"
        )
    left = f". After that commit worker-1 left the group (#{leave})"
    assert texts(trace) == [f"{sentence}{left}, with nothing produced in between"]
    assert seqs(trace) == [commit if is_early else leave + 2]


def test_a_refused_request_is_said_and_whether_a_later_one_was_accepted() -> None:
    trace = Trace()
    for code in (Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_LEADER_OR_FOLLOWER):
        trace.call("sensor", "Produce", {}, error_code=int(code))
    refused = (
        "Produce of sensor was refused 2 times: NOT_LEADER_OR_FOLLOWER"
        " (the node does not lead the partition)"
    )
    assert texts(trace) == [f"{refused}, and no later Produce of sensor was accepted"]
    trace.call("sensor", "Produce", {})
    assert texts(trace) == [refused]


def send(trace: Trace, value: str, code: Code = Code.NONE, **batch: Any) -> int:
    """A Produce of `sensor` to t-0 with its answer."""
    of_batch = {
        "topic": "t", "partition": 0, "records": 1, "producer_id": -1, "crc": sum(value.encode()),
        "first_records": [{"key": None, "value": value}],
    } | batch  # fmt: skip
    part = {"index": 0, "error_code": int(code)}
    responses = [{"name": "t", "partition_responses": [part]}]
    return trace.call("sensor", "Produce", {"batches": [of_batch]}, responses=responses)


def test_a_producer_that_does_not_send_refused_records_again_is_said_once() -> None:
    trace = Trace()
    send(trace, "20")
    lost = send(trace, "21", Code.NOT_LEADER_OR_FOLLOWER)
    last = send(trace, "22", Code.NOT_LEADER_OR_FOLLOWER)
    assert texts(trace) == [
        "sensor did not send refused records again, so its retries are off (retries=0) or their"
        " time was over: its Produce was refused 2 times with NOT_LEADER_OR_FOLLOWER (the node does"
        f" not lead the partition), an error to retry (#{lost}, #{last}), and no later Produce of"
        " sensor was accepted"
    ]
    assert seqs(trace) == [lost]
    send(trace, "23")
    assert texts(trace)[0].endswith(f"(#{lost}, #{last})")


def test_a_producer_without_retries_is_the_cause_and_not_the_rule_of_its_test() -> None:
    trace = Trace()
    send(trace, "20", Code.NOT_LEADER_OR_FOLLOWER)
    trace.events[-1].seq = 3
    trace.events.insert(1, Fault(seq=2, at_ms=1, cause=1, id=1, action={"kind": "error"}))
    send(trace, "21")
    assert causes(trace) == ["Fault rule", "! sensor did"]


@pytest.mark.parametrize(
    ("code", "again", "batch"),
    [
        (Code.NOT_LEADER_OR_FOLLOWER, "20", {}),
        (Code.NOT_LEADER_OR_FOLLOWER, "20", {"crc": 5, "records": 2}),
        (Code.MESSAGE_TOO_LARGE, "21", {}),
        (Code.NOT_LEADER_OR_FOLLOWER, "21", {"partition": 1}),
    ],
    ids=["again", "in a larger batch", "no error to retry", "nothing later"],
)
def test_a_producer_that_sends_refused_records_again_or_may_still_do_so_has_retries(
    code: Code, again: str, batch: dict[str, Any]
) -> None:
    trace = Trace()
    send(trace, "20", code)
    send(trace, again, **batch)
    assert not any("did not send" in each for each in texts(trace))


def test_records_that_a_trace_does_not_show_may_have_been_sent_again() -> None:
    trace = Trace()
    send(trace, "20", Code.NOT_LEADER_OR_FOLLOWER, first_records=[])
    send(trace, "21", first_records=[])
    assert not any("did not send" in each for each in texts(trace))
    trace = Trace()
    for sequence in (0, 1):
        send(
            trace, str(sequence), Code.NOT_LEADER_OR_FOLLOWER, first_records=[], producer_id=7,
            base_sequence=sequence,
        )  # fmt: skip
    assert any("did not send" in each for each in texts(trace))


def test_errors_that_clients_expect_are_no_findings() -> None:
    trace = Trace()
    trace.call("c", "JoinGroup", {"group_id": "g"}, error_code=int(Code.MEMBER_ID_REQUIRED))
    trace.call("c", "Metadata", {}, error_code=int(Code.UNKNOWN_TOPIC_OR_PARTITION))
    trace.call("c", "Metadata", {})
    assert texts(trace) == []
    assert texts(copied()) == []


def test_an_expected_error_that_does_not_end_is_said() -> None:
    trace = Trace()
    for _ in range(3):
        trace.call("c", "InitProducerId", {}, error_code=int(Code.NOT_COORDINATOR))
    assert texts(trace) == [
        "InitProducerId of c was refused 3 times: NOT_COORDINATOR, and no later InitProducerId of c"
        " was accepted"
    ]


def test_a_moved_leader_and_a_quota_are_said() -> None:
    trace = Trace()
    trace.add(LeadersChanged(topic="new", leaders=[[1, 0]]))
    trace.add(LeadersChanged(topic="t", leaders=[[1, 0], [2, 1]]))
    trace.call("c", "Produce", {}, throttle_time_ms=100)
    trace.call("c", "Produce", {}, throttle_time_ms=700)
    assert texts(trace) == [
        "The leader moved: t-1 to node 2",
        "A quota throttled c 2 times, once for 700 ms (throttle_time_ms of Produce)",
    ]


def causes(trace: Trace, told_by: str | None = None) -> list[str]:
    """The first words of the findings, those of the likely cause with a mark."""
    found = findings_in(trace.events, told_by=told_by)
    return ["! " * each.is_likely_cause + " ".join(each.text.split()[:2]) for each in found]


def test_findings_are_in_the_order_from_cause_to_effect() -> None:
    trace = Trace()
    refuse = {"error_code": int(Code.UNKNOWN_MEMBER_ID)}
    trace.call("worker", "OffsetCommit", {"group_id": "g"}, **refuse)  # before, and no cause
    trace.add(ClockAdvanced(by_ms=7000))
    join(trace, "worker")
    trace.wait(6000)
    trace.move_group(0, "g", "Stable", "PreparingRebalance")
    trace.call("worker", "Heartbeat", {"group_id": "g"}, **refuse)
    assert causes(trace) == [
        "The clock", "! Group g", "OffsetCommit of", "Heartbeat of",
    ]  # fmt: skip


def test_a_producer_without_idempotence_is_the_cause_and_not_the_rule_of_its_test() -> None:
    trace = Trace()
    first = write(trace, "shop", 1)
    trace.fail(first, "drop_answer")
    trace.add(Answer(cause=first, api="Produce", unanswered="closed"))
    trace.answer(write(trace, "shop", 2), responses=[])
    assert causes(trace, "assert t-0 of shop") == ["Fault rule", "! t-0 has"]


def test_a_rule_that_was_left_weighs_most_and_one_of_the_test_less_than_a_mistake() -> None:
    trace = Trace()
    begun(trace, "shop")
    trace.answer(_hit(trace, 1, added_by="test_old.py:9", added_at_ms=999_000))
    assert causes(trace) == ["! Fault rule", "T1 of"]
    trace.events.insert(0, RuleAdded(seq=0, at_ms=1, id=1, action={"kind": "delay"}))
    assert causes(trace) == ["! Fault rule", "T1 of"]
    first = write(trace, "shop", 6)
    trace.add(Answer(cause=first, api="Produce", unanswered="closed"))
    trace.answer(write(trace, "shop", 7), responses=[])
    assert causes(trace) == ["Fault rule", "T1 of", "! t-0 has"]


def test_a_moved_clock_or_leader_and_a_quota_are_not_marked_as_the_cause() -> None:
    trace = Trace()
    trace.add(LeadersChanged(topic="t", leaders=[[1, 0], [2, 1]]))
    trace.call("c", "Produce", {}, throttle_time_ms=100)
    trace.add(ClockAdvanced(by_ms=7000))
    assert causes(trace) == ["The leader", "A quota", "The clock"]


def test_moves_of_the_clock_are_said_with_their_length_and_their_places() -> None:
    trace = Trace()
    trace.add(ClockAdvanced(by_ms=7000))
    assert texts(trace) == ["The clock was moved forward by 7 s"]
    for by_ms in (7000, 60_000, 1000):
        trace.add(ClockAdvanced(by_ms=by_ms, moved_by="test_it.py:3 in wait"))
    trace.add(ClockJumped(by_ms=-3_600_000))
    trace.add(ClockJumped(by_ms=2000))
    assert texts(trace) == [
        "The clock was moved forward 4 times by 1.2 min in all (#1, #2, #3, ...), moved by"
        " test_it.py:3 in wait",
        "The clock was set back by 1 h", "The clock was set forward by 2 s",
    ]  # fmt: skip


def test_a_reader_is_shown_the_most_telling_findings() -> None:
    trace = Trace()
    for number in range(30):
        trace.call(f"c{number}", "Produce", {}, error_code=int(Code.NOT_LEADER_OR_FOLLOWER))
    asked = trace.ask("c", "EndTxn", transactional_id="x")
    trace.fail(asked, "delay")
    trace.answer(asked)
    found = texts(trace)
    assert len(found) == MOST
    assert found[0] == "Fault rule 1 (delay) acted on EndTxn of c"
    assert found[1].startswith("Produce of c0 ")


def test_the_likely_cause_is_one_that_the_failure_names() -> None:
    trace = Trace()
    for client in ("a", "b", "c"):
        trace.call(client, "Produce", {}, error_code=int(Code.NOT_LEADER_OR_FOLLOWER))
    told = findings_in(trace.events, told_by="assert stored == 3, as b has written\nof a-b")
    assert [each.text.split()[2] for each in told if each.is_likely_cause] == ["b"]


def test_the_sentence_of_a_long_name_is_cut() -> None:
    trace = Trace()
    trace.call("c" * 1000, "Produce", {}, error_code=int(Code.NOT_LEADER_OR_FOLLOWER))
    assert [len(each) for each in texts(trace)] == [MOST_CHARACTERS]


def test_a_cut_or_strange_message_is_no_obstacle() -> None:
    trace = Trace()
    trace.call("c", "Fetch", {"topics": "<9 topics>"}, responses=[{"...": 3}], batches="<5>")
    trace.call("c", "Produce", {"batches": [{"topic": "t"}]}, responses=None)
    trace.call("c", "OffsetFetch", {}, groups=["<3>"])
    trace.call("c", "ListOffsets", {"topics": [{"name": "t", "partitions": ["<1>"]}]}, topics=[])
    produce(trace, "x", "t", 0)
    assert isinstance(texts(trace), list)
    assert render_page(trace.events, title="strange")

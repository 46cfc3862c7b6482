"""Each rule has a client that obeys it, and one that breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.client import Client
from ottla.client.admin.groups import coordinator_of
from ottla.lab.tracing.trace_events import MOST_BATCHES
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from ottla.trace.events import events_of
from ottla.trace.exchanges import ON_THE_WAY_MS
from ottla.verdict.judge import judge
from ottla.verdict.rules.all_rules import RULES
from ottla.verdict.rules.rule import Rule, Status
from tests.project_files import files_in
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import framed, header

from . import raw_clients, raw_consumers
from .captures import CAPTURES as OTHER_CAPTURES
from .captures import Capture, leaders
from .raw_clients import Stage
from .rules_page import PAGE, table
from .share_captures import LOCK_MS, SHARE_CAPTURES, ShareCapture, acquired, moments

PLAYS = raw_clients.PLAYS | raw_consumers.PLAYS
CAPTURES = OTHER_CAPTURES | SHARE_CAPTURES
METADATA = 3


@pytest.fixture(scope="module")
def ottla() -> Iterator[Ottla]:
    with Ottla(clock="manual") as broker:
        with Client.to(broker.bootstrap) as client:
            client.transaction_coordinator("x")
            # The raw clients do not find it, and only that creates the topic of offsets.
            coordinator_of(client, "g")
        broker.trace.start()
        yield broker


@pytest.fixture
def stage(ottla: Ottla, request: pytest.FixtureRequest) -> Iterator[Stage]:
    ottla.trace.clear()
    host, port = ottla.bootstrap.split(":")
    wire = Broker((host, int(port)), request.node.name)
    yield Stage(ottla, wire)
    wire.close()
    ottla.faults.clear()


def judged_by(rule_id: str, lines: list[dict[str, Any]]) -> Rule:
    (rule,) = [each for each in judge(lines) if each.rule_id == rule_id]
    return rule


def judged(stage: Stage, rule_id: str) -> Rule:
    return judged_by(rule_id, stage.ottla.trace.events())


@pytest.mark.parametrize("rule_id", PLAYS)
def test_a_client_that_obeys_is_found_to_obey(rule_id: str, stage: Stage) -> None:
    PLAYS[rule_id][0](stage)
    rule = judged(stage, rule_id)
    assert (rule.status, rule.violations) == (Status.OBEYED, [])


@pytest.mark.parametrize("rule_id", PLAYS)
def test_a_client_that_breaks_a_rule_is_found(rule_id: str, stage: Stage) -> None:
    PLAYS[rule_id][1](stage)
    rule = judged(stage, rule_id)
    assert rule.status == Status.VIOLATED
    events = {event["seq"]: event for event in stage.ottla.trace.events()}
    assert all(events[frame]["kind"] == "request" for frame in rule.violations[0].frames)


def cut(value: Any) -> Any:
    """A value of a trace whose structs in lists have their first field alone."""
    if isinstance(value, dict):
        return {name: cut(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    return [
        dict([*cut(each).items()][:1]) | {"...": f"{len(each) - 1} more fields"}
        if isinstance(each, dict) and len(each) > 1
        else cut(each)
        for each in value
    ]


@pytest.mark.parametrize("rule_id", PLAYS)
def test_structs_that_a_trace_has_cut_are_not_judged(rule_id: str, stage: Stage) -> None:
    """A trace has the beginning of a large message, such as Metadata of many topics."""
    PLAYS[rule_id][1](stage)
    assert [*judge(events_of([cut(event) for event in stage.ottla.trace.events()]))]


def without_occasion(events: list[Any], rule_id: str) -> Rule:
    """The rule, judged on the part of a trace before its client could break it.

    That part ends before the offending request. If the client obeyed the rule until then, it ends
    before the first request that shows the violation, or before the client's second request.
    """
    broken = judged_by(rule_id, events)
    frames = broken.violations[0].frames
    seen = [event["seq"] for event in events if event["kind"] == "request"]
    second = seen[min(1, len(seen) - 1)]
    for end in (frames[-1], frames[0], second):
        part = [event for event in events if event["seq"] < end]
        rule = judged_by(rule_id, part)
        if rule.status == Status.NOT_EXERCISED or end == second:
            return rule
        assert rule_id in OBEYED_BEFORE
    raise AssertionError


OBEYED_BEFORE = {
    "epoch-was-given", "fenced-instance-stops", "five-in-flight", "heartbeat-in-rebalance",
    "heartbeat-in-time", "no-add-in-transactions-v2", "nothing-after-fencing", "retries-wait",
    "sequence-not-reused", "session-epoch-grows", "stale-member-rejoins", "transactions-v2-whole",
}  # fmt: skip
"""Rules whose client, before it breaks them, had another occasion and obeyed."""


@pytest.mark.parametrize("rule_id", PLAYS)
def test_a_client_that_ends_before_it_could_break_a_rule_does_not_exercise_it(
    rule_id: str, stage: Stage
) -> None:
    PLAYS[rule_id][1](stage)
    rule = without_occasion(stage.ottla.trace.events(), rule_id)
    assert (rule.status, rule.obeyed) == (Status.NOT_EXERCISED, 0)


@pytest.mark.parametrize("rule_id", CAPTURES)
def test_a_capture_that_ends_before_a_violation_does_not_exercise_the_rule(rule_id: str) -> None:
    rule = without_occasion(CAPTURES[rule_id][1]().events, rule_id)
    assert (rule.status, rule.obeyed) == (Status.NOT_EXERCISED, 0)


def test_the_page_says_how_long_an_answer_may_be_on_its_way() -> None:
    assert f"within {ON_THE_WAY_MS} ms of an answer is not held against it" in PAGE.read_text()


def test_no_rule_has_a_grace_of_its_own() -> None:
    for file in files_in("verdict/rules"):
        assert not re.search(r"(?i)grace", file.read_text()), file.name


@pytest.mark.parametrize("again", [0, 3])
def test_a_consumer_that_stays_where_it_is_in_its_session_is_found(
    again: int, stage: Stage
) -> None:
    topic = stage.wire.filled_topic()
    answer = stage.wire.fetch_raw([(topic, 0, 0)], session=(0, 0))
    for epoch in range(1, 2 + again):  # an incremental Fetch names what has changed: nothing
        stage.wire.fetch_raw([], session=(answer["session_id"], epoch))
    found = judged(stage, "position-moves")
    assert (found.status == Status.VIOLATED) == (again > 0)
    assert found.obeyed == 0


@pytest.mark.parametrize("rule_id", CAPTURES)
def test_a_capture_shows_whether_a_client_obeys(rule_id: str) -> None:
    right, wrong = (judge(events_of(made().events)) for made in CAPTURES[rule_id])
    statuses = [
        each.status for rules in (right, wrong) for each in rules if each.rule_id == rule_id
    ]
    assert statuses == [Status.OBEYED, Status.VIOLATED]


def test_a_first_transaction_without_its_partition_is_found(stage: Stage) -> None:
    topic = stage.wire.topic()
    stage.wire.producer().produce(topic)
    assert judged(stage, "partition-added-first").status == Status.VIOLATED


def test_a_producer_is_not_blamed_for_the_membership_of_its_consumer(stage: Stage) -> None:
    group = stage.wire.fresh("g")
    member = stage.wire.stable_member(group)
    producer = stage.wire.producer()
    producer.add_offsets(group)
    stale: dict[str, Any] = {
        "generation_id_or_member_epoch": member.generation_id + 1,
        "member_id": member.member_id,
    }
    for _ in range(2):
        producer.commit_offset(group, stage.wire.topic(), **stale)
        stage.later(1000)
    assert judged(stage, "stale-member-rejoins").status == Status.NOT_EXERCISED


def test_partitions_are_added_by_the_list_of_transactions_too() -> None:
    capture = Capture()
    named = {"transactional_id": "x", "producer_id": 1, "producer_epoch": 0}
    capture.answers(capture.asks("InitProducerId", 4, {"transactional_id": "x"}))
    topics = [{"name": "t", "partitions": [0]}]
    added = {"v3_and_below_transactional_id": "", "transactions": [named | {"topics": topics}]}
    capture.answers(capture.asks("AddPartitionsToTxn", 5, added))
    batch = {
        "topic": "t", "partition": 0, "base_offset": 0, "last_offset": 0, "records": 1,
        "size_bytes": 70, "crc": 1, "producer_id": 1, "producer_epoch": 0, "base_sequence": 0,
        "is_transactional": True, "is_control": False,
    }  # fmt: skip
    capture.asks("Produce", 11, {"acks": -1, "transactional_id": "x", "batches": [batch]})
    rule = judged_by("partition-added-first", capture.events)
    assert (rule.obeyed, rule.violations) == (1, [])


def test_a_full_heartbeat_acknowledges_the_assignment_that_it_is_answered_with() -> None:
    capture = Capture()
    owned = [{"topic_id": "i", "partitions": [0]}]
    member = {"group_id": "g", "member_id": "m", "member_epoch": 1}
    full = capture.asks("ConsumerGroupHeartbeat", 1, member | {"topic_partitions": owned})
    capture.answers(full, {"member_epoch": 1, "assignment": {"topic_partitions": owned}})
    for _ in range(6):
        beat = capture.asks("ConsumerGroupHeartbeat", 1, member | {"topic_partitions": None})
        capture.answers(beat, {"member_epoch": 1, "assignment": None})
    rule = judged_by("assignment-acknowledged", capture.events)
    assert rule.violations == []


def test_offsets_of_a_transaction_come_with_the_epoch_of_the_member() -> None:
    capture = Capture()
    member = {"group_id": "g", "member_id": "m"}
    joins = capture.asks("ConsumerGroupHeartbeat", 1, member | {"member_epoch": 0})
    capture.answers(joins, {"member_epoch": 3, "assignment": None})
    capture.asks("TxnOffsetCommit", 4, member | {"generation_id": 3})
    last = capture.asks("TxnOffsetCommit", 4, member | {"generation_id": 0})
    rule = judged_by("commit-with-member-epoch", capture.events)
    assert (rule.obeyed, [each.frames[-1] for each in rule.violations]) == (1, [last])


@pytest.mark.parametrize(
    ("after_ms", "status"),
    [
        ((60, 60), Status.NOT_EXERCISED),
        ((60, 100), Status.VIOLATED),
        ((10, 60), Status.VIOLATED),
        ((300,), Status.VIOLATED),
        ((60, 400), Status.OBEYED),
    ],
)
def test_a_slow_client_sends_once_before_it_reads_a_throttled_answer(
    after_ms: tuple[int, ...], status: Status
) -> None:
    capture = Capture()
    capture.answers(capture.asks("Metadata", 8), {"throttle_time_ms": 400})
    answered_at_ms = capture.events[-1]["at_ms"]
    for each in after_ms:
        capture.asks("Metadata", 8, at_ms=answered_at_ms + each)
    rule = judged_by("throttle-obeyed", capture.events)
    assert rule.status == status


@pytest.mark.parametrize(
    ("transactional_id", "committed", "status"),
    [
        ("shop", True, Status.VIOLATED),
        ("shop", False, Status.NOT_EXERCISED),  # an abort waits for no answer
        ("bank", True, Status.NOT_EXERCISED),
    ],
)
def test_a_producer_that_commits_has_read_that_its_records_were_throttled(
    transactional_id: str, committed: bool, status: Status
) -> None:
    capture = Capture()
    write = {"transactional_id": "shop"}
    capture.answers(capture.asks("Produce", 7, write), {"throttle_time_ms": 400})
    answered_at_ms = capture.events[-1]["at_ms"]
    end = {"transactional_id": transactional_id, "committed": committed}
    ends = capture.asks("EndTxn", 3, end, connection="b", at_ms=answered_at_ms + 5)
    capture.answers(ends, {})
    capture.asks("Produce", 7, write, at_ms=answered_at_ms + 10)
    rule = judged_by("throttle-obeyed", capture.events)
    assert rule.status == status


def test_every_rule_has_a_client_that_obeys_and_one_that_breaks_it() -> None:
    assert {rule.rule_id for rule in RULES} == PLAYS.keys() | CAPTURES.keys()


def test_rules_have_names_of_their_own() -> None:
    assert len({rule.rule_id for rule in RULES}) == len(RULES) >= 45


def test_the_page_of_rules_has_all_of_them() -> None:
    assert PAGE.read_text().endswith(table()), "python -m tests.verdict.rules_page writes it"


def test_a_capture_that_does_not_show_the_node_is_not_held_against_a_client() -> None:
    capture = leaders(None)
    refused = capture.asks("EndTxn", 3, {"transactional_id": "x"}, node_id=None)
    capture.answers(refused, {"error_code": int(Code.NOT_COORDINATOR)})
    capture.asks("EndTxn", 3, {"transactional_id": "x"}, node_id=None, at_ms=2_000_000)
    found = {rule.rule_id: rule.violations for rule in judge(events_of(capture.events))}
    assert found["data-to-leader"] == found["coordinator-looked-up"] == []


def test_a_heartbeat_between_join_and_sync_is_no_violation(stage: Stage) -> None:
    member = stage.wire.member(stage.wire.fresh("g"))
    stage.later(3000)
    member.heartbeat()
    member.sync([(member.member_id, b"a")])
    rule = judged(stage, "sync-after-join")
    assert (rule.status, rule.violations) == (Status.OBEYED, [])


def test_the_end_of_an_answer_with_very_many_batches_is_not_guessed(stage: Stage) -> None:
    topic = stage.wire.topic()
    for number in range(MOST_BATCHES + 2):
        stage.wire.produced(topic, batch([str(number).encode()]))
    stage.wire.fetch(topic)
    stage.wire.commit(stage.wire.fresh("g"), topic, MOST_BATCHES + 2)
    assert judged(stage, "commit-within-read").status == Status.NOT_EXERCISED
    stage.wire.fetch(topic, MOST_BATCHES + 1)
    stage.wire.commit(stage.wire.fresh("g"), topic, MOST_BATCHES + 3)
    assert judged(stage, "commit-within-read").status == Status.VIOLATED


def test_a_renewal_locks_records_again() -> None:
    renewed = moments(20_000, LOCK_MS + 20_000)
    assert judged_by("share-acknowledges-in-time", renewed.events).violations == []
    late = moments(20_000, LOCK_MS + 20_100)
    assert judged_by("share-acknowledges-in-time", late.events).violated == 1


def test_a_record_is_acknowledged_once() -> None:
    capture = acquired()
    capture.answers(capture.acknowledges(1, (0, 4, 1)))
    last = capture.acknowledges(2, (4, 6, 1))
    rule = judged_by("share-acknowledges-acquired", capture.events)
    assert (rule.obeyed, [each.frames[-1] for each in rule.violations]) == (1, [last])


def test_records_of_a_closed_session_are_not_acknowledged_later() -> None:
    capture = acquired()
    capture.answers(capture.fetches(-1))
    capture.answers(capture.fetches(0))
    capture.acknowledges(1, (0, 9, 1))
    assert judged_by("share-acknowledges-acquired", capture.events).violated == 1


def test_acquired_records_that_a_trace_has_cut_are_not_judged() -> None:
    capture = ShareCapture()
    first = {"first_offset": 0, "last_offset": 1, "delivery_count": 1}
    partition = {"partition_index": 0, "acquired_records": [first, "9 more"]}
    responses = [{"topic_id": "i", "partitions": [partition]}]
    capture.answers(capture.fetches(0), {"responses": responses})
    capture.acknowledges(1, (0, 20, 1))
    rule = judged_by("share-acknowledges-acquired", capture.events)
    assert rule.status == Status.NOT_EXERCISED


@pytest.mark.parametrize("api", ["ShareGroupHeartbeat", "StreamsGroupHeartbeat"])
def test_members_of_the_newer_protocols_heartbeat_by_the_same_rules(api: str) -> None:
    capture = Capture()
    member = {"group_id": "g", "member_id": "m"}
    joins = capture.asks(api, 1, member | {"member_epoch": 0})
    capture.answers(joins, {"member_epoch": 3, "heartbeat_interval_ms": 5000})
    capture.answers(capture.asks(api, 1, member | {"member_epoch": 3}), {"member_epoch": 3})
    capture.asks(api, 1, member | {"member_epoch": 2}, at_ms=2_000_000)
    epochs = judged_by("member-epoch-is-current", capture.events)
    assert (epochs.obeyed, epochs.violated) == (1, 1)
    assert judged_by("heartbeat-at-interval", capture.events).obeyed == 1


def revocations(other_client: str) -> Capture:
    """A member of a consumer group gives a partition back, and fetches it in its session."""
    capture = Capture()
    owned = [{"topic_id": "i", "partitions": [0, 1]}]
    member: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": 1}
    joins = capture.asks("ConsumerGroupHeartbeat", 1, member | {"topic_partitions": owned})
    capture.answers(joins, {"member_epoch": 1})
    other: dict[str, object] = {**member, "member_id": "n", "topic_partitions": []}
    joins = capture.asks("ConsumerGroupHeartbeat", 1, other, client_id=other_client)
    capture.answers(joins, {"member_epoch": 1})
    partitions = [{"partition": index, "fetch_offset": 0} for index in (0, 1)]
    body = {"session_id": 0, "session_epoch": 0}
    topics = [{"topic_id": "i", "partitions": partitions}]
    capture.answers(capture.asks("Fetch", 13, body | {"topics": topics}), {"session_id": 7})
    less = member | {"topic_partitions": [{"topic_id": "i", "partitions": [0]}]}
    capture.answers(capture.asks("ConsumerGroupHeartbeat", 1, less), {"member_epoch": 1})
    goes_on = {"session_id": 7, "session_epoch": 1, "topics": []}
    capture.asks("Fetch", 13, goes_on, at_ms=2_000_000)
    return capture


@pytest.mark.parametrize(
    ("other_client", "status"), [("other", Status.VIOLATED), ("client", Status.NOT_EXERCISED)]
)
def test_a_session_fetches_a_revoked_partition_until_it_is_forgotten(
    other_client: str, status: Status
) -> None:
    """A Fetch of one of two members with the same client id is held against neither."""
    events = revocations(other_client).events
    rule = judged_by("revoked-not-fetched", events)
    assert rule.status == status


def test_a_request_of_an_unserved_version_is_in_the_trace(stage: Stage) -> None:
    stage.wire.call("ApiVersions", 2)
    frame = framed(header(METADATA, 99))
    connection = stage.wire.connection
    connection.send_raw(frame)
    stage.ottla.wait_for(lambda: stage.ottla.trace.where(kind="connection_closed"))
    assert judged(stage, "versions-announced").status == Status.VIOLATED
    assert judged(stage, "request-readable").violated == 0

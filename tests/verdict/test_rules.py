"""Each rule has a client that obeys it, and one that breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.client import Client
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from ottla.verdict.all_rules import RULES
from ottla.verdict.judge import judge
from ottla.verdict.rule import Rule, Status
from tests.wire.broker import Broker

from .captures import CAPTURES, leaders
from .raw_clients import PLAYS, Stage
from .rules_page import PAGE, table


@pytest.fixture(scope="module")
def ottla() -> Iterator[Ottla]:
    with Ottla(clock="manual") as broker:
        with Client.to(broker.bootstrap) as client:
            client.transaction_coordinator("x")
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


def judged(stage: Stage, rule_id: str) -> Rule:
    (rule,) = [each for each in judge(stage.ottla.trace.events()) if each.rule_id == rule_id]
    return rule


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


@pytest.mark.parametrize("rule_id", CAPTURES)
def test_a_capture_shows_whether_a_client_obeys(rule_id: str) -> None:
    right, wrong = (judge(made().events) for made in CAPTURES[rule_id])
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
        "generation_id": member.generation_id + 1,
        "member_id": member.member_id,
    }
    for _ in range(2):
        producer.commit_offset(group, stage.wire.topic(), **stale)
        stage.later(1000)
    assert judged(stage, "stale-member-rejoins").status == Status.NOT_EXERCISED


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
    found = {rule.rule_id: rule.violations for rule in judge(capture.events)}
    assert found["data-to-leader"] == found["coordinator-looked-up"] == []

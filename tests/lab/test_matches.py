"""Each field of a match: a rule fires for a request that has it, and not for another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from ottla.client import Client, ErrorAnswer
from ottla.lab.rules.rule import CloseBefore, Match, RuleSpec, WrongRule
from ottla.lab.rules.rule_table import MOST_RULES, Faults
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla

TOPIC = "orders"
SIMPLE = {
    "api": ("List*", "Metadata"),
    "versions": ([4, 5], [0, 3]),
    "client_id": ("mine-?", "yours"),
    "principal": ("User:ANON*", "User:alice"),
    "listener": ("PLAINTEXT", "SSL"),
    "node_id": (1, 2),
    "connection": ("127.0.0.1:*-127.0.0.1:*", "10.*"),
}
"""Of a ListGroups 4 by the client mine-1 to node 1: what holds, and what does not."""
NAMED: dict[str, tuple[ApiKey, int, dict[str, Any], object, object]] = {
    "topic": (ApiKey.METADATA, 9, {"topics": [{"name": TOPIC}]}, "ord*", "bills"),
    "partition": (
        ApiKey.LIST_OFFSETS, 4,
        {"topics": [{"name": TOPIC, "partitions": [{"partition_index": 1, "timestamp": -1}]}]},
        1, 0,
    ),
    "transactional_id": (
        ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": ["shop"]}, "s*p", "bank",
    ),
    "producer_id": (
        ApiKey.END_TXN, 1,
        {"transactional_id": "shop", "producer_id": 7, "producer_epoch": 0, "committed": True},
        7, 8,
    ),
    "group": (ApiKey.DESCRIBE_GROUPS, 5, {"groups": ["readers"]}, "readers", "writers"),
    "member": (
        ApiKey.HEARTBEAT, 4,
        {"group_id": "readers", "generation_id": 1, "member_id": "m-1", "group_instance_id": None},
        "m-*", "n",
    ),
}  # fmt: skip
COUNTED: list[tuple[dict[str, Any], list[int]]] = [
    ({"nth": 3}, [3]),
    ({"every": 2}, [2, 4, 6]),
    ({"times": 2}, [1, 2]),
    ({"every": 2, "times": 2}, [2, 4]),
    ({"probability": 1.0}, [1, 2, 3, 4, 5, 6]),
    ({}, [1, 2, 3, 4, 5, 6]),
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(nodes=2, clock="manual") as started:
        started.create_topic(TOPIC, partitions=2)
        yield started


@pytest.fixture
def client(broker: Ottla) -> Iterator[Client]:
    with Client.to(broker.nodes[1].bootstrap, client_id="mine-1") as made:
        yield made
    broker.faults.clear()


def ask(client: Client, api_key: ApiKey, version: int, body: dict[str, Any]) -> None:
    with suppress(ErrorAnswer):  # whatever the answer is, the rule has seen the request
        client.ask(api_key, body, version=version)


def list_groups(client: Client) -> None:
    ask(client, ApiKey.LIST_GROUPS, 4, {"states_filter": []})


def test_each_field_has_a_test() -> None:
    counts = {name for given, _ in COUNTED for name in given} | {"after_ms", "seed"}
    assert set(Match.__struct_fields__) == {*SIMPLE, *NAMED, *counts}


@pytest.mark.parametrize("field", SIMPLE)
def test_a_rule_fires_for_a_request_of_its_connection(
    field: str, broker: Ottla, client: Client
) -> None:
    right, wrong = SIMPLE[field]
    fires, stays = (
        broker.faults.add("delay", ms=0, match={"api": "ListGroups", field: each}, goes_on=True)
        for each in (right, wrong)
    )
    list_groups(client)
    assert (fires.fired, stays.fired) == (1, 0)


@pytest.mark.parametrize("field", NAMED)
def test_a_rule_fires_for_a_request_that_names_it(
    field: str, broker: Ottla, client: Client
) -> None:
    api_key, version, body, right, wrong = NAMED[field]
    fires, stays = (
        broker.faults.add("delay", ms=0, match={field: each}, goes_on=True)
        for each in (right, wrong)
    )
    ask(client, api_key, version, body)
    assert (fires.fired, stays.fired) == (1, 0)
    list_groups(client)
    assert (fires.fired, fires.matched) == (1, 1)


@pytest.mark.parametrize(("given", "expected"), COUNTED)
def test_a_rule_fires_for_those_that_it_counts(
    given: dict[str, Any], expected: list[int], broker: Ottla, client: Client
) -> None:
    rule = broker.faults.add("delay", ms=0, match={"api": "ListGroups", **given})
    assert fired_at(rule, client, 6) == expected
    assert rule.matched == 6


def fired_at(rule: Any, client: Client, count: int) -> list[int]:
    found, before = [], 0
    for number in range(1, count + 1):
        list_groups(client)
        fired = rule.fired
        if fired > before:
            found.append(number)
        before = fired
    return found


def test_a_seed_chooses_the_same_requests_again(broker: Ottla, client: Client) -> None:
    chosen = []
    for seed in (1, 1, 2):
        match = {"api": "ListGroups", "probability": 0.5, "seed": seed}
        rule = broker.faults.add("delay", ms=0, match=match)
        chosen.append(fired_at(rule, client, 12))
        rule.remove()
    assert chosen[0] == chosen[1] != chosen[2]


def test_a_rule_fires_only_after_its_time(broker: Ottla, client: Client) -> None:
    rule = broker.faults.add("delay", ms=0, match={"api": "ListGroups", "after_ms": 60_000})
    list_groups(client)
    broker.clock.advance(ms=59_999)
    list_groups(client)
    assert (rule.fired, rule.matched) == (0, 0)
    broker.clock.advance(ms=1)
    list_groups(client)
    assert (rule.fired, rule.matched) == (1, 1)


def test_all_fields_must_hold(broker: Ottla, client: Client) -> None:
    match = {"api": "Metadata", "topic": TOPIC, "client_id": "yours"}
    rule = broker.faults.add("delay", ms=0, match=match)
    ask(client, ApiKey.METADATA, 9, {"topics": [{"name": TOPIC}]})
    assert rule.fired == 0


@pytest.mark.parametrize("goes_on", [False, True])
def test_the_first_rule_that_fires_acts_alone_unless_it_goes_on(
    goes_on: bool, broker: Ottla, client: Client
) -> None:
    match = {"api": "ListGroups"}
    waits = broker.faults.add("delay", ms=0, match=match | {"nth": 2}, goes_on=goes_on)
    then = broker.faults.add("delay", ms=0, match=match)
    list_groups(client)
    assert (waits.fired, then.fired) == (0, 1)
    list_groups(client)
    assert (waits.fired, then.fired) == (1, 2 if goes_on else 1)


def test_there_is_room_for_ten_thousand_rules() -> None:
    faults = Faults()
    spec = RuleSpec(action=CloseBefore(), match=Match(api="EndTxn"))
    for _ in range(MOST_RULES):
        faults.add(spec, 0)
    with pytest.raises(WrongRule, match="there are 10000 rules"):
        faults.add(spec, 0)
    assert faults.has((CloseBefore,))
    faults.remove(1)
    faults.add(spec, 0)
    assert faults.clear() == MOST_RULES
    assert not faults.has((CloseBefore,))

"""What looks like trouble and is none: slow heartbeats, rebalances, transactions that just end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.why import Explanation, Facts, Finding, Subject, collect, explain
from ottla.why.facts import GroupFacts, MemberFacts
from tests.wire.broker import Broker

from .situations import World


def findings(group: GroupFacts, patience_ms: int = 5000, *, named: bool = False) -> list[Finding]:
    """About the whole cluster, or about the group."""
    subject = Subject(group=group.group_id) if named else Subject()
    facts = Facts(subject, groups={group.group_id: group})
    return explain(facts, patience_ms=patience_ms)


def is_stuck(group: GroupFacts, patience_ms: int = 5000) -> bool:
    return any(each.is_stuck for each in findings(group, patience_ms))


@pytest.mark.parametrize(
    ("session_ms", "silent_ms", "is_silent"),
    [
        (6_000, 3_100, False),  # heartbeat.interval.ms is 3 s by default
        (6_000, 4_500, True),
        (10_000, 3_500, False),
        (10_000, 4_500, True),
        (45_000, 17_000, False),
        (45_000, 19_000, True),
        (2_000, 1_000, False),
        (2_000, 1_500, True),
    ],
)
def test_a_member_is_silent_if_its_heartbeat_is_late(
    session_ms: int, silent_ms: int, is_silent: bool
) -> None:
    left_ms = session_ms - silent_ms
    member = MemberFacts("m", assigned=(("t", 0),), session_ms=session_ms, session_left_ms=left_ms)
    assert is_stuck(GroupFacts("g", "Classic", "Stable", (member,))) is is_silent


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_a_rebalance_of_unknown_age_is_old_if_it_was_the_same_at_a_second_look(state: str) -> None:
    assert not is_stuck(GroupFacts("g", "Classic", state))
    assert is_stuck(GroupFacts("g", "Classic", state, is_old=True))
    assert is_stuck(GroupFacts("g", "Classic", state), patience_ms=0)


def test_a_group_that_is_deleted_while_the_cluster_is_asked_is_no_trouble() -> None:
    gone = GroupFacts("g", "Classic", "", error="GROUP_ID_NOT_FOUND")
    assert findings(gone) == []
    (found,) = findings(gone, named=True)
    assert found.situation == "group_unknown"


def test_a_group_without_a_right_to_describe_it_has_no_coordinator_that_is_away() -> None:
    hidden = GroupFacts("g", "Classic", "", error="GROUP_AUTHORIZATION_FAILED")
    (found,) = findings(hidden, named=True)
    assert (found.situation, found.is_stuck) == ("may_not_describe", False)


class Interrupted:
    """A client in whose requests something happens before the first one of an API."""

    def __init__(self, client: Client, api_key: ApiKey, happens: Callable[[], object]) -> None:
        self._client = client
        self._api_key = api_key
        self._happens: Callable[[], object] | None = happens

    def __getattr__(self, name: str) -> Any:  # Any: an attribute of the client
        return getattr(self._client, name)

    def ask(self, api_key: ApiKey, *arguments: Any, **keywords: Any) -> Any:  # Any: as Client.ask
        if api_key == self._api_key and self._happens is not None:
            self._happens()
            self._happens = None
        return self._client.ask(api_key, *arguments, **keywords)


def test_offsets_whose_transaction_ends_while_the_cluster_is_asked_are_not_pending(
    held_broker: Ottla,
) -> None:
    host, port = held_broker.bootstrap.split(":")
    wire = Broker((host, int(port)), "ends")
    World(wire)
    topic, group = wire.filled_topic(2), wire.fresh("g")
    wire.commit(group, topic, 1)
    producer = wire.init(wire.fresh("x"))
    producer.add_offsets(group)
    producer.commit_offset(group, topic, 2)

    def end() -> None:
        producer.end()
        producer.wait_ended()

    with Client.to(held_broker.bootstrap) as client:
        asked: Any = Interrupted(client, ApiKey.LIST_TRANSACTIONS, end)  # Any: stands for a Client
        facts = collect(asked, Subject(group=group))
    wire.close()
    assert facts.groups[group].unstable == frozenset()
    assert not facts.unasked
    assert "pending_offsets" not in {each.situation for each in Explanation.of(facts).findings}

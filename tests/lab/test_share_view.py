"""The lab shows what a share group has under way, and Kafka does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.client import Client
from ottla.client.admin.groups import coordinator_of
from ottla.testing import Ottla
from tests.wire.broker import Broker
from tests.wire.shares import ACCEPT, REJECT, RELEASE, acknowledged, shared_topic


@pytest.fixture
def ottla() -> Iterator[Ottla]:
    with Ottla(clock="manual") as broker:
        yield broker


@pytest.fixture
def wire(ottla: Ottla) -> Iterator[Broker]:
    host, port = ottla.bootstrap.split(":")
    with Client.to(ottla.bootstrap) as client:
        coordinator_of(client, "g")  # makes the topic of groups
    broker = Broker((host, int(port)), "share-view")
    yield broker
    broker.close()


def shown(ottla: Ottla, group: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ottla.lab().call("GET", f"/share-partitions?group={group}")[
        "partitions"
    ]
    return found


def ranges(ottla: Ottla, group: str) -> list[list[Any]]:
    names = ("first_offset", "last_offset", "state", "delivery_count")
    (partition,) = shown(ottla, group)
    return [[each[name] for name in names] for each in partition["records"]]


def test_each_record_has_its_state_its_deliveries_its_member_and_its_lock(
    ottla: Ottla, wire: Broker
) -> None:
    session, member = shared_topic(wire, 5)
    session.acquire(5)
    (partition,) = shown(ottla, session.group)
    (records,) = partition.pop("records")
    assert partition == {
        "group": session.group, "topic": session.topic, "partition": 0, "node_id": 1,
        "start_offset": 0, "end_offset": 5, "delivery_complete_count": 0,
    }  # fmt: skip
    assert records == {
        "first_offset": 0, "last_offset": 4, "state": "ACQUIRED", "delivery_count": 1,
        "member_id": member.member_id, "lock_ends_in_ms": 30_000,
    }  # fmt: skip
    session.acknowledge(acknowledged(1, 1, ACCEPT), acknowledged(2, 2, REJECT))
    session.acknowledge(acknowledged(3, 3, RELEASE))
    assert ranges(ottla, session.group) == [
        [0, 0, "ACQUIRED", 1], [1, 1, "ACKNOWLEDGED", 1], [2, 2, "ARCHIVED", 1],
        [3, 3, "AVAILABLE", 1], [4, 4, "ACQUIRED", 1],
    ]  # fmt: skip


def test_the_end_of_a_lock_is_seen(ottla: Ottla, wire: Broker) -> None:
    session, _ = shared_topic(wire, 2)
    session.acquire(2)
    ottla.clock.advance(ms=29_999)
    assert ranges(ottla, session.group) == [[0, 1, "ACQUIRED", 1]]
    assert shown(ottla, session.group)[0]["records"][0]["lock_ends_in_ms"] == 1
    ottla.clock.advance(ms=1)
    assert ranges(ottla, session.group) == [[0, 1, "AVAILABLE", 1]]


def test_groups_are_chosen_by_a_pattern(ottla: Ottla, wire: Broker) -> None:
    groups = []
    for _ in range(2):
        session, _ = shared_topic(wire, 1)
        session.acquire(1)
        groups.append(session.group)
    assert [each["group"] for each in shown(ottla, "*")] == sorted(groups)
    assert [each["group"] for each in shown(ottla, groups[1])] == [groups[1]]
    assert shown(ottla, "no-such-group") == []

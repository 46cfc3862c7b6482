"""Given states of share groups: what members and a restart make of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import BrokerFailed, Ottla


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla() as started:
        yield started


@pytest.mark.parametrize("restarts", [False, True])
def test_records_at_their_last_delivery_are_archived_by_a_release(
    broker: Ottla, restarts: bool
) -> None:
    given = broker.given("last_delivery", group="queue", topic="orders", records=2)
    assert (given["delivery_count"], given["last_offset"]) == (4, 1)
    if restarts:
        broker.restart()
    group = broker.share_group("queue")
    found = group.read("orders", until=2, how="release")
    assert [each.delivery_count for each in found] == [5, 5]
    assert group.lag == {("orders", 0): 0}
    broker.produce("orders", ["later"])
    assert [each.offset for each in group.read("orders", until=1)] == [2]


def test_records_at_their_last_delivery_may_be_accepted(broker: Ottla) -> None:
    broker.given("last_delivery", group="queue", topic="orders", records=1)
    (found,) = broker.share_group("queue").read("orders", until=1)
    assert found.delivery_count == 5
    assert broker.share_group("queue").lag == {("orders", 0): 0}


def test_the_limit_is_that_of_the_group(broker: Ottla) -> None:
    broker.share_group("queue").configure({"share.delivery.count.limit": "2"})
    given = broker.given("last_delivery", group="queue", topic="orders")
    assert given["delivery_count"] == 1


def test_a_group_of_another_type_is_refused(broker: Ottla) -> None:
    broker.given("offset_out_of_range", group="readers", topic="orders")
    with pytest.raises(BrokerFailed, match="GROUP_ID_NOT_FOUND: Group readers is not a share"):
        broker.given("last_delivery", group="readers", topic="orders")

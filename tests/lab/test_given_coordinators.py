"""Given states of transactional ids and groups: what clients and a restart make of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ottla.client import Client
from ottla.client.admin.groups import describe_group
from ottla.testing import BrokerFailed, Ottla


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla(settings={"group.initial.rebalance.delay.ms": "0"}) as started:
        yield started


def known(broker: Ottla, transactional_id: str) -> tuple[str, int, int]:
    """State, producer id and epoch of a transactional id."""
    (one,) = (each for each in broker.transactions() if each.transactional_id == transactional_id)
    return one.state, one.producer_id, one.producer_epoch


def begin(broker: Ottla, transactional_id: str) -> None:
    """Call InitProducerId as a client does."""
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id}
    Producer(settings).init_transactions(10)


@pytest.mark.parametrize("epoch", [32_766, 32_767])
def test_a_producer_with_the_last_epoch_gets_a_new_id(broker: Ottla, epoch: int) -> None:
    given = broker.given("producer_epoch", transactional_id="shop", epoch=epoch)
    broker.restart()
    assert known(broker, "shop") == ("Empty", given["producer_id"], epoch)
    begin(broker, "shop")
    _, producer_id, new_epoch = known(broker, "shop")
    assert producer_id != given["producer_id"]
    assert new_epoch == 0


def test_a_producer_before_the_last_epoch_keeps_its_id(broker: Ottla) -> None:
    given = broker.given("producer_epoch", transactional_id="shop", epoch=32_765)
    begin(broker, "shop")
    assert known(broker, "shop") == ("Empty", given["producer_id"], 32_766)


def test_a_new_block_of_producer_ids_begins_when_the_old_one_ends(broker: Ottla) -> None:
    given = broker.given("producer_ids_at_block_end", left=1)
    for name in ("last", "first"):
        begin(broker, name)
    assert known(broker, "last")[1] == given["last_producer_id"] + 1
    assert known(broker, "first")[1] % 1000 == 0


def test_the_transaction_of_a_dead_producer_stays_open(broker: Ottla) -> None:
    broker.given("ongoing_transaction", topic="orders", transactional_id="shop")
    broker.restart()
    assert known(broker, "shop")[0] == "Ongoing"
    assert broker.read("orders") == []
    begin(broker, "shop")
    assert known(broker, "shop")[0] == "Empty"
    broker.produce("orders", ["after"])
    assert len(broker.read("orders")) == 1


@pytest.mark.parametrize("commit", [True, False])
def test_markers_wait_for_a_leader(broker: Ottla, commit: bool) -> None:
    state = "Commit" if commit else "Abort"
    broker.given("prepared_commit", topic="orders", transactional_id="shop", commit=commit)
    assert known(broker, "shop")[0] == f"Prepare{state}"
    broker.move_leader("orders", 0, 1)
    broker.wait_for(lambda: known(broker, "shop")[0] == f"Complete{state}")
    assert len(broker.read("orders")) == (3 if commit else 0)


def test_a_prepared_commit_completes_when_the_leader_returns_after_a_kill(broker: Ottla) -> None:
    broker.given("prepared_commit", topic="orders", transactional_id="shop")
    broker.kill()
    broker.start()
    broker.wait_for(lambda: known(broker, "shop")[0] == "CompleteCommit")
    assert len(broker.read("orders")) == 3


def test_a_committed_offset_beyond_the_end_is_reset(broker: Ottla) -> None:
    given = broker.given("offset_out_of_range", topic="orders", group="readers")
    broker.produce("orders", ["only"])
    broker.restart()
    assert broker.offsets("readers") == {("orders", 0): given["offset"]}
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "readers",
        "auto.offset.reset": "error",
    }
    reader = Consumer(settings)
    reader.assign([TopicPartition("orders", 0)])
    message = reader.poll(10)
    assert message is not None
    error = message.error()
    assert error is not None
    assert error.code() == KafkaError._AUTO_OFFSET_RESET
    reader.close()


def test_a_group_waits_for_a_member_that_does_not_rejoin() -> None:
    with Ottla(clock="manual") as broker:
        broker.given("preparing_rebalance", topic="orders", group="readers")
        assert group(broker) == ("PreparingRebalance", 2)
        broker.clock.advance(minutes=4)
        assert group(broker) == ("PreparingRebalance", 2)
        broker.clock.advance(minutes=2)
        assert group(broker)[0] != "PreparingRebalance"


def test_a_group_with_members_is_not_given_a_rebalance() -> None:
    with Ottla(clock="manual") as broker:
        broker.given("preparing_rebalance", topic="orders", group="readers")
        with pytest.raises(BrokerFailed, match="group readers has members"):
            broker.given("preparing_rebalance", topic="orders", group="readers")


def group(broker: Ottla) -> tuple[str, int]:
    """State and number of members of the group."""
    with Client.to(broker.bootstrap_servers) as client:
        found = describe_group(client, "readers")
    return found.state, len(found.members)


@pytest.mark.parametrize(
    ("state", "parameters", "why"),
    [
        ("ends_in_markers", {"topic": "t"}, "is no state; states: abort_marker_without_data, "),
        ("ends_in_marker", {}, "missing required field `topic`; parameters: topic, partition"),
        ("ends_in_marker", {"topic": "t", "x": 1}, "unknown field `x`; parameters: topic, "),
        ("ends_in_marker", {"topic": "t", "records": "3"}, "records: Expected `int`, got `str`"),
        ("ends_in_marker", {"topic": "__transaction_state"}, "internal topics are given no state"),
        ("ends_in_marker", {"topic": "a b"}, "topic a b cannot be made"),
        ("ends_in_marker", {"topic": "single", "partition": 1}, "single-1 does not exist"),
        ("ends_in_marker", {"topic": "wide", "partition": 2**31 - 1}, "at most 1000 partitions"),
        ("producer_ids_at_block_end", {"node_id": 7}, "node 7 does not run; nodes: 1"),
        ("log_starts_at", {"topic": "single", "offset": 0}, "single-0 ends at offset 1 already"),
    ],
)
def test_a_wrong_parameter_is_refused_with_a_sentence(
    broker: Ottla, state: str, parameters: dict[str, object], why: str
) -> None:
    broker.produce("single", ["one"])
    with pytest.raises(BrokerFailed) as refused:
        broker.given(state, **parameters)
    assert why in str(refused.value)


@pytest.mark.parametrize("line", ["given", "given x", "given []", 'given {"state": 1}'])
def test_an_order_without_a_state_is_refused(broker: Ottla, line: str) -> None:
    with pytest.raises(BrokerFailed, match="a JSON object was expected"):
        broker.order(line)

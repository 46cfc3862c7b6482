"""What the broker looks for only now and then is done when an advance over its deadline returns.

By the machine's clock a transaction is aborted up to ten seconds after its timeout, an offset is
removed up to ten minutes after its retention, and so on. A test that lets a deadline pass would not
see what it waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.support import Support, support_of
from ottla.client import Client, NoAnswer
from ottla.client.admin.offsets import EARLIEST, partition_offsets
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.testing import Ottla

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class Check(NamedTuple):
    """Something that the broker looks for at an interval.

    Attributes:
        interval: the setting of the interval, or what says it.
        deadline_ms: when it is due.
        begin: brings it about; returns a function that says whether it is still to be done.
    """

    interval: str
    deadline_ms: int
    begin: Callable[[Ottla], Callable[[], object]]


def _transaction(broker: Ottla) -> Callable[[], object]:
    broker.create_topic("orders")
    broker.given(
        "ongoing_transaction", topic="orders", transactional_id="shop", timeout_ms=15 * MINUTE_MS
    )
    return lambda: broker.transactions()[0].state == "Ongoing"


def _transactional_id(broker: Ottla) -> Callable[[], object]:
    broker.produce("orders", ["a"], transactional_id="shop")
    return broker.transactions


def _offset(broker: Ottla) -> Callable[[], object]:
    broker.create_topic("orders", configs={"retention.ms": "-1"})
    broker.given("offset_out_of_range", group="clerk", topic="orders")
    return lambda: broker.offsets("clerk")


def _produced(client: Client, records: bytes) -> None:
    parts = [{"index": 0, "records": records}]
    topics = [{"name": "orders", "partition_data": parts}]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": topics}
    answer = client.ask(ApiKey.PRODUCE, body)
    assert answer.responses[0].partition_responses[0].error_code == 0


def _producer_id(broker: Ottla) -> Callable[[], object]:
    broker.create_topic("orders", configs={"message.timestamp.type": "LogAppendTime"})
    with Client.to(broker.bootstrap) as client:
        begun = {"transactional_id": None, "transaction_timeout_ms": MINUTE_MS}
        begun |= {"producer_id": -1, "producer_epoch": -1}
        made = client.ask(ApiKey.INIT_PRODUCER_ID, begun)
        records = build(
            [(None, b"a")],
            timestamp_ms=broker.clock.now_ms(),
            producer_id=made.producer_id,
            producer_epoch=made.producer_epoch,
            base_sequence=0,
        )
        _produced(client, bytes(records))

    def known() -> object:
        topics = [{"name": "orders", "partition_indexes": [0]}]
        with Client.to(broker.bootstrap) as client:
            answer = client.ask(ApiKey.DESCRIBE_PRODUCERS, {"topics": topics})
        return answer.topics[0].partitions[0].active_producers

    return known


def _old_record(broker: Ottla) -> Callable[[], object]:
    configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": str(MINUTE_MS)}
    broker.create_topic("orders", configs=configs)
    broker.produce("orders", ["a"])

    def stays() -> bool:
        with Client.to(broker.bootstrap) as client:
            return partition_offsets(client, "orders", {0: EARLIEST})[0] == 0

    return stays


def _removed_file(broker: Ottla) -> Callable[[], object]:
    """The files of a segment that retention removes stay for `file.delete.delay.ms`."""
    stays = _old_record(broker)
    broker.clock.advance(ms=MINUTE_MS + 1)
    assert not stays()
    return lambda: list(broker.data_dir.rglob("*.deleted"))


def _idle_connection(broker: Ottla) -> Callable[[], object]:
    client = Client.to(broker.bootstrap)
    client.metadata([])
    began_ms = broker.clock.now_ms()

    def is_open() -> bool:
        if broker.clock.now_ms() - began_ms < 10 * MINUTE_MS:
            return True  # a request would begin its time again
        try:
            client.metadata([])
        except NoAnswer:
            return False
        return True

    return is_open


CHECKS = {
    "the timeout of a transaction": Check(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", 15 * MINUTE_MS, _transaction
    ),
    "the expiry of a transactional id": Check(
        "transaction.remove.expired.transaction.cleanup.interval.ms", 7 * DAY_MS, _transactional_id
    ),
    "the retention of offsets": Check("offsets.retention.check.interval.ms", 7 * DAY_MS, _offset),
    "the expiry of a producer id": Check(
        "producer.id.expiration.check.interval.ms", DAY_MS, _producer_id
    ),
    "the retention of records": Check(
        "log.retention.check.interval.ms", MINUTE_MS + 1, _old_record
    ),
    "the files of removed segments": Check("a constant", MINUTE_MS, _removed_file),
    "an idle connection": Check("a part of the limit", 10 * MINUTE_MS, _idle_connection),
}
# Intervals of checks for which there is no deadline, or which another test has.
OTHER_INTERVALS = {
    "delegation.token.expiry.check.interval.ms": "tests/lab/test_clock_of_lifetimes.py",
    "group.consumer.regex.refresh.interval.ms": "the refresh itself is what is due",
    **dict.fromkeys(
        (
            f"group.{kind}.{limit}assignment.interval.ms"
            for kind in ("consumer", "share", "streams")
            for limit in ("", "min.", "max.")
        ),
        "the time between two assignments, or a limit of it: tests/coordinator",
    ),
    "group.share.initialize.retry.interval.ms": "tests/broker/runtime",
    "group.streams.min.task.offset.interval.ms": "a limit of an interval of clients",
    "group.streams.task.offset.interval.ms": "an interval of clients",
    "leader.imbalance.check.interval.seconds": "an imbalance has no deadline",
    "log.flush.offset.checkpoint.interval.ms": "real time: a checkpoint decides nothing",
    "log.flush.scheduler.interval.ms": "a flush changes nothing that a client sees",
    "share.coordinator.cold.partition.snapshot.interval.ms": "a snapshot changes no answer",
    "share.coordinator.state.topic.prune.interval.ms": "a client sees no pruning",
    "metadata.log.max.snapshot.interval.ms": "the snapshot itself is what is due",
}


@pytest.mark.parametrize("name", CHECKS)
def test_it_is_done_when_an_advance_over_its_deadline_returns(name: str) -> None:
    check = CHECKS[name]
    with Ottla(clock="manual") as broker:
        is_due = check.begin(broker)
        assert is_due()
        broker.clock.advance(ms=check.deadline_ms - 1)
        assert is_due(), "it was done before its deadline"
        broker.clock.advance(ms=1)
        assert not is_due()


def test_an_interval_that_is_set_applies_to_transactions() -> None:
    """The time between a timeout and its check can be tested, too."""
    interval = {CHECKS["the timeout of a transaction"].interval: "10000"}
    begin_ms = 1_800_000_000_000  # a multiple of the interval
    with Ottla(clock=f"manual:{begin_ms}", settings=interval) as broker:
        broker.clock.advance(ms=1)
        is_due = _transaction(broker)
        broker.clock.advance(minutes=15)
        assert is_due()
        broker.clock.advance(seconds=10)
        assert not is_due()


def test_each_interval_of_the_settings_is_held_against_the_clock() -> None:
    """A setting `*.interval.ms` that works is the interval of a check: here, or with a reason."""
    apart = ("heartbeat", "log.flush.interval")  # of clients; how long records may wait
    found = {
        name
        for name in BROKER_SETTINGS
        if support_of(BROKER_SETTINGS[name]) is Support.WORKS
        and name.endswith((".interval.ms", ".interval.seconds"))
        and not any(each in name for each in apart)
    }
    tested = {check.interval for check in CHECKS.values()}
    assert found - tested == set(OTHER_INTERVALS)

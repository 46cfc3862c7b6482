"""Lifetimes, quotas and expiry by a clock that a test moves, forward and back, with clients."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from ottla.client import Client, NoAnswer
from ottla.client.admin.configs import alter_quotas
from ottla.client.security import ClientSecurity
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.testing import Ottla

LOGIN = {"alice": "secret"}
SECURITY = ClientSecurity(login=("alice", "secret"))
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
TRANSACTION_MS = 15 * MINUTE_MS
STAYING = {"connections.max.idle.ms": "-1"}
"""Connections of librdkafka that are closed take it a second."""
BY_BROKER = {"message.timestamp.type": "LogAppendTime"}


def logged_in(broker: Ottla) -> Client:
    return Client.to(broker.bootstrap, security=SECURITY, timeout_s=30)


@pytest.fixture
def with_logins() -> Iterator[Ottla]:
    settings = {
        "connections.max.reauth.ms": str(5 * MINUTE_MS),
        "delegation.token.secret.key": "key",
    }
    with Ottla(clock="manual", security="SASL_PLAINTEXT", users=LOGIN, settings=settings) as broker:
        yield broker


@pytest.mark.parametrize("back_ms", [0, HOUR_MS])
def test_a_session_ends_after_its_lifetime(with_logins: Ottla, back_ms: int) -> None:
    """A correction of the clock neither prolongs it nor ends it."""
    with logged_in(with_logins) as client:
        with_logins.clock.advance(ms=-back_ms)
        with_logins.clock.advance(minutes=4, seconds=59)
        client.metadata([])
        with_logins.clock.advance(seconds=2)
        with pytest.raises(NoAnswer):
            client.metadata([])


def test_a_client_logs_in_again_after_its_lifetime(with_logins: Ottla) -> None:
    with_logins.create_topic("orders")
    producer = Producer(with_logins.client_settings("confluent") | {"log_level": 0})
    for value in (b"first", b"second", b"third"):
        producer.produce("orders", value)
        assert producer.flush(30) == 0
        with_logins.clock.advance(minutes=6)
    values = sorted(record.value or b"" for record in with_logins.read("orders"))
    assert values == [b"first", b"second", b"third"]


def test_a_delegation_token_expires(with_logins: Ottla) -> None:
    def tokens() -> list[str]:
        with logged_in(with_logins) as client:
            found = client.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, {"owners": None}, version=3)
        assert found.error_code == 0
        return [token.token_id for token in found.tokens]

    asked: dict[str, Any] = {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": [],
    }
    with logged_in(with_logins) as client:
        body = asked | {"max_lifetime_ms": 3 * HOUR_MS}
        token = client.ask(ApiKey.CREATE_DELEGATION_TOKEN, body, version=3)
    assert token.error_code == 0
    assert token.expiry_timestamp_ms == with_logins.clock.now_ms() + 3 * HOUR_MS
    with_logins.clock.advance(hours=-2)
    with_logins.clock.advance(hours=4, minutes=59)
    assert tokens() == [token.token_id]
    with_logins.clock.advance(minutes=1, ms=1)
    assert tokens() == []


def produced(
    broker: Ottla, client: Client, size: int = 1, producer_id: int = -1, epoch: int = -1
) -> Any:
    """The answer to a Produce of one record."""
    records = build(
        [(None, bytes(size))],
        timestamp_ms=broker.clock.now_ms(),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0 if producer_id >= 0 else -1,
    )
    parts = [{"index": 0, "records": bytes(records)}]
    topics = [{"name": "orders", "partition_data": parts}]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": topics}
    answer = client.ask(ApiKey.PRODUCE, body)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return answer


@pytest.mark.parametrize("back_ms", [0, HOUR_MS])
def test_an_advance_ends_a_throttling(back_ms: int) -> None:
    """A client that is throttled for minutes is served again at once."""
    with (
        Ottla(clock="manual", settings=STAYING) as broker,
        Client.to(broker.bootstrap, timeout_s=30) as client,
    ):
        broker.create_topic("orders")
        alter_quotas(client, {"client-id": "ottla"}, {"producer_byte_rate": 1000.0})
        assert produced(broker, client, 500_000).throttle_time_ms > 2 * MINUTE_MS
        broker.clock.advance(ms=-back_ms)
        broker.clock.advance(minutes=15)
        assert produced(broker, client).throttle_time_ms == 0


def test_a_producer_id_expires() -> None:
    with Ottla(clock="manual") as broker, Client.to(broker.bootstrap) as client:
        broker.create_topic("orders", configs=BY_BROKER)
        begun = {"transactional_id": None, "transaction_timeout_ms": MINUTE_MS}
        begun |= {"producer_id": -1, "producer_epoch": -1}
        made = client.ask(ApiKey.INIT_PRODUCER_ID, begun)
        produced(broker, client, producer_id=made.producer_id, epoch=made.producer_epoch)

        def known() -> list[int]:
            topics = [{"name": "orders", "partition_indexes": [0]}]
            with Client.to(broker.bootstrap) as asking:
                answer = asking.ask(ApiKey.DESCRIBE_PRODUCERS, {"topics": topics})
            (partition,) = answer.topics[0].partitions
            return [each.producer_id for each in partition.active_producers]

        broker.clock.advance(hours=23)
        assert known() == [made.producer_id]
        broker.clock.advance(hours=-12)
        broker.clock.advance(hours=12)
        assert known() == [made.producer_id]
        broker.clock.advance(hours=2)
        assert known() == []


class Work:
    """A client with transactions beside a clock that moves, and what must be true of it."""

    def __init__(self, broker: Ottla, seed: int) -> None:
        self._broker = broker
        self._random = Random(seed)
        self._producer: Producer | None = None
        self._now_ms = broker.clock.now_ms()
        self._count = 0
        self.committed: list[bytes] = []

    def _step(self, most_ms: int) -> int:
        """Move the clock by chance, back too; return by how much."""
        chosen = self._random
        step_ms = chosen.randrange(1, most_ms)
        if chosen.random() < 0.4:
            step_ms = -step_ms
        self._now_ms += step_ms
        assert self._broker.clock.advance(ms=step_ms) == self._now_ms
        return step_ms

    def transaction(self) -> None:
        """A transaction with steps in it; it is aborted once they exceed its timeout."""
        if self._producer is None:
            settings: dict[str, Any] = {
                "bootstrap.servers": self._broker.bootstrap_servers, "log_level": 0,
                "transactional.id": "shop", "transaction.timeout.ms": TRANSACTION_MS,
            }  # fmt: skip
            self._producer = Producer(settings)
            self._producer.init_transactions(30)
        self._count += 1
        value = b"%d" % self._count
        self._producer.begin_transaction()
        self._producer.produce("orders", value)
        assert self._producer.flush(30) == 0
        open_ms = longest_ms = 0
        for _ in range(self._random.randrange(3)):
            open_ms += self._step(20 * MINUTE_MS)
            longest_ms = max(longest_ms, open_ms)
            if longest_ms >= TRANSACTION_MS:
                break
        (known,) = self._broker.transactions()
        assert known.state == ("Ongoing" if longest_ms < TRANSACTION_MS else "CompleteAbort")
        if known.state == "Ongoing":
            self._producer.commit_transaction(30)
            self.committed.append(value)
            return
        with pytest.raises(KafkaException):
            self._producer.commit_transaction(30)
        self._producer = None

    def pause(self) -> None:
        """A step between two transactions."""
        self._step(30 * MINUTE_MS)


@pytest.mark.parametrize("seed", range(2))
def test_a_client_works_while_the_clock_jumps(seed: int) -> None:
    """No jump loses a committed record, shows an aborted one, or keeps a transaction open."""
    with Ottla(clock="manual", settings=STAYING) as broker:
        broker.create_topic("orders", configs=BY_BROKER | {"retention.ms": "-1"})
        work = Work(broker, seed)
        for _ in range(6):
            work.transaction()
            work.pause()
        assert [record.value for record in broker.read("orders")] == work.committed
        assert broker.transactions()[0].state in ("CompleteCommit", "CompleteAbort")

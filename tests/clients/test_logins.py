"""Stock clients log in by every mechanism, are authorized by name, and authenticate again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, errors
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)  # fmt: skip
from kafka import KafkaConsumer, KafkaProducer

from ottla.testing import running_broker
from tests.secured_clients import asynchronous, librdkafka, pure_python
from tests.secured_clients.job import Job
from tests.security.sasl_listener import SETTINGS
from tests.wire.client import Connection
from tests.wire.conftest import address_of

REAUTH_MS = 1500
BROKER = SETTINGS | {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "group.initial.rebalance.delay.ms": "0",
    "listener.name.saslp.connections.max.reauth.ms": str(REAUTH_MS),
    "listener.name.saslp.plain.connections.max.reauth.ms": str(REAUTH_MS),
}
PLAIN, ADMIN = ("PLAIN", "alice", "secret"), ("PLAIN", "admin", "x")
LOGINS = [
    PLAIN, ("SCRAM-SHA-256", "scram", "pencil"), ("SCRAM-SHA-512", "scram", "pencil"),
    ("OAUTHBEARER", "olga", ""),
]  # fmt: skip
Login = tuple[str, str, str]


def job(bootstrap: str, login: Login) -> Job:
    """A connection, of which each client of tests/secured_clients has settings."""
    return Job(bootstrap, "SASL_PLAINTEXT", *login, authority="", key="", topic="", seconds=0)


def confluent(bootstrap: str, login: Login, **others: Any) -> dict[str, Any]:
    return librdkafka.settings(job(bootstrap, login)) | others


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """HOST:PORT of a broker with a SASL listener; its users may write and read orders."""
    with running_broker(settings=BROKER) as broker:
        admin = AdminClient(confluent(broker.bootstrap, ADMIN))
        upsertions = [
            UserScramCredentialUpsertion("scram", ScramCredentialInfo(mechanism, 4096), b"pencil")
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for upsertion in upsertions:
            for done in admin.alter_user_scram_credentials([upsertion]).values():
                done.result(10)
        for made in admin.create_topics([NewTopic("orders", 1)]).values():
            made.result(10)
        rights = []
        for name in ("alice", "scram", "olga"):
            for kind, resource, operation in (
                (ResourceType.TOPIC, "orders", AclOperation.WRITE),
                (ResourceType.TOPIC, "orders", AclOperation.READ),
                (ResourceType.GROUP, "g-", AclOperation.READ),
                (ResourceType.TRANSACTIONAL_ID, "t-", AclOperation.WRITE),
            ):
                prefix = (kind, resource, ResourcePatternType.PREFIXED)
                user = f"User:{name}"
                rights.append(AclBinding(*prefix, user, "*", operation, AclPermissionType.ALLOW))
        for done in admin.create_acls(rights).values():
            done.result(10)
        yield broker.bootstrap


@pytest.mark.parametrize("login", LOGINS, ids=lambda login: str(login[0]))
def test_librdkafka_runs_a_transaction_and_reads_it(bootstrap: str, login: Login) -> None:
    value = f"by {login[0]}".encode()
    producer = Producer(confluent(bootstrap, login, **{"transactional.id": "t-1"}))
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", value)
    producer.commit_transaction(10)
    group = {"group.id": f"g-{login[0]}", "auto.offset.reset": "earliest"}
    consumer = Consumer(confluent(bootstrap, login, **group))
    consumer.subscribe(["orders"])
    found: list[bytes | None] = []
    while value not in found:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        found.append(message.value())
    consumer.close()


@pytest.mark.parametrize("login", LOGINS, ids=lambda login: str(login[0]))
def test_kafka_python_writes_and_reads(bootstrap: str, login: Login) -> None:
    settings = pure_python.settings(job(bootstrap, login))
    producer = KafkaProducer(**settings)
    sent = producer.send("orders", b"kafka-python").get(10)
    producer.close()
    consumer = KafkaConsumer("orders", auto_offset_reset="earliest", **settings)
    assert any(record.offset == sent.offset for record in consumer)
    consumer.close()


@pytest.mark.parametrize("login", LOGINS, ids=lambda login: str(login[0]))
async def test_aiokafka_writes(bootstrap: str, login: Login) -> None:
    producer = AIOKafkaProducer(**asynchronous.settings(job(bootstrap, login)))
    await producer.start()
    try:
        assert (await producer.send_and_wait("orders", b"aiokafka")).topic == "orders"
    finally:
        await producer.stop()


def test_a_user_has_the_rights_of_its_own_name(bootstrap: str) -> None:
    results: list[KafkaError | None] = []
    producer = Producer(confluent(bootstrap, ("PLAIN", "bob", "hidden")))
    producer.produce("orders", b"no", on_delivery=lambda error, _: results.append(error))
    producer.flush(10)
    assert [error.code() for error in results if error] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_librdkafka_is_refused_topics_groups_and_transactional_ids(bootstrap: str) -> None:
    results: list[KafkaError | None] = []
    producer = Producer(confluent(bootstrap, PLAIN))
    producer.produce("secrets", b"no", on_delivery=lambda error, _: results.append(error))
    assert producer.flush(10) == 0
    assert [error.code() for error in results if error] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    for topic, group, code in (
        ("secrets", "g-refused", KafkaError.TOPIC_AUTHORIZATION_FAILED),
        ("orders", "others", KafkaError.GROUP_AUTHORIZATION_FAILED),
    ):
        consumer = Consumer(confluent(bootstrap, PLAIN, **{"group.id": group}))
        consumer.subscribe([topic])
        message = consumer.poll(10)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == code
        consumer.close()
    transactional = Producer(confluent(bootstrap, PLAIN, **{"transactional.id": "others"}))
    with pytest.raises(KafkaException) as refused:
        transactional.init_transactions(10)
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_aiokafka_is_refused_topics_groups_and_transactional_ids(bootstrap: str) -> None:
    settings = asynchronous.settings(job(bootstrap, PLAIN))
    producer = AIOKafkaProducer(**settings)
    await producer.start()
    try:
        with pytest.raises(errors.TopicAuthorizationFailedError, match="secrets"):
            await producer.send_and_wait("secrets", b"no")
    finally:
        await producer.stop()
    for topic, group, error in (
        ("secrets", "g-refused", errors.TopicAuthorizationFailedError),
        ("orders", "others", errors.GroupAuthorizationFailedError),
    ):
        consumer = AIOKafkaConsumer(topic, group_id=group, **settings)
        with pytest.raises(error):
            await read_one(consumer)
    transactional = AIOKafkaProducer(transactional_id="others", **settings)
    try:
        with pytest.raises(errors.TransactionalIdAuthorizationFailed):
            await transactional.start()
    finally:
        await transactional.stop()


async def read_one(consumer: AIOKafkaConsumer) -> None:
    async with asyncio.timeout(20):
        try:
            await consumer.start()
            await consumer.getone()
        finally:
            await consumer.stop()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_an_authentication_error(bootstrap: str, mechanism: str) -> None:
    found: list[KafkaError] = []
    settings = confluent(bootstrap, (mechanism, "alice", "wrong"), error_cb=found.append)
    client = Producer(settings)
    while not any(error.code() == KafkaError._AUTHENTICATION for error in found):
        assert len(found) < 10
        client.poll(5)


def test_a_producer_authenticates_again_while_it_sends(bootstrap: str) -> None:
    producer = Producer(confluent(bootstrap, PLAIN, **{"linger.ms": 1}))
    results: list[KafkaError | None] = []
    ends, sent = time.monotonic() + 2.5 * REAUTH_MS / 1000, 0
    while time.monotonic() < ends:
        producer.produce("orders", b"x" * 100, on_delivery=lambda error, _: results.append(error))
        producer.poll(0.001)
        sent += 1
    assert producer.flush(10) == 0
    assert results == [None] * sent
    assert sent > 100


def test_a_quota_of_a_user_slows_down_no_other_user(bootstrap: str) -> None:
    connection = Connection(address_of(bootstrap))
    connection.call("SaslHandshake", 1, {"mechanism": "PLAIN"})
    connection.call("SaslAuthenticate", 2, {"auth_bytes": b"\0admin\0x"})
    quota = {
        "entity": [{"entity_type": "user", "entity_name": "alice"}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
    }
    connection.call("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
    waits: dict[str, list[float]] = {}
    for login in (PLAIN, ("SCRAM-SHA-256", "scram", "pencil")):
        own = waits[login[1]] = []
        throttled = {"throttle_cb": lambda event, own=own: own.append(event.throttle_time)}
        producer = Producer(confluent(bootstrap, login, **throttled))
        producer.produce("orders", bytes(12_000))
        assert producer.flush(10) == 0
        producer.poll(0)
    quota["ops"][0]["remove"] = True  # type: ignore[index]  # another type would fail the test
    connection.call("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
    connection.close()
    assert waits["scram"] == []
    assert 2 < max(waits["alice"]) < 3

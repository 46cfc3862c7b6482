"""Confluent's client with ACLs, credentials and quotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from ottla.testing import running_broker

from ..wire.client import Connection
from ..wire.conftest import address_of
from .conftest import SETTINGS

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture
def guarded() -> Iterator[str]:
    """HOST:PORT of a broker with an authorizer that allows operations without ACLs."""
    with running_broker(settings=SETTINGS | AUTHORIZER) as broker:
        yield broker.bootstrap


def acl(kind: Any, name: str, principal: str, operation: Any, allow: Any) -> Any:
    return AclBinding(kind, name, ResourcePatternType.LITERAL, principal, "*", operation, allow)


def test_a_denied_topic_is_readable_after_the_acl_is_deleted(guarded: str) -> None:
    admin = AdminClient({"bootstrap.servers": guarded})
    for made in admin.create_topics([NewTopic("orders", 1)]).values():
        made.result(10)
    producer = Producer({"bootstrap.servers": guarded})
    producer.produce("orders", b"a broom")
    assert producer.flush(10) == 0

    denial = acl(
        ResourceType.TOPIC,
        "orders",
        "User:*",
        AclOperation.READ,
        AclPermissionType.DENY,
    )
    for made in admin.create_acls([denial]).values():
        made.result(10)
    assert error_of_reading(guarded) == KafkaError.TOPIC_AUTHORIZATION_FAILED

    every = every_acl()
    assert admin.describe_acls(every).result(10) == [denial]
    for gone in admin.delete_acls([every]).values():
        assert gone.result(10) == [denial]
    assert error_of_reading(guarded) is None


def every_acl() -> Any:
    anything: Any = None
    return AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def error_of_reading(bootstrap: str) -> int | None:
    """The error code that a new consumer of the topic gets; None if it gets the record."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "clerk", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe(["orders"])
        for _ in range(20):
            message = consumer.poll(1)
            if message is not None:
                error = message.error()
                return None if error is None else error.code()
    finally:
        consumer.close()
    pytest.fail("neither a record nor an error")


def test_credentials_are_stored_described_and_deleted(bootstrap: str, name: str) -> None:
    admin: Any = AdminClient({"bootstrap.servers": bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    wanted = UserScramCredentialUpsertion(name, info, b"secret", b"salt")
    for altered in admin.alter_user_scram_credentials([wanted]).values():
        altered.result(10)
    (told,) = admin.describe_user_scram_credentials([name]).values()
    (credential,) = told.result(10).scram_credential_infos
    assert credential.mechanism == ScramMechanism.SCRAM_SHA_256
    assert credential.iterations == 8192
    gone = UserScramCredentialDeletion(name, ScramMechanism.SCRAM_SHA_256)
    for altered in admin.alter_user_scram_credentials([gone]).values():
        altered.result(10)
    (told,) = admin.describe_user_scram_credentials([name]).values()
    with pytest.raises(KafkaException) as missing:
        told.result(10)
    assert missing.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND


def test_a_producer_beyond_its_quota_gets_a_throttle_time(
    bootstrap: str, topic: str, name: str
) -> None:
    connection = Connection(address_of(bootstrap))
    quota = {
        "entity": [{"entity_type": "client-id", "entity_name": name}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
    }
    connection.call("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
    waits: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": name,
            "throttle_cb": lambda event: waits.append(event.throttle_time),
        }
    )
    producer.produce(topic, bytes(12_000))
    assert producer.flush(10) == 0
    producer.poll(0)
    quota["ops"][0]["remove"] = True  # type: ignore[index]  # another type would fail the test
    connection.call("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
    connection.close()
    assert waits
    assert 2 < max(waits) < 3

"""A secured broker in one line, and the settings of its clients."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaProducer

from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.properties import read_properties
from ottla.broker.settings.sasl import login_module
from ottla.client import Client, NoAnswer
from ottla.secured import broker_settings, client_settings, properties_of
from ottla.testing import Ottla

PASSWORD = 'a "quoted" \\u0041 ü🙂 = password;'
USERS = {"alice": "secret", "bob smith": PASSWORD}


def test_every_password_reaches_the_broker_through_the_file() -> None:
    settings = broker_settings("SASL_PLAINTEXT", USERS)
    read = read_properties(properties_of(settings))
    assert read == settings
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://:0", **read})
    options = login_module(config, "PLAINTEXT", "PLAIN").options
    assert options == {f"user_{name}": password for name, password in USERS.items()}


def test_clients_log_in_and_others_do_not() -> None:
    with Ottla(security="SASL_PLAINTEXT", users=USERS) as broker:
        broker.create_topic("orders")
        settings: dict[str, Any] = broker.client_settings("confluent", "bob smith")
        producer = Producer(settings)
        producer.produce("orders", b"a broom")
        assert producer.flush(10) == 0
        python: dict[str, Any] = broker.client_settings("kafka-python")
        sender = KafkaProducer(**python)
        assert sender.send("orders", b"a mop").get(10).offset == 1
        sender.close()
        for login in (None, ("alice", "wrong")):
            with pytest.raises(NoAnswer):
                Client.to(broker.bootstrap_servers, login=login)
        assert broker.log_path.with_name("secured.properties").stat().st_mode & 0o777 == 0o600


def test_a_broker_without_logins_gives_the_address_alone() -> None:
    assert client_settings("java", "h:1", None) == {"bootstrap.servers": "h:1"}
    assert client_settings("kafkajs", "h:1,h:2", None) == {"brokers": ["h:1", "h:2"], "ssl": False}


def test_java_and_spark_get_a_jaas_line() -> None:
    java = client_settings("java", "h:1", ("alice", "secret"))
    line = java["sasl.jaas.config"]
    assert isinstance(line, str)
    assert line.endswith('required username="alice" password="secret";')
    spark = client_settings("spark", "h:1", ("alice", "secret"))
    assert spark == {f"kafka.{name}": value for name, value in java.items()}


@pytest.mark.parametrize(
    ("security", "users"), [("SSL", {}), ("SASL_PLAINTEXT", {}), ("PLAINTEXT", {"a": "b"})]
)
def test_a_security_that_does_not_fit_is_an_error(security: str, users: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"security|users"):
        Ottla(security=security, users=users)


def test_an_unknown_client_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be one of aiokafka"):
        client_settings("pykafka", "h:1", None)

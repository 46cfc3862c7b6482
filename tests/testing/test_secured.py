"""A secured broker in one line, and the settings of its clients."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.properties import read_properties
from ottla.broker.settings.sasl import login_module
from ottla.client import Client, NoAnswer
from ottla.client.admin.configs import alter_passwords
from ottla.client.security import ClientSecurity
from ottla.security.unsecured_tokens import UnsecuredValidator
from ottla.testing import Ottla
from ottla.testing.data import Row
from ottla.testing.secured import BrokerSecurity

PASSWORD = 'a "quoted" \\u0041 ü🙂 = password;'
USERS = {"alice": "secret", "bob smith": PASSWORD}
REQUESTS = "kafka.request.logger=debug"


@pytest.fixture(scope="module", params=["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def broker(request: pytest.FixtureRequest) -> Iterator[Ottla]:
    with Ottla(security=request.param, users=USERS, log_level=REQUESTS) as started:
        yield started


def test_every_password_reaches_the_broker_through_the_file(tmp_path: Path) -> None:
    security = BrokerSecurity("SASL_PLAINTEXT", USERS)
    settings = security.broker_settings(tmp_path)
    path = security.written(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    read = read_properties(path.read_text())
    assert read == settings
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://:0", **read})
    options = login_module(config, "PLAINTEXT", "PLAIN").options
    assert options == {f"user_{name}": password for name, password in USERS.items()}


async def test_clients_connect_with_their_settings_as_their_users(broker: Ottla) -> None:
    broker.create_topic("orders")
    confluent: dict[str, Any] = broker.client_settings("confluent", "bob smith")
    producer = Producer(confluent)
    producer.produce("orders", b"a broom")
    assert producer.flush(10) == 0
    python: dict[str, Any] = broker.client_settings("kafka-python")
    sender = KafkaProducer(**python)
    assert sender.send("orders", b"a mop").get(10).offset == 1
    sender.close()

    settings: dict[str, Any] = broker.client_settings("aiokafka", "alice")
    async with AIOKafkaProducer(**settings) as aiokafka:
        await aiokafka.send_and_wait("orders", b"a bucket")
    broker.produce("orders", ["a cloth"], transactional_id="t")
    assert [each.value for each in broker.read("orders")][2:] == [b"a bucket", b"a cloth"]
    log = broker.log_since(0)
    assert '"principal": "User:alice"' in log
    assert '"principal": "User:bob smith"' in log
    assert "quoted" not in log  # a part of the password


def test_others_are_refused(broker: Ottla) -> None:
    security = ClientSecurity(login=("alice", "wrong"))
    for each in (ClientSecurity(), security):
        with pytest.raises(NoAnswer):
            Client.to(broker.bootstrap_servers, security=each)


def test_settings_for_other_languages_are_plain_data(broker: Ottla) -> None:
    for client in ("java", "spark", "franz-go", "sarama", "kafkajs"):
        assert broker.bootstrap_servers in json.dumps(broker.client_settings(client))


def test_a_cluster_keeps_its_certificates_and_ports() -> None:
    with Ottla(security="SASL_SSL", users=USERS, nodes=3) as cluster:
        cluster.create_topic("orders", partitions=3, replication_factor=3)
        rows: list[Row] = [{"value": "abc"[number], "partition": number} for number in range(3)]
        cluster.produce("orders", rows, transactional_id="t")
        assert len(cluster.read("orders", until=3)) == 3  # each node has a marker
        cluster.produce("orders", rows, transactional_id="t", commit=False)
        before = cluster.client_settings("java"), cluster.client_settings("kafkajs")
        cluster.kill()
        cluster.start()
        assert (cluster.client_settings("java"), cluster.client_settings("kafkajs")) == before
        values = [each.value for each in cluster.read("orders", until=3)]
        assert values == [b"a", b"b", b"c"]


@pytest.mark.parametrize(("mechanism", "nodes"), [("SCRAM-SHA-256", 1), ("SCRAM-SHA-512", 3)])
def test_users_have_scram_credentials_when_the_broker_answers(mechanism: str, nodes: int) -> None:
    with Ottla(security="SASL_PLAINTEXT", users=USERS, mechanism=mechanism, nodes=nodes) as broker:
        for user in USERS:
            settings: dict[str, Any] = broker.client_settings("confluent", user)
            assert settings["sasl.mechanism"] == mechanism
            producer = Producer(settings)
            producer.produce("orders", user.encode())
            assert producer.flush(10) == 0
            del producer  # else its lines about the restart are in the log of the tests
        kafkajs: Any = broker.client_settings("kafkajs")
        assert kafkajs["sasl"]["mechanism"] == mechanism.lower()
        assert "ScramLoginModule" in str(broker.client_settings("java")["sasl.jaas.config"])
        broker.restart()
        assert len(broker.read("orders", until=2)) == 2
        wrong = ClientSecurity(None, ("bob smith", "wrong"), mechanism)
        with pytest.raises(NoAnswer):
            Client.to(broker.bootstrap_servers, security=wrong)


def test_a_changed_password_outlasts_a_restart() -> None:
    mechanism = "SCRAM-SHA-256"
    with Ottla(security="SASL_PLAINTEXT", users=USERS, mechanism=mechanism) as broker:
        first = ClientSecurity(None, ("alice", "secret"), mechanism)
        with Client.to(broker.bootstrap_servers, security=first) as client:
            alter_passwords(client, "bob smith", {mechanism: (4096, "changed")})
        broker.restart()
        changed = ClientSecurity(None, ("bob smith", "changed"), mechanism)
        Client.to(broker.bootstrap_servers, security=changed).close()


@pytest.mark.parametrize(("security", "nodes"), [("SASL_SSL", 1), ("SASL_PLAINTEXT", 3)])
def test_clients_log_in_by_unsecured_tokens(security: str, nodes: int) -> None:
    with Ottla(
        security=security, users=USERS, mechanism="OAUTHBEARER", nodes=nodes, log_level=REQUESTS
    ) as broker:
        broker.create_topic("orders")
        confluent: dict[str, Any] = broker.client_settings("confluent", "bob smith")
        producer = Producer(confluent)
        producer.produce("orders", b"a broom")
        assert producer.flush(10) == 0
        del producer  # else its lines about the restart are in the log of the tests
        python: dict[str, Any] = broker.client_settings("kafka-python")
        sender = KafkaProducer(**python)
        assert sender.send("orders", b"a mop").get(10).offset == 1
        sender.close()

        async def send() -> None:
            settings: dict[str, Any] = broker.client_settings("aiokafka", "alice")
            async with AIOKafkaProducer(**settings) as aiokafka:
                await aiokafka.send_and_wait("orders", b"a bucket")

        asyncio.run(send())
        broker.restart()
        assert [each.value for each in broker.read("orders")] == [b"a broom", b"a mop", b"a bucket"]
        log = broker.log_since(0)
        assert '"principal": "User:alice"' in log
        assert '"principal": "User:bob smith"' in log
        plain = ClientSecurity(None, ("alice", "secret"), "PLAIN")
        with pytest.raises(NoAnswer):
            Client.to(broker.bootstrap_servers, security=plain)


def test_clients_of_other_languages_get_a_token_or_the_options_of_one(tmp_path: Path) -> None:
    security = BrokerSecurity("SASL_PLAINTEXT", {"bob smith": ""}, "OAUTHBEARER")
    found: dict[str, Any] = {
        client: security.client_settings(client, "h:1", tmp_path)
        for client in ("java", "spark", "franz-go", "sarama", "kafkajs")
    }
    line = found["java"]["sasl.jaas.config"]
    assert line.endswith(
        'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="bob smith";'
    )
    assert found["spark"]["kafka.sasl.jaas.config"] == line
    tokens = {
        found["franz-go"]["SASL"]["Token"],
        found["sarama"]["Net"]["SASL"]["Token"],
        found["kafkajs"]["sasl"]["token"],
    }
    now_ms = time.time_ns() // 1_000_000
    for token in tokens:
        login = UnsecuredValidator().check(token, now_ms)
        assert login.principal_name == "bob smith"
        assert login.expires_at_ms > now_ms + 3_000_000


def test_a_name_that_java_cannot_send_in_a_token_is_an_error(tmp_path: Path) -> None:
    users = dict.fromkeys(("a", 'a "b"', "a>b", "jürgen"), "")
    security = BrokerSecurity("SASL_PLAINTEXT", users, "OAUTHBEARER")
    for client in ("java", "spark"):
        security.client_settings(client, "h:1", tmp_path, "a")
        for name in [*users][1:]:
            with pytest.raises(ValueError, match="cannot have the name"):
                security.client_settings(client, "h:1", tmp_path, name)


def test_sarama_gets_the_fields_of_its_config(tmp_path: Path) -> None:
    security = BrokerSecurity("SASL_SSL", {"alice": "secret"}, "SCRAM-SHA-512")
    found: Any = security.client_settings("sarama", "h:1,h:2", tmp_path)
    assert found["Addrs"] == ["h:1", "h:2"]
    assert found["Net"]["SASL"] == {
        "Enable": True, "Mechanism": "SCRAM-SHA-512", "User": "alice", "Password": "secret"
    }  # fmt: skip
    assert Path(found["Net"]["TLS"]["CAFile"]).exists()


def test_keys_are_readable_by_their_user_alone(tmp_path: Path) -> None:
    security = BrokerSecurity("SSL", {"alice": ""})
    settings = security.client_settings("java", "h:1", tmp_path)
    assert settings["ssl.keystore.location"] == str(tmp_path / "certificates" / "alice.pem")
    assert (tmp_path / "certificates" / "alice.pem").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "certificates" / "server.pem").stat().st_mode & 0o777 == 0o600


def test_a_broker_without_logins_gives_the_address_alone(tmp_path: Path) -> None:
    plain = BrokerSecurity("PLAINTEXT", {})
    assert plain.client_settings("java", "h:1", tmp_path) == {"bootstrap.servers": "h:1"}
    kafkajs = plain.client_settings("kafkajs", "h:1,h:2", tmp_path)
    assert kafkajs == {"brokers": ["h:1", "h:2"], "ssl": False}


def test_java_and_spark_get_a_jaas_line(tmp_path: Path) -> None:
    security = BrokerSecurity("SASL_PLAINTEXT", {"alice": "secret"})
    java = security.client_settings("java", "h:1", tmp_path)
    line = java["sasl.jaas.config"]
    assert isinstance(line, str)
    assert line.endswith('required username="alice" password="secret";')
    spark = security.client_settings("spark", "h:1", tmp_path)
    assert spark == {f"kafka.{name}": value for name, value in java.items()}


@pytest.mark.parametrize(
    ("security", "users", "why"),
    [
        ("TLS", {}, "must be one of PLAINTEXT, SSL"),
        ("SASL_SSL", {}, "needs users"),
        ("PLAINTEXT", {"a": "b"}, "users need another security"),
        ("SSL", {"../a": "b"}, "a name that a file may have"),
    ],
)
def test_a_security_that_does_not_fit_is_an_error(
    security: str, users: dict[str, str], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Ottla(security=security, users=users)


def test_an_unknown_client_or_user_is_an_error(tmp_path: Path) -> None:
    security = BrokerSecurity("SASL_PLAINTEXT", USERS)
    with pytest.raises(ValueError, match="must be one of aiokafka"):
        security.client_settings("pykafka", "h:1", tmp_path)
    with pytest.raises(KeyError, match="there is no user 'eve'; users: "):
        security.client_settings("java", "h:1", tmp_path, "eve")


@pytest.mark.parametrize("name", ["confluent-kafka", "confluent_kafka", "librdkafka"])
def test_a_client_may_have_the_name_of_its_package(tmp_path: Path, name: str) -> None:
    security = BrokerSecurity("SASL_PLAINTEXT", USERS)
    expected = security.client_settings("confluent", "h:1", tmp_path)
    assert security.client_settings(name, "h:1", tmp_path) == expected

"""Listeners by name: their protocols, ports and settings, as Kafka 4.1.1 reads them."""

from __future__ import annotations

import socket

import pytest

from ottla.broker.settings.config import BadSetting, BrokerConfig
from ottla.broker.settings.listeners import (
    SecurityProtocol,
    parse_listeners,
    parse_protocols,
    prefix_of,
)
from ottla.broker.settings.properties import settings_from_environment

MAP = "A:PLAINTEXT,B:ssl,C:SASL_SSL,PLAINTEXT:PLAINTEXT"


def config(**given: str) -> BrokerConfig:
    return BrokerConfig({key.replace("_", "."): value for key, value in given.items()})


def test_the_protocol_of_a_listener_may_be_written_in_lower_case() -> None:
    assert parse_protocols(MAP)["B"] is SecurityProtocol.SSL


def test_the_last_protocol_of_a_name_counts() -> None:
    assert parse_protocols("A:SSL, a:PLAINTEXT") == {"A": SecurityProtocol.PLAINTEXT}


@pytest.mark.parametrize(
    ("protocol", "number", "tls", "login"),
    [
        ("PLAINTEXT", 0, False, False),
        ("SSL", 1, True, False),
        ("SASL_PLAINTEXT", 2, False, True),
        ("SASL_SSL", 3, True, True),
    ],
)
def test_protocols_have_kafkas_numbers(protocol: str, number: int, tls: bool, login: bool) -> None:
    it = SecurityProtocol(protocol)
    assert (it.number, it.has_tls, it.has_login) == (number, tls, login)


def test_a_setting_of_a_listener_takes_precedence() -> None:
    it = config(**{"listener.name.b.max.connections": "5", "max.connections": "7"})
    assert it.of_listener("B", "max.connections") == 5
    assert it.of_listener("A", "max.connections") == 7


def test_a_static_setting_of_a_listener_is_above_a_dynamic_one_of_all() -> None:
    it = config(**{"listener.name.b.max.connections": "5"})
    it.use_dynamic({"max.connections": "9"}, {})
    assert it.of_listener("B", "max.connections") == 5
    assert it.of_listener("A", "max.connections") == 9
    it.use_dynamic({}, {"listener.name.b.max.connections": "6"})
    assert it.of_listener("B", "max.connections") == 6


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"listeners": "A://:1,B://:2"}, "A"),
        ({"listeners": "B://:2,A://:1"}, "A"),
        ({"listeners": "B://:2,C://:1"}, "B"),
        ({"listeners": "A://:2,PLAINTEXT://:1"}, "PLAINTEXT"),
        ({"listeners": "A://:1,B://:2", "inter.broker.listener.name": "b"}, "B"),
        ({"listeners": "A://:1,B://:2", "security.inter.broker.protocol": "SSL"}, "SSL"),
    ],
)
def test_the_listener_between_nodes(given: dict[str, str], name: str) -> None:
    it = BrokerConfig({"listener.security.protocol.map": MAP, **given})
    assert it.inter_broker_listener == name


def test_an_ipv4_and_an_ipv6_listener_may_share_a_port() -> None:
    text = "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"
    given = {"listeners": text, "controller.listener.names": "CONTROLLER"}
    assert BrokerConfig.from_settings(given).listeners == parse_listeners("listeners", text)[:1]
    with pytest.raises(BadSetting, match="port 9092"):
        BrokerConfig.from_settings({**given, "listeners": text.replace("127.0.0.1", "localhost")})


def test_controller_listeners_may_have_blanks_between_them() -> None:
    given = {"listeners": "PLAINTEXT://:1,X://:2,Y://:3", "controller.listener.names": "X, Y"}
    assert [each.name for each in BrokerConfig.from_settings(given).listeners] == ["PLAINTEXT"]


def test_a_variable_names_the_setting_of_a_listener() -> None:
    variables = {
        "KAFKA_LISTENER_NAME_INTERNAL_SSL_KEYSTORE_LOCATION": "/k",
        "KAFKA_LISTENER_NAME_INTERNAL_SCRAM___SHA___256_SASL_JAAS_CONFIG": "x",
    }
    assert settings_from_environment(variables) == {
        prefix_of("INTERNAL") + "ssl.keystore.location": "/k",
        prefix_of("INTERNAL") + "scram-sha-256.sasl.jaas.config": "x",
    }


def test_an_advertised_listener_without_a_host_has_the_name_of_the_machine() -> None:
    given = {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://:9093"}
    (found,) = BrokerConfig.from_settings(given).advertised()
    assert (found.host, found.port) == (socket.gethostname(), 9093)

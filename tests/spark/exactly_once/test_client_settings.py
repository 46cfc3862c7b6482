"""The options that secure the sink: names of Java clients and of librdkafka."""

from __future__ import annotations

import pickle

import pytest

from ottla.spark.exactly_once.options import SinkOptions
from ottla.testing import Ottla

_SECURITY = [
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SSL", "PLAIN"),
]


def options_of(settings: dict[str, object], *, prefix: str = "kafka.") -> SinkOptions:
    return SinkOptions.of({f"{prefix}{name}": str(value) for name, value in settings.items()})


@pytest.mark.parametrize(("protocol", "mechanism"), _SECURITY)
def test_the_names_of_java_clients_and_of_librdkafka_give_the_same_connections(
    protocol: str, mechanism: str
) -> None:
    broker = Ottla(security=protocol, mechanism=mechanism, users={"alice": "secret"})
    with broker:
        java = options_of(broker.client_settings("spark"), prefix="")
        native = options_of(broker.client_settings("confluent"))
    assert java.properties == native.properties
    assert java.security().login == native.security().login
    assert not [name for name in java.secured if "store." in name or "jaas" in name]


def test_a_plain_listener_has_no_settings_of_security() -> None:
    found = options_of({"bootstrap.servers": "127.0.0.1:9092"})
    assert found.security() == (None, None, "PLAIN")
    assert not found.secured


def test_tasks_get_certificates_as_texts_and_no_repr_shows_a_secret() -> None:
    with Ottla(security="SASL_SSL", users={"alice": "s3cret"}) as broker:
        found = options_of(broker.client_settings("spark"), prefix="")
    sent = pickle.loads(pickle.dumps(found))  # as Spark sends it to executors
    assert sent.secured["ssl.ca.pem"].startswith("-----BEGIN CERTIFICATE")
    assert sent.secured["sasl.password"] == "s3cret"
    assert "s3cret" not in repr(sent)
    assert "PRIVATE KEY" not in repr(sent)


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("security.protocol", "TLS", "must be one of"),
        ("sasl.mechanism", "GSSAPI", "must be one of PLAIN"),
        ("sasl.jaas.config", "nonsense", "kafka.sasl.jaas.config"),
        (
            "ssl.truststore.location",
            "/nowhere",
            "kafka-exactly-once: kafka.ssl.truststore.location=/nowhere cannot be used: No such",
        ),
        (
            "ssl.truststore.location",
            __file__,
            "kafka.ssl.truststore.location=.*cannot be used: it is",
        ),
    ],
)
def test_a_wrong_option_is_named(setting: str, value: str, reason: str) -> None:
    settings: dict[str, object] = {
        "bootstrap.servers": "127.0.0.1:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
    }
    with pytest.raises(ValueError, match=reason) as raised:
        options_of({**settings, setting: value})
    assert "secret" not in str(raised.value)

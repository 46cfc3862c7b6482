"""Kafka's tools connect by TLS and log in, with the properties of Kafka's clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.__main__ import main as ottla
from ottla.client import Client, NoAnswer
from ottla.client.properties import security_of
from ottla.client.security import ClientSecurity
from ottla.kafka_tools.__main__ import main
from ottla.testing import Ottla
from ottla.testing.certificates import PASSWORD, Names, server_settings, write_certificates

LOGIN = "org.apache.kafka.common.security"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    write_certificates(directory, Names())
    return directory


@pytest.fixture(scope="module")
def broker(certificates: Path) -> Iterator[Ottla]:
    jaas = f'{LOGIN}.plain.PlainLoginModule required user_alice="secret";'
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": f"PLAIN,{','.join(SCRAM)}",
        "listener.name.plaintext.plain.sasl.jaas.config": jaas,
        **{
            f"listener.name.plaintext.{each.lower()}.sasl.jaas.config":
            f"{LOGIN}.scram.ScramLoginModule required;"
            for each in SCRAM
        },
        **server_settings(certificates),
    }  # fmt: skip
    with Ottla(settings=settings) as started:
        yield started


def properties(certificates: Path, mechanism: str, password: str = "secret") -> dict[str, str]:
    kind = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{LOGIN}.{kind} required username="alice" password="{password}";',
        "ssl.truststore.location": str(certificates / "truststore.p12"),
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.password": PASSWORD,
    }


def written(path: Path, settings: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    return str(path)


def test_tools_log_in_by_every_mechanism(
    broker: Ottla, certificates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--bootstrap-server", broker.bootstrap_servers, "--command-config"]
    plain = written(tmp_path / "plain", properties(certificates, "PLAIN"))
    for mechanism in SCRAM:
        words = ["--alter", "--entity-type", "users", "--entity-name", "alice"]
        credential = ["--add-config", f"{mechanism}=[password=scrammed]"]
        assert main(["kafka-configs", *where, plain, *words, *credential]) == 0
        file = written(tmp_path / mechanism, properties(certificates, mechanism, "scrammed"))
        assert main(["kafka-topics", *where, file, "--create", "--topic", mechanism]) == 0
    capsys.readouterr()
    assert main(["kafka-topics", *where, plain, "--list"]) == 0
    assert set(SCRAM) <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
def test_a_wrong_password_ends_a_tool_at_once(
    broker: Ottla,
    certificates: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    mechanism: str,
) -> None:
    file = written(tmp_path / "wrong", properties(certificates, mechanism, "guessed"))
    where = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", file]
    assert main(["kafka-topics", *where, "--list"]) == 1
    said = "".join(capsys.readouterr())
    message = "Authentication failed: Invalid username or password"
    if mechanism != "PLAIN":
        message = (
            "Authentication failed during authentication due to invalid credentials with"
            f" SASL mechanism {mechanism}"
        )
    assert f"Error while executing topic command : {message}\n" in said
    assert f"org.apache.kafka.common.errors.SaslAuthenticationException: {message}" in said
    assert "guessed" not in said


def test_a_mechanism_that_is_not_enabled_is_named_as_by_kafka(
    broker: Ottla, certificates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ottla(security="SASL_PLAINTEXT", users={"alice": "secret"}) as other:
        java = {**other.client_settings("java"), "sasl.mechanism": "SCRAM-SHA-256"}
        java["sasl.jaas.config"] = java["sasl.jaas.config"].replace("plain.Plain", "scram.Scram")
        where = ["--bootstrap-server", other.bootstrap_servers, "--command-config"]
        assert main(["kafka-topics", *where, written(tmp_path / "f", java), "--list"]) == 1
    assert (
        "org.apache.kafka.common.errors.UnsupportedSaslMechanismException: Client SASL mechanism "
        "'SCRAM-SHA-256' not enabled in the server, enabled mechanisms are [PLAIN]"
    ) in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("truststore", "SSL handshake failed"),
        ("keystore", "Failed to process post-handshake messages"),
        (None, "Failed to process post-handshake messages"),
    ],
)
def test_a_refused_certificate_ends_a_tool_at_once_as_in_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], store: str | None, message: str
) -> None:
    """A foreign broker, a foreign client, and a client without a certificate."""
    write_certificates(tmp_path, Names())
    foreign = {"truststore": tmp_path / "ca.pem", "keystore": tmp_path / "client.pem"}
    with Ottla(security="SSL", users={"alice": ""}) as broker:
        java = broker.client_settings("java")
        if store is None:
            java = {name: text for name, text in java.items() if "keystore" not in name}
        else:
            java[f"ssl.{store}.location"] = str(foreign[store])
        where = ["--bootstrap-server", broker.bootstrap_servers, "--command-config"]
        assert main(["kafka-topics", *where, written(tmp_path / "f", java), "--list"]) == 1
    said = "".join(capsys.readouterr())
    assert f"Error while executing topic command : {message}\n" in said
    assert f"org.apache.kafka.common.errors.SslAuthenticationException: {message}" in said
    assert "Caused by: javax.net.ssl.SSLHandshakeException: " in said


def test_a_foreign_certificate_is_refused(broker: Ottla, tmp_path: Path) -> None:
    write_certificates(tmp_path, Names())
    security = security_of(properties(tmp_path, "PLAIN"))
    with pytest.raises(NoAnswer, match="its certificate is wrong"):
        Client.to(broker.bootstrap_servers, security=security)


def test_commands_of_ottla_log_in_with_the_file_of_a_variable(
    broker: Ottla,
    certificates: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = ["-b", broker.bootstrap_servers]
    file = written(tmp_path / "plain", properties(certificates, "PLAIN"))
    monkeypatch.setenv("OTTLA_COMMAND_CONFIG", file)
    assert ottla(["topics", "create", "commands", *where]) == 0
    assert ottla(["topics", "list", *where]) == 0
    assert "commands" in capsys.readouterr().out
    written(tmp_path / "plain", properties(certificates, "PLAIN", "guessed"))
    assert ottla(["topics", "list", *where]) == 1
    said = capsys.readouterr().err
    assert "the login failed: Authentication failed: Invalid username or password" in said
    monkeypatch.setenv("OTTLA_COMMAND_CONFIG", str(tmp_path / "none"))
    assert ottla(["topics", "list", *where]) == 2
    assert "OTTLA_COMMAND_CONFIG" in capsys.readouterr().err


def test_stores_of_every_kind_are_read(certificates: Path) -> None:
    for kind, suffix in (("JKS", "jks"), ("PKCS12", "p12"), ("PEM", "pem")):
        trust = "ca.pem" if kind == "PEM" else f"truststore.{suffix}"
        settings = {
            "security.protocol": "SSL",
            "ssl.truststore.type": kind, "ssl.truststore.location": str(certificates / trust),
            "ssl.keystore.type": kind,
            "ssl.keystore.location": str(certificates / f"client.{suffix}"),
        }  # fmt: skip
        if kind != "PEM":
            settings |= {
                "ssl.truststore.password": PASSWORD, "ssl.keystore.password": PASSWORD
            }  # fmt: skip
        security = security_of(settings)
        assert security.tls is not None
        assert security.tls.check_hostname
        assert len(security.tls.get_ca_certs()) == 1
        unchecked = security_of({**settings, "ssl.endpoint.identification.algorithm": ""})
        assert unchecked.tls is not None
        assert not unchecked.tls.check_hostname


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"security.protocol": "TLS"}, "must be one of PLAINTEXT"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "sasl.mechanism=GSSAPI must be one of PLAIN"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "config is missing"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/none"}, "cannot be used"),
    ],
)
def test_wrong_properties_are_named(settings: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        security_of(settings)


def test_passwords_are_not_in_the_repr() -> None:
    assert "secret" not in repr(ClientSecurity(login=("alice", "secret")))


def test_tokens_are_created_renewed_and_expired(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config":
        f'{LOGIN}.plain.PlainLoginModule required user_alice="secret";',
        "delegation.token.secret.key": "secret",
    }  # fmt: skip
    login = f'{LOGIN}.plain.PlainLoginModule required username="alice" password="secret";'
    config = written(
        tmp_path / "alice.properties",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": login,
        },
    )
    with Ottla(settings=settings) as broker:
        at = ("--bootstrap-server", broker.bootstrap, "--command-config", str(config))

        def told(*words: str) -> str:
            assert main(["kafka-delegation-tokens", *at, *words]) == 0
            return capfd.readouterr().out

        renewers = ("--renewer-principal", "User:bob", "--renewer-principal", "User:carl")
        made = told("--create", "--max-life-time-period", "-1", *renewers).splitlines()
        token_id, hmac, owner, requester = made[-1].split()[:4]
        # As Kafka's tool 4.4.0.
        assert made[:5] == [
            "Calling create token operation with renewers :[User:bob, User:carl] ,"
            " max-life-time-period :-1",
            f"Created delegation token with tokenId : {token_id}",
            "",
            "TOKENID         HMAC                           OWNER           REQUESTER      "
            " RENEWERS                  ISSUEDATE       EXPIRYDATE      MAXDATE        ",
            "",
        ]
        assert (owner, requester) == ("User:alice", "User:alice")
        shown = told("--describe", "--owner-principal", "User:alice").splitlines()
        assert shown[:2] == [
            "Calling describe token operation for owners: [User:alice]",
            "Total number of tokens : 1",
        ]
        assert shown[-1] == made[-1]
        assert "New expiry date : 2" in told("--renew", "--renew-time-period", "-1", "--hmac", hmac)
        expired = told("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
        assert "Completed expire operation. New expiry date : 2" in expired
        assert "Total number of tokens : 0" in told("--describe")

"""A container takes key stores and passwords by the variables of cp-kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.settings.sasl import login_module
from ottla.serving.container import CannotStart, plan
from ottla.serving.serve import broker_config, parser
from ottla.testing.certificates import PASSWORD, Names, write_certificates
from tests.image.documented import environment_of

VARIABLES = {
    "KAFKA_ADVERTISED_LISTENERS": "SSL://broker:9093",
    "KAFKA_SSL_KEYSTORE_FILENAME": "server.jks",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "password",
    "KAFKA_SSL_KEY_CREDENTIALS": "password",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "truststore.jks",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "password",
}


def sets(tmp_path: Path, **more: str) -> set[str]:
    environ = {**VARIABLES, **more}
    planned = plan(
        [], environ, file=tmp_path / "none", secrets=tmp_path / "secrets", directories=[(tmp_path,)]
    )
    return set(planned.arguments)


def test_files_of_stores_and_passwords_become_settings(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    write_certificates(secrets, Names())
    (secrets / "password").write_text(f"{PASSWORD}\n")
    found = sets(tmp_path)
    assert {
        f"ssl.keystore.location={secrets}/server.jks",
        f"ssl.keystore.password={PASSWORD}",
        f"ssl.key.password={PASSWORD}",
        f"ssl.truststore.location={secrets}/truststore.jks",
        f"ssl.truststore.password={PASSWORD}",
    } <= found
    given = sets(tmp_path, KAFKA_SSL_KEYSTORE_LOCATION="/other.jks")
    assert not any(each.startswith("ssl.keystore.location") for each in given)


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_the_documented_compose_files_have_a_listener_of_logins(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets"
    write_certificates(secrets, Names())
    environ = environment_of(protocol)
    planned = plan([], environ, file=tmp_path / "none", secrets=secrets, directories=[(tmp_path,)])
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    config = broker_config(parser().parse_args(planned.arguments[1:]))
    assert login_module(config, "HOST", "PLAIN").options == {"user_alice": "alice-secret"}


def test_a_missing_file_of_a_password_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"cannot read .*secrets/password"):
        sets(tmp_path)

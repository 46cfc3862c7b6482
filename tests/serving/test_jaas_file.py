"""KAFKA_OPTS names a JAAS file; users and refused starts are those of Apache Kafka 4.1.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.sasl import login_module
from ottla.console.options import CannotRun
from ottla.serving.serve import broker_config, parser

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
FILE = f"""
sasl_ssl.KafkaServer {{ {PLAIN} required user_listener="1"; }};
scram.KafkaServer {{ {SCRAM} required; }};
OTHER.KafkaServer {{ {PLAIN} required user_upper="2"; }};
twice.KafkaServer {{ {PLAIN} required user_alice="first" user_alice="last"; }};
KafkaServer {{
    {SCRAM} required username="x" password="y";
    {PLAIN} required user_all="3" user_twice="first";
    {PLAIN} optional user_second="4" user_twice="last";
}};
"""
EVERY = {"user_all": "3", "user_second": "4", "user_twice": "first"}


def started(monkeypatch: pytest.MonkeyPatch, options: str, *settings: str) -> BrokerConfig:
    """The configuration of `ottla serve` with this KAFKA_OPTS."""
    monkeypatch.setenv("KAFKA_OPTS", options)
    words = ["--environment"]
    for setting in (
        "listeners=SASL_SSL://:1,SCRAM://:2,OTHER://:3,TWICE://:4",
        "listener.security.protocol.map=SASL_SSL:SASL_PLAINTEXT,SCRAM:SASL_PLAINTEXT,"
        "OTHER:SASL_PLAINTEXT,TWICE:SASL_PLAINTEXT",
        "advertised.listeners=SASL_SSL://h:1,SCRAM://h:2,OTHER://h:3,TWICE://h:4",
        "sasl.enabled.mechanisms=PLAIN",
        *settings,
    ):
        words += ["--set", setting]
    return broker_config(parser().parse_args(words))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "jaas.conf"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("listener", "settings", "users"),
    [
        ("SASL_SSL", [], {"user_listener": "1"}),
        # The setting of a mechanism precedes the file; one without a mechanism does nothing.
        ("SASL_SSL", [f'plain.sasl.jaas.config={PLAIN} required user_set="5";'], {"user_set": "5"}),
        ("SASL_SSL", [f'sasl.jaas.config={PLAIN} required user_set="5";'], {"user_listener": "1"}),
        # The section of a listener stands alone, even without a module of the mechanism.
        ("SCRAM", [], {}),
        # Sections have the name of the listener in lower case.
        ("OTHER", [], EVERY),
        # Of an option that a module has twice the last one counts, of two modules the first.
        ("TWICE", [], {"user_alice": "last"}),
    ],
)
def test_the_sections_have_kafkas_precedence(
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    listener: str,
    settings: list[str],
    users: dict[str, str],
) -> None:
    own = [f"listener.name.{listener.lower()}.{each}" for each in settings]
    config = started(monkeypatch, f"-Djava.security.auth.login.config={file}", *own)
    assert login_module(config, listener, "PLAIN").options == users


def test_other_flags_of_java_are_named_without_their_values(
    monkeypatch: pytest.MonkeyPatch, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = f"-Djava.security.auth.login.config=={file}"
    options = f"-Xmx1g -Djavax.net.ssl.trustStorePassword=secret {login}"
    assert started(monkeypatch, options).login_sections
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "ottla: KAFKA_OPTS: for Java, changes nothing: -Xmx1g -Djavax.net.ssl.trustStorePassword"
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "cannot read the JAAS file .*No such file"),
        ("KafkaServer { a", "cannot read the JAAS file .*control flag not specified"),
        ("KafkaClient { };", "section sasl_ssl.KafkaServer or KafkaServer"),
    ],
)
def test_a_file_that_gives_no_logins_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, error: str
) -> None:
    path = tmp_path / "jaas.conf"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CannotRun, match=error):
        started(monkeypatch, f"-Djava.security.auth.login.config={path}")

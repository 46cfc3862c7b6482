"""Each command that takes a bootstrap logs in with the properties of OTTLA_COMMAND_CONFIG."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.audit.whole import audit
from ottla.console.options import CannotRun
from ottla.console.security import COMMAND_CONFIG, command_properties
from ottla.spark.audit.wire import logs_of_cluster, of_cluster
from ottla.testing import Ottla
from ottla.testing.secured import properties_of

WORDS = {
    "audit": ("audit",),
    "bench": ("bench", "--seconds", "0.05"),
    "config": ("config", "--feature", "transaction.version=2"),
    "consume": ("consume", "orders"),
    "groups": ("groups", "list"),
    "health": ("health",),
    "produce": ("produce", "orders", "a:1"),
    "topics": ("topics", "list"),
    "txn": ("txn", "list"),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(security="SASL_SSL", users={"alice": "secret"}) as started:
        started.create_topic("orders")
        yield started


@pytest.fixture
def file(broker: Ottla, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(properties_of(broker.client_settings("java")))
    monkeypatch.setenv(COMMAND_CONFIG, str(path))
    return path


@pytest.mark.parametrize("command", [name for name in WORDS if name != "audit"])
def test_a_command_logs_in_or_says_why_it_cannot(
    broker: Ottla, file: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [*WORDS[command], "--bootstrap", broker.bootstrap_servers]
    assert main(words) == 0, capsys.readouterr().err
    file.write_text(file.read_text().replace('"secret"', '"guessed"'))
    assert main(words) == 1
    said = capsys.readouterr()
    assert "the login failed: Authentication failed: Invalid username or password" in said.err
    assert "guessed" not in said.out + said.err
    file.write_text("security.protocol=TLS\n")
    assert main(words) == 2
    assert COMMAND_CONFIG in capsys.readouterr().err


def test_the_audit_reads_all_logs_after_its_login(broker: Ottla, file: Path) -> None:
    broker.produce("paid", ["a", "b"], transactional_id="t")
    found = logs_of_cluster(broker.bootstrap_servers, command_properties())
    assert sum(row.topic == "paid" for row in found.rows) == 2  # a batch and its marker
    assert audit(found).findings == []


def test_executors_of_the_audit_get_the_properties(broker: Ottla, file: Path) -> None:
    cluster = of_cluster(broker.bootstrap_servers, command_properties())
    file.unlink()
    read = pickle.loads(pickle.dumps(cluster.read))  # as Spark sends it
    assert [list(read(part, True)) for part in cluster.parts if part.topic == "orders"]
    assert "secret" not in repr(read)


def test_an_audit_that_cannot_log_in_says_why(
    broker: Ottla, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*WORDS["audit"], "--bootstrap", broker.bootstrap_servers]
    file.write_text(file.read_text().replace('"secret"', '"guessed"'))
    assert main(words) == 2
    assert "the login failed" in capsys.readouterr().err


def test_the_demo_refuses_a_broker_of_logins(
    broker: Ottla, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--bootstrap", broker.bootstrap_servers]) == 2
    assert COMMAND_CONFIG in capsys.readouterr().err


def test_health_counts_nodes_after_its_login(
    broker: Ottla, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["health", broker.bootstrap_servers]) == 0
    assert "1 node" in capsys.readouterr().out


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(COMMAND_CONFIG, str(tmp_path / "none"))
    with pytest.raises(CannotRun, match=f"{COMMAND_CONFIG}=.*none"):
        command_properties()


def test_misspelt_properties_are_named_once_on_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command connected without TLS and without a login, and said nothing."""
    file = tmp_path / "client.properties"
    file.write_text("secrity.protocol=SSL\nsasl_password=secret\nssl.trustore.location=x\n")
    monkeypatch.setenv(COMMAND_CONFIG, str(file))
    for _ in range(2):
        command_properties()
    assert capsys.readouterr().err == (
        f"ottla: {COMMAND_CONFIG}={file}: no properties of a client, which change nothing: "
        "sasl_password (did you mean sasl.password?), "
        "secrity.protocol (did you mean security.protocol?), "
        "ssl.trustore.location (did you mean ssl.truststore.location?)\n"
    )


def test_properties_of_other_clients_are_not_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("client.id", "ssl.crl.location", "sasl.login.class", "ssl.protocol", "acks")
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}=x\n" for name in names))
    monkeypatch.setenv(COMMAND_CONFIG, str(file))
    command_properties()
    assert capsys.readouterr().err == ""

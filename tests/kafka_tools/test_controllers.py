"""Tools that add, remove and forget nodes of the quorum; transcripts have their other mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.kafka_tools.__main__ import main
from ottla.testing import Ottla

CONTROLLER = """
process.roles=controller
node.id=5
controller.listener.names=INSIDE
listener.security.protocol.map=INSIDE:PLAINTEXT
listeners=INSIDE://127.0.0.1:9
"""


@pytest.fixture
def file(broker: Ottla, tmp_path: Path) -> Path:
    """The settings of a controller; its directory is that of a broker."""
    path = tmp_path / "controller.properties"
    path.write_text(f"{CONTROLLER}log.dirs={broker.data_dir}\n")
    return path


def test_a_controller_is_added_by_its_settings_and_its_directory(
    broker: Ottla, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    meta = (broker.data_dir / "meta.properties").read_text()
    (directory,) = [line[13:] for line in meta.splitlines() if line.startswith("directory.id=")]
    at = ["--bootstrap-server", broker.bootstrap_servers, "--command-config", str(file)]
    words = ["kafka-metadata-quorum", *at, "add-controller"]
    assert main([*words, "--dry-run"]) == 0
    assert capfd.readouterr().out == (
        f"DRY RUN of adding controller 5 with directory id {directory}"
        " and endpoints: INSIDE://127.0.0.1:9\n"
    )
    assert main(words) == 1  # the broker's answer, which the file's listener does not suit
    assert "org.apache.kafka.common.errors" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("listeners", "said"),
    [
        ("", "controller.listener.names was not found"),
        ("controller.listener.names=INSIDE,B\nlisteners=INSIDE://:1\n", "listener name: B"),
    ],
)
def test_a_controller_without_listeners_is_refused(
    listeners: str, said: str, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = file.read_text().splitlines(keepends=True)
    kept = "".join(line for line in lines if "listener" not in line)
    file.write_text(kept + listeners)
    at = ["--bootstrap-server", "127.0.0.1:1", "--command-config", str(file)]
    assert main(["kafka-metadata-quorum", *at, "add-controller"]) == 1
    assert said in capfd.readouterr().err


def test_the_versions_of_a_cluster_are_those_of_its_brokers(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["kafka-broker-api-versions", "--bootstrap-server", bootstrap]) == 0
    versions = capfd.readouterr().out
    assert main(["kafka-cluster", "api-versions", "--bootstrap-controller", bootstrap]) == 0
    assert capfd.readouterr().out == versions


@pytest.mark.parametrize("tool", ["kafka-acls --list", "kafka-configs --describe --topic none"])
def test_a_tool_takes_the_address_of_a_controller(
    tool: str, bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    at = ("--bootstrap-server", "--bootstrap-controller")
    found = [(main([*tool.split(), each, bootstrap]), capfd.readouterr()) for each in at]
    assert found[0] == found[1]


def test_a_decoder_of_tiered_storage_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--files", "00000000000000000000.log", "--remote-log-metadata-decoder"]
    assert main(["kafka-dump-log", *words]) == 1
    assert capfd.readouterr() == (
        "", "--remote-log-metadata-decoder: Ottla has no tiered storage\n",
    )  # fmt: skip


def test_a_broker_that_has_ended_is_forgotten(capfd: pytest.CaptureFixture[str]) -> None:
    with Ottla(nodes=2) as cluster:
        cluster.nodes[2].stop()
        at = ["--bootstrap-server", cluster.nodes[1].bootstrap]
        assert main(["kafka-cluster", "unregister", *at, "--id", "2"]) == 0
        assert capfd.readouterr().out == "Broker 2 is no longer registered.\n"
        assert main(["kafka-cluster", "unregister", *at, "--id", "2"]) == 1
        assert "BrokerIdNotRegisteredException" in capfd.readouterr().err

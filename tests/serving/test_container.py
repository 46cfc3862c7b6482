"""A start as in a container: settings and the cluster's id come from variables."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.broker.settings.properties import cluster_id_from_environment

# Variables that users of the image of Apache Kafka 4.1 set for one combined node.
IMAGE = {
    "CLUSTER_ID": "5L6g3nShT-eMCtK--X86sw",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_HEAP_OPTS": "-Xmx1g",
}


def served(data_dir: Path, **variables: str) -> tuple[int, str]:
    """Start a broker under these variables and end it when it is ready; its status and stderr."""
    without = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    without.pop("CLUSTER_ID", None)
    command = [sys.executable, "-P", "-m", "ottla", "serve", "--environment"]
    with subprocess.Popen(
        [*command, "--data-dir", str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**without, "OTTLA_LOG_LEVEL": "warn", **variables},
    ) as broker:
        assert broker.stdout is not None
        assert broker.stderr is not None
        broker.stdout.readline()  # ready, or it has ended
        broker.terminate()
        told = broker.stderr.read()
        return broker.wait(), told


def cluster_id(data_dir: Path) -> str:
    lines = (data_dir / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("cluster.id="))


def test_the_variables_of_kafkas_image_start_one_node_with_the_clusters_id(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    status, told = served(data_dir, **IMAGE)
    assert (status, told) == (0, "")
    assert cluster_id(data_dir) == IMAGE["CLUSTER_ID"]


def test_a_directory_of_another_cluster_is_refused_with_both_ids(tmp_path: Path) -> None:
    assert served(tmp_path, **IMAGE)[0] == 0
    status, told = served(tmp_path, **{**IMAGE, "CLUSTER_ID": "another"})
    assert status == 1
    assert told.count("\n") == 1
    assert IMAGE["CLUSTER_ID"] in told
    assert "another" in told


def test_without_the_variable_any_cluster_is_right(tmp_path: Path) -> None:
    assert served(tmp_path, **IMAGE)[0] == 0
    assert served(tmp_path, **{**IMAGE, "CLUSTER_ID": ""}) == (0, "")
    assert cluster_id(tmp_path) == IMAGE["CLUSTER_ID"]


def test_a_variable_that_is_no_setting_is_named_and_passed_over(tmp_path: Path) -> None:
    """Kubernetes gives such variables to a container beside a service called kafka."""
    status, told = served(tmp_path, **IMAGE, KAFKA_PORT="tcp://10.0.0.1:9092")
    assert status == 0
    (line,) = told.splitlines()
    assert line.endswith(": KAFKA_PORT")


def test_settings_without_a_meaning_are_named_in_one_line(tmp_path: Path) -> None:
    variables = {**IMAGE, "KAFKA_NUM_IO_THREADS": "8", "KAFKA_BACKGROUND_THREADS": "4"}
    status, told = served(tmp_path, **variables)
    assert status == 0
    (line,) = told.splitlines()
    assert line.endswith(": background.threads, num.io.threads")


def test_a_policy_that_cannot_be_kept_stops_the_start_with_status_2(tmp_path: Path) -> None:
    variables = {**IMAGE, "KAFKA_CREATE_TOPIC_POLICY_CLASS_NAME": "a.Policy"}
    status, told = served(tmp_path, **variables)
    assert status == 2
    assert "create.topic.policy.class.name=a.Policy" in told


@pytest.mark.parametrize("text", ["two\nlines", "back\\slash", "a b", "x" * 256])
def test_an_id_that_no_line_of_a_file_gives_back_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="CLUSTER_ID must be"):
        cluster_id_from_environment({"CLUSTER_ID": text})
    monkeypatch.setenv("CLUSTER_ID", text)
    assert main(["serve", "--environment"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "CLUSTER_ID" in line


def test_a_directory_that_the_broker_makes_is_for_its_user_alone(tmp_path: Path) -> None:
    """The metadata log has SCRAM credentials in it."""
    made = tmp_path / "made"
    assert served(made, **IMAGE)[0] == 0
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE((made / "__cluster_metadata-0").stat().st_mode) == 0o700


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    found = tmp_path / "found"
    found.mkdir()
    found.chmod(0o755)
    assert served(found, **IMAGE)[0] == 0
    assert stat.S_IMODE(found.stat().st_mode) == 0o755

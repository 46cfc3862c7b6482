"""`ottla.serving.container`: from the variables and directories of a container to a start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.broker.health_socket import name_here
from ottla.broker.settings.properties import settings_from_environment
from ottla.serving.container import AnotherCluster, CannotStart, StartPlan, log_lines, plan

HEALTH = ("--answer-health", name_here())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def planned(data: Path, *options: str, **environ: str) -> StartPlan:
    nothing = data / "nothing"
    return plan(options, environ, file=nothing, secrets=nothing, directories=[(data,)])


def planned_with(file: Path, data: Path, *options: str) -> StartPlan:
    return plan(options, {}, file=file, secrets=data / "nothing", directories=[(data,)])


def test_without_anything_the_broker_listens_on_every_address(data: Path) -> None:
    arguments = planned(data).arguments
    assert arguments == [
        *("serve", "--environment", "--set", "listeners=PLAINTEXT://0.0.0.0:9092"),
        *("--data-dir", str(data), *HEALTH),
    ]


def test_listeners_come_from_the_advertised_ones(data: Path) -> None:
    variable = "INSIDE://kafka:29092,HOST://localhost:9092"
    arguments = planned(data, KAFKA_ADVERTISED_LISTENERS=variable).arguments
    assert "listeners=INSIDE://0.0.0.0:29092,HOST://0.0.0.0:9092" in arguments


def test_wrong_advertised_listeners_stop_the_start(data: Path) -> None:
    with pytest.raises(CannotStart, match=r"advertised\.listeners"):
        planned(data, KAFKA_ADVERTISED_LISTENERS="localhost")


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        (("--listen", "127.0.0.1:1"), {}),
        (("--listen=127.0.0.1:1",), {}),
        (("--set", "listeners=A://:1"), {}),
        ((), {"KAFKA_LISTENERS": "PLAINTEXT://:1"}),
        ((), {"KAFKA_CFG_LISTENERS": "PLAINTEXT://:1"}),
    ],
)
def test_given_listeners_are_kept(
    data: Path, options: tuple[str, ...], environ: dict[str, str]
) -> None:
    arguments = planned(data, *options, **environ).arguments
    assert [each for each in arguments if "0.0.0.0" in each] == []
    assert arguments[len(arguments) - len(options) :] == list(options)


def test_a_listener_called_controller_is_the_controllers(data: Path) -> None:
    """As in confluent-local, whose users do not name the controller's listener."""
    listeners = "PLAINTEXT://:1,CONTROLLER://:2"
    arguments = planned(data, KAFKA_LISTENERS=listeners).arguments
    assert "controller.listener.names=CONTROLLER" in arguments
    given = planned(data, KAFKA_LISTENERS=listeners, KAFKA_CONTROLLER_LISTENER_NAMES="C")
    assert "controller.listener.names=CONTROLLER" not in given.arguments


@pytest.mark.parametrize("variable", ["KAFKA_LOG_DIRS", "KAFKA_LOG_DIR", "KAFKA_CFG_LOG_DIRS"])
def test_a_named_directory_is_used(data: Path, variable: str) -> None:
    assert "--data-dir" not in planned(data, **{variable: str(data / "named")}).arguments


def test_the_mounted_file_counts_and_variables_stand_above_it(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"listeners=PLAINTEXT://:7\nlog.dirs={data}\n")
    arguments = planned_with(file, data).arguments
    assert arguments == ["serve", "--environment", "--config", str(file), *HEALTH]


def test_a_file_among_the_options_replaces_the_mounted_one(data: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "server.properties", tmp_path / "other.properties"
    file.write_text("listeners=PLAINTEXT://:7\n")
    other.write_text(f"log.dirs={data}\n")
    arguments = planned_with(file, data, "--config", str(other)).arguments
    assert str(file) not in arguments
    assert "--data-dir" not in arguments
    assert f"listeners={'PLAINTEXT://0.0.0.0:9092'}" in arguments


def test_a_file_that_cannot_be_read_stops_the_start(data: Path) -> None:
    with pytest.raises(CannotStart, match="cannot read"):
        planned(data, "--config", str(data / "none"))


def test_a_directory_that_is_not_writable_gets_a_remedy(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CannotStart, match=rf"cannot write to {data.parent}: .*sudo chown -R"):
        planned(data)


@pytest.fixture
def kept(data: Path) -> Path:
    """A data directory that has its cluster already."""
    data.mkdir()
    (data / "meta.properties").write_text("cluster.id=kept\nversion=1\n")
    return data


def test_a_directory_of_another_cluster_is_refused_in_the_words_of_kafka(kept: Path) -> None:
    """The images of Apache and Confluent format the directory at each start."""
    file = kept / "meta.properties"
    said = rf"^Invalid cluster\.id in: {file}\. Expected wanted, but read kept\."
    with pytest.raises(AnotherCluster, match=said):
        planned(kept, CLUSTER_ID="wanted")
    assert planned(kept, CLUSTER_ID="kept").notes == []
    assert planned(kept).cluster_id is None


def test_a_start_behind_that_step_keeps_the_cluster_and_names_the_other_id(kept: Path) -> None:
    """Go's testcontainers format the directory with an id of their own."""
    nothing = kept / "nothing"
    found = plan(
        [], {"CLUSTER_ID": "wanted"}, file=nothing, secrets=nothing, directories=[(kept,)],
        is_formatted=True,
    )  # fmt: skip
    assert found.cluster_id == "kept"
    assert found.notes == [f"{kept} belongs to cluster kept: CLUSTER_ID=wanted changes nothing"]


def test_bitnamis_variable_does_not_change_a_directory(kept: Path) -> None:
    found = planned(kept, KAFKA_KRAFT_CLUSTER_ID="wanted")
    assert found.cluster_id == "kept"
    assert "KAFKA_KRAFT_CLUSTER_ID=wanted changes nothing" in found.notes[0]


def test_the_id_may_have_bitnamis_name(data: Path) -> None:
    assert planned(data, KAFKA_KRAFT_CLUSTER_ID="theirs").cluster_id == "theirs"
    assert planned(data).cluster_id is None


def test_a_zookeeper_of_others_and_secrets_are_noted(data: Path, tmp_path: Path) -> None:
    (tmp_path / "keystore.jks").touch()
    environ = {"KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181"}
    nothing = tmp_path / "nothing"
    notes = plan([], environ, file=nothing, secrets=tmp_path, directories=[(data,)]).notes
    assert ["zookeeper:2181" in notes[0], "a setting names" in notes[1]] == [True, True]
    assert planned(data, KAFKA_ZOOKEEPER_CONNECT="localhost:2181").notes == []


def test_variables_of_bitnami_and_of_java() -> None:
    assert settings_from_environment(
        {
            "KAFKA_CFG_NODE_ID": "3",
            "KAFKA_JMX_OPTS": "-D",
            "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
            "KAFKA_REST_HOST_NAME": "rest",
            "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
            "KAFKA_OPTS": "-D",
        }
    ) == {"node.id": "3"}


@pytest.mark.parametrize(
    "awaited",
    [
        r".*Transitioning from RECOVERY to RUNNING.*",
        r".*Kafka Server started.*",
        r".*\[KafkaServer id=\d+\] started.*",
        r".*started \(kafka.server.Kafka(Raft)?Server\).*",
    ],
)
def test_the_lines_that_testcontainers_waits_for_are_printed(awaited: str) -> None:
    lines = log_lines(1, "2026-01-31 12:00:00,123")
    assert any(re.fullmatch(awaited, line) for line in lines)


def served(data: Path, *words: str, **environ: str) -> subprocess.Popen[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("KAFKA_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ottla.serving.container", *words, "--data-dir", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, **environ},
    )


def test_the_broker_starts_and_prints_the_lines_once(data: Path) -> None:
    variables = {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", "KAFKA_NODE_ID": "7"}
    with served(data, "--formatted", **variables) as broker:
        assert broker.stdout is not None
        lines = [broker.stdout.readline() for _ in range(4)]
        broker.terminate()
        assert broker.wait() == 0
    assert lines[0].startswith("ottla is listening on")
    assert all("=7]" in line and " INFO " in line for line in lines[1:])


@pytest.mark.parametrize(
    ("environ", "setting"),
    [
        ({"KAFKA_PROCESS_ROLES": "controller"}, "listeners"),
        ({"KAFKA_PROCESS_ROLES": "broker"}, "controller.quorum.voters"),
        ({"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093,2@b:9093,3@c:9093"}, "listeners"),
        (
            {"KAFKA_NODE_ID": "2", "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093"},
            "controller.quorum.voters",
        ),
        (
            {"KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS": "a:9093,b:9093"},
            "controller.quorum.bootstrap.servers",
        ),
    ],
)
def test_a_container_that_the_others_cannot_find_stops_with_a_line(
    data: Path, environ: dict[str, str], setting: str
) -> None:
    with served(data, **environ) as broker:
        told = broker.communicate()[1]
    assert broker.returncode == 2
    assert told.count("\n") == 1
    assert told.startswith(f"ottla: {setting}=")


def test_another_cluster_is_one_line_with_the_status_of_kafkas_tool(kept: Path) -> None:
    with served(kept, CLUSTER_ID="wanted") as broker:
        told = broker.communicate()[1]
    assert (broker.returncode, told.count("\n")) == (1, 1)
    assert told.startswith("ottla: Invalid cluster.id in: ")


def test_a_mistake_is_one_line(data: Path) -> None:
    with served(data, KAFKA_ADVERTISED_LISTENERS="localhost") as broker:
        told = broker.communicate()[1]
    assert (broker.returncode, told.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("mounted", "chosen"),
    [
        (["data"], "data"),
        (["bitnami/kafka"], "bitnami/kafka"),
        (["bitnami"], "bitnami/kafka"),
        (["bitnami", "data"], "data"),
        (["kafka"], "kafka/data"),
        (["/"], "kafka/data"),
    ],
)
def test_a_mounted_directory_is_chosen_for_the_data(
    mounted: list[str], chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bitnami's volume is at the parent of its directory; at / everything is mounted."""
    are_mounted = {tmp_path / each for each in mounted}
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) in are_mounted)
    first = Path("/data") if mounted == ["/"] else tmp_path / "data"
    bitnami, default = tmp_path / "bitnami/kafka", tmp_path / "kafka/data"
    nothing = tmp_path / "nothing"
    places = ((default, default.parent), (first,), (bitnami, bitnami.parent))
    arguments = plan([], {}, file=nothing, secrets=nothing, directories=places).arguments
    assert arguments[arguments.index("--data-dir") + 1] == str(tmp_path / chosen)


@pytest.mark.parametrize(
    ("named", "unused"), [("elsewhere", ["data", "data/kafka"]), ("data/kafka/more", []), ("", [])]
)
def test_a_volume_that_holds_no_data_is_named(
    named: str, unused: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its user believes that the data survive the container."""
    places = (tmp_path / "data/kafka", tmp_path / "data")
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) in places)
    environ = {"KAFKA_LOG_DIRS": str(tmp_path / named)} if named else {}
    nothing = tmp_path / "nothing"
    notes = plan([], environ, file=nothing, secrets=nothing, directories=[places]).notes
    chosen = tmp_path / named
    assert sorted(notes) == [
        f"the volume at {tmp_path / each} is not used: the data are in {chosen}" for each in unused
    ]

"""Variables of Debezium's, wurstmeister's and Bitnami's images that are no settings of Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.serving.container import CannotStart, StartPlan, plan
from ottla.serving.container_images import WrongImageVariable, settings_of_images

ON_9092 = "PLAINTEXT://:9092"


def test_a_node_of_debeziums_cluster_has_its_id_and_roles() -> None:
    listeners = "CONTROLLER://kafka-2:9093,PLAINTEXT://kafka-2:9092"
    settings = {"listeners": listeners, "advertised.listeners": listeners}
    variables = {"NODE_ID": "2", "NODE_ROLE": "combined", "BROKER_ID": "7"}
    assert settings_of_images(variables, settings) == {
        "node.id": "2",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
    }
    found = settings_of_images({"BROKER_ID": "7", "NODE_ROLE": "broker"}, settings)
    assert (found["node.id"], found["process.roles"]) == ("7", "broker")


def test_settings_take_precedence() -> None:
    settings = {
        "broker.id": "1",
        "process.roles": "broker",
        "advertised.listeners": "PLAINTEXT://a:1",
    }
    variables = {"NODE_ID": "2", "NODE_ROLE": "combined", "KAFKA_ADVERTISED_HOST_NAME": "b"}
    assert settings_of_images(variables, settings) == {}


@pytest.mark.parametrize(
    ("variables", "advertised"),
    [
        ({"KAFKA_ADVERTISED_HOST_NAME": "a"}, "PLAINTEXT://a:9092"),
        ({"ADVERTISED_HOST_NAME": "a", "ADVERTISED_PORT": "1"}, "PLAINTEXT://a:1"),
        ({"KAFKA_ADVERTISED_HOST_NAME": "a", "KAFKA_CFG_NODE_ID": "1"}, "PLAINTEXT://a:9092"),
    ],
)
def test_a_named_host_is_advertised(variables: dict[str, str], advertised: str) -> None:
    found = settings_of_images(variables, {})
    assert found == {"advertised.listeners": advertised, "listeners": ON_9092}


def test_a_port_that_is_none_is_refused() -> None:
    variables = {"KAFKA_ADVERTISED_HOST_NAME": "a", "KAFKA_ADVERTISED_PORT": "b"}
    with pytest.raises(WrongImageVariable, match="KAFKA_ADVERTISED_PORT=b: must be a port"):
        settings_of_images(variables, {})


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({"KAFKA_CFG_NODE_ID": "0"}, {}),
        ({"ALLOW_PLAINTEXT_LISTENER": "yes"}, {}),
        ({"ZOOKEEPER_CONNECT": "zookeeper:2181"}, {}),
        ({}, {"zookeeper.connect": "zookeeper:2181"}),
    ],
)
def test_such_an_image_advertises_the_name_of_the_container(
    variables: dict[str, str], settings: dict[str, str]
) -> None:
    """A listener without a host is advertised by the machine's name, as in Kafka."""
    wanted = {"listeners": ON_9092, "advertised.listeners": ON_9092}
    assert settings_of_images(variables, settings) == wanted


def test_given_listeners_are_advertised_without_the_controllers() -> None:
    """The first example of Bitnami's page."""
    settings = {
        "listeners": "IN://0.0.0.0:9092, C://:9093,OUT://host:9094",
        "controller.listener.names": "c",
    }
    found = settings_of_images({"KAFKA_CFG_NODE_ID": "0"}, settings)
    assert found == {"advertised.listeners": "IN://:9092,OUT://host:9094"}
    alone = {"listeners": "CONTROLLER://:9093"}
    assert settings_of_images({"KAFKA_CFG_NODE_ID": "0"}, alone) == {}


@pytest.mark.parametrize(
    "settings", [{}, {"zookeeper.connect": "localhost:2181"}, {"listeners": "PLAINTEXT://:9092"}]
)
def test_the_images_of_apache_and_confluent_keep_their_address(settings: dict[str, str]) -> None:
    assert settings_of_images({"KAFKA_NODE_ID": "1", "CLUSTER_ID": "x"}, settings) == {}


def test_confluents_reporter_of_metrics_is_left_out() -> None:
    """Only its image cp-server has that class; compose files for it are widespread."""
    reporter = "io.confluent.metrics.reporter.ConfluentMetricsReporter"
    assert settings_of_images({}, {"metric.reporters": reporter}) == {"metric.reporters": ""}
    found = settings_of_images({}, {"metric.reporters": f"a.Reporter, {reporter}"})
    assert found == {"metric.reporters": "a.Reporter"}


def test_a_comma_at_the_end_of_listeners_is_taken_as_by_older_releases() -> None:
    settings = {"listeners": "A://:1,B://:2,", "advertised.listeners": "A://a:1, ", "x": "1,"}
    wanted = {"listeners": "A://:1,B://:2", "advertised.listeners": "A://a:1"}
    assert settings_of_images({}, settings) == wanted


def planned(data: Path, *options: str, **environ: str) -> StartPlan:
    nothing = data / "nothing"
    return plan(options, environ, file=nothing, secrets=nothing, directories=[(data,)])


def test_a_start_has_these_settings(tmp_path: Path) -> None:
    found = planned(tmp_path, KAFKA_ADVERTISED_HOST_NAME="a", NODE_ID="4")
    assert {f"listeners={ON_9092}", "advertised.listeners=PLAINTEXT://a:9092", "node.id=4"} <= {
        *found.arguments
    }
    assert found.node_id == "4"
    with pytest.raises(CannotStart, match="KAFKA_ADVERTISED_PORT=b"):
        planned(tmp_path, KAFKA_ADVERTISED_HOST_NAME="a", KAFKA_ADVERTISED_PORT="b")


def test_an_address_on_the_command_line_is_the_one_that_is_advertised(tmp_path: Path) -> None:
    arguments = planned(tmp_path, "--listen=127.0.0.1:1", BROKER_ID="4").arguments
    assert "advertised.listeners=PLAINTEXT://127.0.0.1:1" in arguments
    assert not [each for each in arguments if each.startswith("listeners=")]

"""The place of a process in its cluster, by its settings."""

from __future__ import annotations

import pytest

from ottla.broker.settings.config import BadSetting, BrokerConfig
from ottla.broker.settings.quorum import Part, Place, place_of, with_kafkas_replication

LISTENERS = {
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}
THREE = "3@c:9093,1@a:9193,2@[::2]:9093"


def place(**settings: str) -> Place:
    """The place with these settings, with _ for dots."""
    given = {name.replace("_", "."): text for name, text in settings.items()}
    return place_of(BrokerConfig.from_settings(LISTENERS | given))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"controller_quorum_voters": "1@localhost:9093"},
        {"controller_quorum_bootstrap_servers": "localhost:9093"},
        {"controller_quorum_voters": "1@kafka:9093", "listeners": "PLAINTEXT://:9092"},
    ],
)
def test_a_process_that_no_other_can_find_is_alone(settings: dict[str, str]) -> None:
    assert place(**settings).part is Part.ALONE


def test_the_voter_with_the_lowest_id_runs_the_cluster() -> None:
    voters = {"controller_quorum_voters": THREE}
    assert place(**voters) == Place(Part.LEADS, ("", 9093), awaits_others=True)
    assert place(**voters, node_id="2") == Place(Part.JOINS, ("a", 9193))
    assert place(**voters, node_id="3", process_roles="controller") == Place(
        Part.JOINS, ("a", 9193), is_broker=False
    )
    assert place(**voters, node_id="9", process_roles="broker") == Place(Part.JOINS, ("a", 9193))


def test_one_broker_that_others_could_find_waits_for_none() -> None:
    """Many compose files have one broker, and name its container as the voter."""
    expected = Place(Part.LEADS, ("", 9093), awaits_others=False)
    assert place(controller_quorum_voters="1@kafka:9093") == expected


def test_a_controller_alone_runs_the_cluster_without_a_broker() -> None:
    expected = Place(Part.LEADS, ("", 9093), is_broker=False)
    listeners = "CONTROLLER://:9093"
    assert place(process_roles="controller", listeners=listeners) == expected
    voters = "1@localhost:9093"
    assert (
        place(process_roles="controller", listeners=listeners, controller_quorum_voters=voters)
        == expected
    )


def test_a_broker_finds_the_controller_by_a_bootstrap_server() -> None:
    found = place(process_roles="broker", controller_quorum_bootstrap_servers="ctl:9093")
    assert found == Place(Part.JOINS, ("ctl", 9093))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"process_roles": "broker"}, "controller.quorum.voters"),
        (
            {"process_roles": "broker", "controller_quorum_bootstrap_servers": "ctl"},
            "controller.quorum.bootstrap.servers",
        ),
        ({"controller_quorum_voters": THREE, "listeners": "PLAINTEXT://:9092"}, "listeners"),
    ],
)
def test_a_process_that_cannot_be_found_or_find_is_refused(
    settings: dict[str, str], name: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        place(**settings)
    assert refused.value.name == name


def test_a_cluster_that_others_join_has_kafkas_replication() -> None:
    config = with_kafkas_replication(
        BrokerConfig.from_settings({"offsets.topic.replication.factor": "2"})
    )
    assert config["offsets.topic.replication.factor"] == 2
    assert config["transaction.state.log.replication.factor"] == 3
    assert config["transaction.state.log.min.isr"] == 2

"""What clients get from a broker with `--as`: refused versions, levels, settings, directories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import BrokerFailed, Ottla
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import Closed, error_name, retrying
from tests.wire.conftest import address_of


@pytest.fixture(scope="module")
def of_3_9() -> Iterator[Ottla]:
    with Ottla(as_kafka="3.9") as broker:
        yield broker


@pytest.fixture
def broker(of_3_9: Ottla, request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(address_of(of_3_9.bootstrap_servers), request.node.name)
    yield made
    made.close()


def created(broker: Broker, **configs: str) -> tuple[int, str | None]:
    """CreateTopics with settings: error code and message."""
    topic = {
        "name": broker.fresh(),
        "num_partitions": 1,
        "replication_factor": 1,
        "configs": [
            {"name": name.replace("_", "."), "value": value} for name, value in configs.items()
        ],
    }
    (answer,) = broker.call("CreateTopics", 7, {"topics": [topic]})["topics"]
    return answer["error_code"], answer["error_message"]


@pytest.mark.parametrize(
    ("api", "version"), [("Metadata", 13), ("ListTransactions", 2), ("ShareGroupDescribe", 1)]
)
def test_a_version_that_the_release_does_not_have_closes_the_connection(
    broker: Broker, api: str, version: int
) -> None:
    with pytest.raises(Closed):
        broker.call(api, version)


def test_a_version_that_is_too_old_for_ottla_closes_the_connection_though_it_is_offered(
    broker: Broker,
) -> None:
    offered = {each["api_key"]: each for each in broker.call("ApiVersions", 0)["api_keys"]}
    assert offered[1]["min_version"] == 0
    broker.connection.send_raw(b"\0\0\0\x0a" + b"\0\x01\0\0" + b"\0\0\0\x01" + b"\xff\xff")
    with pytest.raises(Closed):
        broker.connection.frame()


def test_settings_that_have_ended_are_taken(broker: Broker) -> None:
    assert created(broker, message_format_version="2.8", message_downconversion_enable="false") == (
        0,
        None,
    )


def test_settings_that_came_later_are_unknown(broker: Broker) -> None:
    code, why = created(broker, errors_deadletterqueue_group_enable="true")
    assert (code, why) == (40, "Unknown topic config name: errors.deadletterqueue.group.enable")


def test_limits_that_became_stricter_are_the_old_ones(broker: Broker) -> None:
    assert created(broker, segment_bytes="14") == (0, None)
    assert created(broker, segment_bytes="13")[0] == 40


def test_records_of_the_future_are_taken(broker: Broker) -> None:
    topic = broker.topic()
    answer = broker.produce(topic, batch(timestamp=1 << 45), version=9)
    assert error_name(answer["error_code"]) == "NONE"


def test_a_release_without_eligible_leader_replicas_has_no_minimum_of_the_cluster(
    broker: Broker,
) -> None:
    topic = {"name": broker.fresh(), "num_partitions": 1, "replication_factor": 1}
    (answer,) = broker.call("CreateTopics", 7, {"topics": [topic]})["topics"]
    sources = {each["name"]: each["config_source"] for each in answer["configs"]}
    assert sources["min.insync.replicas"] == 5, "a default"


def test_a_group_has_no_operations_on_settings_before_kafka_4_1(broker: Broker) -> None:
    found: dict[str, Any] = {}

    def described() -> str:
        body = {"groups": ["g"], "include_authorized_operations": True}
        (group,) = broker.call("DescribeGroups", 5, body)["groups"]
        found.update(group)
        return error_name(group["error_code"])

    broker.call("FindCoordinator", 2, {"key": "g", "key_type": 0})
    assert retrying(described) == "NONE"
    assert found["authorized_operations"] == [3, 6, 8], "read, delete, describe"


def test_a_new_directory_has_the_levels_of_the_release_and_keeps_them(tmp_path: Path) -> None:
    def levels(broker: Ottla) -> dict[str, int]:
        asked = Broker(address_of(broker.bootstrap_servers), "levels")
        software = {"client_software_name": "a", "client_software_version": "1"}
        answer = asked.call("ApiVersions", 3, software)
        asked.close()
        return {each["name"]: each["max_version_level"] for each in answer["finalized_features"]}

    with Ottla(as_kafka="3.9", data_dir=tmp_path) as broker:
        of_3_9 = levels(broker)
    with Ottla(data_dir=tmp_path) as broker:
        after_the_upgrade = levels(broker)
    assert of_3_9 == after_the_upgrade == {"metadata.version": 21}


def test_a_directory_of_a_later_release_is_refused(tmp_path: Path) -> None:
    with Ottla(as_kafka="4.1", data_dir=tmp_path):
        pass
    with pytest.raises(
        BrokerFailed, match=r"metadata\.version is 27, and this release reads 1 to 21"
    ):
        Ottla(as_kafka="3.9", data_dir=tmp_path).start()


def test_a_directory_of_2_8_opens_again(tmp_path: Path) -> None:
    for _ in range(2):
        with Ottla(as_kafka="2.8", data_dir=tmp_path):
            pass


def test_several_nodes_answer_as_the_release() -> None:
    with Ottla(as_kafka="3.4", nodes=2) as broker:
        for node in broker.nodes.values():
            asked = Broker(address_of(node.bootstrap), "nodes")
            offered = {each["api_key"] for each in asked.call("ApiVersions", 0)["api_keys"]}
            asked.close()
            assert 68 not in offered


def test_settings_of_later_releases_may_be_given() -> None:
    """Kafka ignores names that it does not know, and one fixture may serve several releases."""
    with Ottla(as_kafka="3.9", settings={"group.share.min.record.lock.duration.ms": "15000"}):
        pass


def test_a_wrong_release_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"there is no release 3\.5; the releases are 2\.8"):
        Ottla(as_kafka="3.5")


@pytest.mark.parametrize(
    ("protocols", "code"), [("classic", "UNSUPPORTED_VERSION"), ("classic,consumer", "NONE")]
)
def test_consumer_groups_of_3_9_depend_on_the_setting_alone(protocols: str, code: str) -> None:
    heartbeat = {
        "group_id": "g", "member_id": "", "member_epoch": 0, "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["t"], "topic_partitions": [],
    }  # fmt: skip
    settings = {"group.coordinator.rebalance.protocols": protocols}
    with Ottla(as_kafka="3.9", settings=settings) as broker:
        asked = Broker(address_of(broker.bootstrap_servers), "heartbeat")
        asked.call("FindCoordinator", 0, {"key": "g"})
        answer = retrying(
            lambda: asked.call("ConsumerGroupHeartbeat", 0, heartbeat),
            lambda answer: [error_name(answer["error_code"])],
        )
        asked.close()
    assert error_name(answer["error_code"]) == code

"""Features that Ottla does not serve: no client can ask for them, and no start hides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.node import Node
from ottla.broker.server import _Server
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.support import lines_at_start
from ottla.metadata.catalog import ResourceType
from ottla.metadata.features import FEATURES, SUPPORTED_FEATURES, is_served
from ottla.metadata.records import FeatureLevelRecord
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.storage.disk.meta_properties import WrongDirectory
from tests.broker.one_node import OneNode, one_node
from tests.clocks import LoopClock

CLIENT = {"client_software_name": "test", "client_software_version": "1"}
SHARE = "share.version"


async def share_version(it: OneNode, level: int, upgrade_type: int = 1) -> Code:
    update = {"feature": SHARE, "max_version_level": level, "upgrade_type": upgrade_type}
    answer = await it.ask(ApiKey.UPDATE_FEATURES, 2, timeout_ms=1000, feature_updates=[update])
    return Code(answer["error_code"])


async def told(it: OneNode, kind: str) -> set[str]:
    answer = await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT)
    return {each["name"] for each in answer[kind]}


def finalize(it: OneNode, name: str, level: int) -> None:
    """Append a record that a directory of Kafka may have in its metadata log."""
    it.node.controller._commit([FeatureLevelRecord(name, level)])


async def test_share_groups_are_switched_on_up_to_the_level_that_is_served(it: OneNode) -> None:
    finalize(it, SHARE, 0)  # a directory of Kafka 4.1 has none
    assert SHARE not in await told(it, "finalized_features")
    assert await share_version(it, 3) is Code.INVALID_UPDATE_VERSION
    assert await share_version(it, 1) is Code.NONE
    assert SHARE in await told(it, "finalized_features")
    assert await share_version(it, 2) is Code.NONE
    assert it.node.catalog.features == FEATURES


async def test_features_finalized_by_kafka_are_kept_and_not_advertised(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        finalize(it, SHARE, 3)
    async with one_node(tmp_path) as it:
        assert SHARE not in await told(it, "finalized_features")
        assert it.node.catalog.features[SHARE] == 3, "a Kafka that opens the directory finds it"


async def test_features_finalized_by_kafka_can_be_lowered_as_in_kafka(it: OneNode) -> None:
    finalize(it, SHARE, 1)
    assert await share_version(it, 0) is Code.INVALID_UPDATE_VERSION
    assert await share_version(it, 0, upgrade_type=2) is Code.NONE
    assert SHARE not in it.node.catalog.features


def test_a_start_names_the_features_that_are_not_served() -> None:
    (line,) = lines_at_start((), (), ["share.version=1"])
    assert line.endswith(": share.version=1")


def test_every_level_that_is_offered_is_served_and_no_other() -> None:
    for feature in SUPPORTED_FEATURES:
        lowest, highest = feature.min_supported_version, feature.max_supported_version
        assert is_served(feature.name, lowest)
        assert is_served(feature.name, highest)
        assert not is_served(feature.name, highest + 1)
    assert not is_served(SHARE, 3)
    assert not is_served("streams.version", 2)
    assert is_served("of.another.kafka", 0)


@pytest.mark.parametrize("level", [6, 34])
async def test_a_directory_under_another_version_of_the_metadata_is_refused(
    tmp_path: Path, level: int
) -> None:
    async with one_node(tmp_path) as it:
        finalize(it, "metadata.version", level)
    with pytest.raises(WrongDirectory, match=f"metadata.version is {level}, and Ottla reads 7"):
        Node(BrokerConfig.from_settings({}), tmp_path, LoopClock())


async def test_a_start_names_the_tiered_topics_of_a_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
        it.topic("plain", retention_ms="5000")
        configs: dict[str, str | None] = {"remote.storage.enable": "true"}
        it.node.controller.set_configs(ResourceType.TOPIC, "orders", configs)
        finalize(it, SHARE, 3)
        _Server._say_what_does_nothing(it.node)
    features, topics = capsys.readouterr().err.splitlines()
    assert features.endswith(": share.version=3")
    assert topics.endswith(": orders")

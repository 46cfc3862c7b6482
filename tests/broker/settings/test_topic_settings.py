"""The effects of a topic's settings; no setting is only stored."""

from __future__ import annotations

import pytest

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.config import LOG_CONFIG_FIELDS
from ottla.broker.settings.definitions import Kind, Wrong
from ottla.broker.settings.topic_settings import BROKER_NAMES, TOPIC_SETTINGS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.storage.cleaning.retention import delete_old_segments
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode
from tests.storage.compacting import values

pytestmark = pytest.mark.real_time

SETTINGS = {"log_cleaner_backoff_ms": "1000000"}
# Copies elsewhere, and followers that fetch: there are none here.
MEAN_NOTHING = {
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
}


def test_every_setting_reaches_the_log_or_means_nothing_here() -> None:
    reach = {name for name in TOPIC_SETTINGS if name.replace(".", "_") in LOG_CONFIG_FIELDS}
    elsewhere = {"internal.segment.bytes", "errors.deadletterqueue.group.enable"}
    assert set(TOPIC_SETTINGS) - reach == MEAN_NOTHING | elsewhere


@pytest.mark.parametrize("acks", [-1, 1])
async def test_one_replica_satisfies_any_min_insync_replicas(it: OneNode, acks: int) -> None:
    """As Apache Kafka: the minimum is capped by the number of replicas (KIP-966)."""

    it.topic("t", min_insync_replicas="2")
    records = bytes(build([(None, b"v")], timestamp_ms=START_MS))
    data = [{"index": 0, "records": records}]
    answer = await it.ask(
        ApiKey.PRODUCE, 9, transactional_id=None, acks=acks, timeout_ms=1000,
        topic_data=[{"name": "t", "partition_data": data}],
    )  # fmt: skip
    (partition,) = answer["responses"][0]["partition_responses"]
    assert (partition["error_code"], partition["base_offset"]) == (0, 0)


def with_old_segments(it: OneNode) -> None:
    """Twice the same key, each in a segment that is old."""
    for number in range(2):
        batch = build([(b"k", b"%d" % number)], timestamp_ms=START_MS - 10**7)
        it.log("t").append(batch, now_ms=START_MS)
        it.log("t").roll(START_MS)


def set_policy(it: OneNode, policy: str) -> None:
    it.node.controller.set_configs(2, "t", {"cleanup.policy": policy})


async def test_the_cleanup_policy_may_change_while_the_broker_runs(it: OneNode) -> None:
    """An empty one, which Kafka lets be set, neither deletes nor compacts."""

    it.topic("t", cleanup_policy="", retention_ms="1000")
    cleaner = it.cleaner()
    with_old_segments(it)
    assert delete_old_segments(it.log("t"), START_MS) == 0
    assert not await cleaner.clean_dirtiest()
    set_policy(it, "compact")
    assert delete_old_segments(it.log("t"), START_MS) == 0
    assert await cleaner.clean_dirtiest()
    assert values(it.log("t")) == {1: (b"k", b"1")}
    set_policy(it, "compact,delete")
    assert delete_old_segments(it.log("t"), START_MS) > 0
    assert values(it.log("t")) == {}
    with_old_segments(it)
    set_policy(it, "")
    assert not await cleaner.clean_dirtiest()
    assert delete_old_segments(it.log("t"), START_MS) == 0
    set_policy(it, "delete")
    assert not await cleaner.clean_dirtiest()
    assert delete_old_segments(it.log("t"), START_MS) == 2


async def test_settings_of_a_topic_reach_its_open_log_at_once(it: OneNode) -> None:
    it.topic("t")
    changes = {"preallocate": "true", "compression.type": "zstd"}
    it.node.controller.set_configs(2, "t", {**changes, "compression.zstd.level": "7"})
    config = it.log("t").config
    assert (config.preallocate, config.compression_type) == (True, "zstd")
    assert config.compression_level == 7
    it.node.controller.set_configs(2, "t", dict.fromkeys(changes))
    assert it.log("t").config.compression_level is None
    assert not it.log("t").config.preallocate


def edges(check: str) -> list[str]:
    """The values at the bounds of a range."""
    bounds, _, exception = check.partition("|")
    least, _, most = bounds.partition("..")
    return [each for each in (least, most or "9223372036854775807", exception) if each]


@pytest.mark.parametrize(("topic_setting", "broker_setting"), BROKER_NAMES.items())
def test_a_topic_allows_each_default_that_a_broker_allows(
    topic_setting: str, broker_setting: str
) -> None:
    """Otherwise the setting would pass the start, and fail with the first topic."""
    of_broker, of_topic = BROKER_SETTINGS[broker_setting], TOPIC_SETTINGS[topic_setting]
    kinds = (Kind.INT, Kind.LONG, Kind.SHORT, Kind.DOUBLE)
    values = edges(of_broker.check) if of_broker.kind in kinds and ".." in of_broker.check else []
    for value in values:
        try:
            of_broker.parse(value)
        except Wrong:
            continue  # larger than the type
        of_topic.parse(value)

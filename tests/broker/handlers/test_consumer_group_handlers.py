"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: what the node adds to the coordinator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from ottla.broker.runtime.groups.group_settings import consumer_group_settings, limits_by_group
from ottla.broker.runtime.groups.group_topics import CatalogTopics
from ottla.broker.settings.config import BrokerConfig
from ottla.coordinator.consumer.requests import ConsumerGroupSettings
from ottla.metadata.catalog import Catalog, ResourceType
from ottla.metadata.records import PartitionRecord, TopicRecord
from ottla.metadata.topics import Broker
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker import members
from tests.broker.one_node import OneNode, one_node
from tests.broker.rights import Rights

GROUP = 32
OWN = "consumer.heartbeat.interval.ms"


async def beat(
    it: OneNode, epoch: int = 0, *, group_id: str = "shoppers", member_id: str = "m", **fields: Any
) -> Any:
    return await members.beat(it, group_id, member_id, epoch, **fields)


async def describe(it: OneNode, *groups: str) -> Any:
    answer = await it.ask(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        1,
        group_ids=list(groups),
        include_authorized_operations=True,
    )
    return answer["groups"]


async def prepared(it: OneNode) -> None:
    """The topic, and the coordinators."""
    it.topic("orders", 2)
    for _ in range(3):
        found = await it.ask(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["shoppers"])
        if not found["coordinators"][0]["error_code"]:
            break
        await asyncio.sleep(1)


async def set_feature(it: OneNode, level: int) -> None:
    how = 1 if level else 3
    update = {"feature": "group.version", "max_version_level": level, "upgrade_type": how}
    answer = await it.ask(ApiKey.UPDATE_FEATURES, 1, timeout_ms=1000, feature_updates=[update])
    assert answer["error_code"] == 0, answer


async def test_a_member_is_assigned_and_shown(it: OneNode) -> None:
    await prepared(it)
    told = await beat(it)
    assert (told["error_code"], told["member_epoch"]) == (0, 2)
    (part,) = told["assignment"]["topic_partitions"]
    assert part["partitions"] == [0, 1]
    assert (await beat(it, 2))["assignment"] is None
    (shown,) = await describe(it, "shoppers")
    (member,) = shown["members"]
    assert member["assignment"]["topic_partitions"][0]["topic_name"] == "orders"
    assert member["client_host"] == f"/{it.connection.host}"
    assert shown["authorized_operations"] == sum(1 << bit for bit in (3, 6, 8, 10, 11))


async def test_a_described_member_has_the_partitions_that_it_still_has_to_give_up(
    tmp_path: Path,
) -> None:
    """ConsumerGroupMember.asConsumerGroupDescribeMember, since Kafka 4.3."""
    async with one_node(tmp_path, group_consumer_assignment_interval_ms="0") as it:
        await prepared(it)
        epoch = (await beat(it))["member_epoch"]
        await beat(it, member_id="n")
        left = (await beat(it, epoch))["assignment"]["topic_partitions"]
        assert [len(topic["partitions"]) for topic in left] == [1]
        (shown,) = await describe(it, "shoppers")
        partitions = {
            member["member_id"]: [
                index
                for topic in member["assignment"]["topic_partitions"]
                for index in topic["partitions"]
            ]
            for member in shown["members"]
        }
        assert partitions == {"m": [0, 1], "n": []}


async def test_before_version_1_the_node_makes_up_an_id(it: OneNode) -> None:
    await prepared(it)
    told = await beat(it, version=0, member_id="")
    assert len(told["member_id"]) == 22
    assert (await beat(it, member_id=""))["error_code"] == Code.INVALID_REQUEST


@pytest.mark.parametrize("linger_ms", [0, 5])
async def test_an_answer_that_had_to_be_logged_lingers(tmp_path: Path, linger_ms: int) -> None:
    """As Kafka's: librdkafka's tests count on it."""
    async with one_node(tmp_path, group_coordinator_append_linger_ms=str(linger_ms)) as it:
        await prepared(it)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await beat(it)
        joined = loop.time()
        await beat(it, 2)
        assert (round((joined - began) * 1000), loop.time()) == (linger_ms, joined)


@pytest.mark.parametrize("linger_ms", [0, 5])
async def test_an_assignment_lingers_when_it_is_brought(tmp_path: Path, linger_ms: int) -> None:
    """As Kafka's: who revokes at once must not rejoin before the others have synced."""
    settings = {
        "group_coordinator_append_linger_ms": str(linger_ms),
        "group_initial_rebalance_delay_ms": "0",
    }
    async with one_node(tmp_path, **settings) as it:
        it.node.controller.create_internal_topic("__consumer_offsets")
        joined = await it.ask(
            ApiKey.JOIN_GROUP,
            3,
            group_id="walkers",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[{"name": "range"}],
        )
        member_id = joined["member_id"]
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        for _ in range(2):
            synced = await it.ask(
                ApiKey.SYNC_GROUP,
                2,
                group_id="walkers",
                generation_id=1,
                member_id=member_id,
                assignments=[{"member_id": member_id, "assignment": b"all"}],
            )
            assert (synced["error_code"], synced["assignment"]) == (Code.NONE, b"all")
            times.append(loop.time())
        assert (round((times[1] - times[0]) * 1000), times[2]) == (linger_ms, times[1])


async def test_a_group_may_have_limits_of_its_own(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        await prepared(it)
        assert (await beat(it))["heartbeat_interval_ms"] == 5_000
        change = {"name": OWN, "config_operation": 0, "value": "7000"}
        resource = {"resource_type": GROUP, "resource_name": "shoppers", "configs": [change]}
        answer = await it.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
        assert answer["responses"][0]["error_code"] == 0
        assert (await beat(it, 2))["heartbeat_interval_ms"] == 7_000
    async with one_node(tmp_path) as it:
        await asyncio.sleep(0)
        await prepared_again(it)
        assert (await beat(it, 2))["heartbeat_interval_ms"] == 7_000


async def prepared_again(it: OneNode) -> None:
    for _ in range(5):
        if not (await beat(it, 2))["error_code"]:
            return
        await asyncio.sleep(1)


async def test_consumer_groups_need_their_feature(it: OneNode) -> None:
    await prepared(it)
    await beat(it)
    await set_feature(it, 0)
    assert (await beat(it, 2))["error_code"] == Code.UNSUPPORTED_VERSION
    assert (await describe(it, "shoppers"))[0]["error_code"] == Code.UNSUPPORTED_VERSION
    await set_feature(it, 1)
    assert (await beat(it, 2))["error_code"] == 0


async def test_a_broker_may_be_set_to_have_none(tmp_path: Path) -> None:
    async with one_node(tmp_path, group_coordinator_rebalance_protocols="classic") as it:
        await prepared(it)
        assert (await beat(it))["error_code"] == Code.UNSUPPORTED_VERSION


async def test_an_unknown_group_has_its_own_error(it: OneNode) -> None:
    await prepared(it)
    codes = [each["error_code"] for each in await describe(it, "nobody", "")]
    assert codes == [Code.GROUP_ID_NOT_FOUND, Code.INVALID_GROUP_ID]


async def test_a_topic_without_describe_rights_is_refused_and_not_matched(tmp_path: Path) -> None:
    async with one_node(tmp_path, group_consumer_assignment_interval_ms="0") as it:
        await prepared(it)
        it.topic("orders-secret")
        it.node.workers.close()  # topics are matched in this thread
        secret = await beat(it, subscribed_topic_names=["orders-secret"])
        it.node.authorizer = Rights(lambda _, __, name: name in ("orders", "shoppers"))
        assert secret["error_code"] == 0
        (shown,) = await describe(it, "shoppers")
        assert (shown["error_code"], shown["members"]) == (Code.TOPIC_AUTHORIZATION_FAILED, [])
        refused = await beat(it, 2, subscribed_topic_names=["orders-secret"])
        assert refused["error_code"] == Code.TOPIC_AUTHORIZATION_FAILED
        refused = await beat(it, group_id="secret")
        assert refused["error_code"] == Code.GROUP_AUTHORIZATION_FAILED
        await beat(it, 2, subscribed_topic_names=[], subscribed_topic_regex="orders.*")
        await asyncio.sleep(0.1)
        told = await beat(it, 2, topic_partitions=[])
        topics = [
            it.node.catalog.topic_by_id(part["topic_id"])
            for part in told["assignment"]["topic_partitions"]
        ]
        names = {topic.name for topic in topics if topic is not None}
        assert names == {"orders"}


# ---- settings and topics


def test_the_limits_are_those_of_the_configuration() -> None:
    assert consumer_group_settings(BrokerConfig.from_settings({})) == ConsumerGroupSettings()
    classes = "org.apache.kafka.coordinator.group.assignor."
    changed = BrokerConfig.from_settings(
        {
            "group.consumer.min.session.timeout.ms": "1",
            "group.consumer.session.timeout.ms": "3",
            "group.consumer.min.heartbeat.interval.ms": "1",
            "group.consumer.heartbeat.interval.ms": "2",
            "group.consumer.max.size": "4",
            "group.consumer.assignors": f"{classes}RangeAssignor",
            "group.consumer.regex.refresh.interval.ms": "10001",
            "group.consumer.migration.policy": "Upgrade",
        }
    )
    assert consumer_group_settings(changed) == ConsumerGroupSettings(
        session_timeout_ms=3,
        heartbeat_interval_ms=2,
        max_size=4,
        assignors=("range",),
        regex_refresh_interval_ms=10_001,
        may_upgrade=True,
        may_downgrade=False,
    )
    assert limits_by_group(changed, Catalog())("any")[:2] == (3, 2)


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [("disabled", (False, False)), ("DOWNGRADE", (False, True)), ("bidirectional", (True, True))],
)
def test_the_policy_says_which_way_groups_may_go(policy: str, wanted: tuple[bool, bool]) -> None:
    config = BrokerConfig.from_settings({"group.consumer.migration.policy": policy})
    settings = consumer_group_settings(config)
    assert (settings.may_upgrade, settings.may_downgrade) == wanted


def made(catalog: Catalog, name: str) -> UUID:
    """A topic of one partition in a catalog."""
    topic_id = uuid4()
    offset = catalog.last_offset
    catalog.replay(TopicRecord(name, topic_id), offset + 1)
    partition = PartitionRecord(0, topic_id, (1,), (1,), leader=1)
    catalog.replay(partition, offset + 2)
    return topic_id


def test_the_coordinator_sees_the_catalog() -> None:
    catalog = Catalog()
    topics = CatalogTopics(catalog)
    before = topics.version
    topic_id = made(catalog, "orders")
    facts = topics.by_name("orders")
    assert facts is not None
    assert facts == topics.by_id(topic_id) == (topic_id, "orders", 1, ())
    assert topics.by_name("stock") is None
    assert topics.by_id(uuid4()) is None
    assert list(topics.names()) == ["orders"]
    assert topics.version > before


def test_only_a_topic_that_is_made_raises_the_newest_version() -> None:
    catalog = Catalog()
    topics = CatalogTopics(catalog)
    topic_id = made(catalog, "orders")
    newest = topics.newest_version
    assert newest == topics.version
    partition = PartitionRecord(1, topic_id, (1,), (1,), leader=1)
    catalog.replay(partition, catalog.last_offset + 1)
    assert (topics.newest_version, topics.version > newest) == (newest, True)
    made(catalog, "stock")
    assert topics.newest_version == topics.version


def test_racks_of_brokers_are_those_of_their_replicas() -> None:
    catalog = Catalog()
    made(catalog, "orders")
    catalog.brokers = {1: Broker(1, 0, UUID(int=1), (), rack="east")}
    facts = CatalogTopics(catalog).by_name("orders")
    assert facts is not None
    assert facts.racks == (("east",),)


def test_a_groups_own_setting_is_the_catalogs() -> None:
    catalog = Catalog()
    for record in catalog.set_configs(ResourceType.GROUP, "shoppers", {OWN: "9000"}):
        catalog.replay(record, catalog.last_offset + 1)
    limits_of = limits_by_group(BrokerConfig.from_settings({}), catalog)
    assert limits_of("shoppers").heartbeat_interval_ms == 9_000
    assert limits_of("others").heartbeat_interval_ms == 5_000


def test_the_limits_of_groups_follow_the_dynamic_settings() -> None:
    config = BrokerConfig.from_settings({})
    limits_of = limits_by_group(config, Catalog())
    assert limits_of("any").assignment_interval_ms == 1_000
    config.use_dynamic({"group.consumer.assignment.interval.ms": "7"}, {})
    assert limits_of("any").assignment_interval_ms == 7

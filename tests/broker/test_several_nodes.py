"""Several nodes over one storage: leaders, followers' answers, and moves of leaders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.cluster_description import brokers_alive
from ottla.broker.requests.context import ConnectionInfo, Context
from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.broker.settings.config import BadSetting, BrokerConfig
from ottla.broker.settings.listeners import PLAINTEXT, ServedListener
from ottla.broker.settings.node_configs import configs_of
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from tests.broker.several_nodes import SeveralNodes, several_nodes, until
from tests.clocks import VirtualClock

pytestmark = pytest.mark.real_time(debug=True)

BALANCED_EACH_MS = 300_000
"""The default of leader.imbalance.check.interval.seconds."""


async def produce(
    it: SeveralNodes, node_id: int, version: int = 11, *, acks: int = -1, index: int = 0
) -> Any:
    """A batch for a partition of `orders`; the whole answer."""
    records = bytes(build([(None, b"a")], timestamp_ms=it.cluster.clock.now_ms()))
    data = [{"name": "orders", "partition_data": [{"index": index, "records": records}]}]
    return await it.ask(
        node_id, ApiKey.PRODUCE, version, acks=acks, timeout_ms=1000, topic_data=data
    )


def produced(answer: Any) -> Code:
    return Code(answer["responses"][0]["partition_responses"][0]["error_code"])


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[SeveralNodes]:
    async with several_nodes(tmp_path) as it:
        yield it


async def test_each_node_returns_the_listeners_of_all_nodes(it: SeveralNodes) -> None:
    ports = {node_id: door.advertised[0].port for node_id, door in it.doors.items()}
    assert len(set(ports.values())) == 3
    for asked in it.nodes:
        context = await it.ask(asked, ApiKey.METADATA, 12, topics=[])
        told = {broker["node_id"]: broker["port"] for broker in context["brokers"]}
        assert told.keys() == ports.keys()
        others = [node_id for node_id in ports if node_id != asked]
        assert [told[node_id] for node_id in others] == [ports[each] for each in others]
        described = await it.ask(asked, ApiKey.DESCRIBE_CLUSTER, 2, endpoint_type=1)
        assert [broker["broker_id"] for broker in described["brokers"]] == [1, 2, 3]


@pytest.mark.parametrize(("version", "hints"), [(9, False), (10, True), (11, True)])
async def test_a_follower_returns_the_leader(version: int, hints: bool, it: SeveralNodes) -> None:
    it.topic("orders", 2)
    answer = await produce(it, 1, version)
    assert produced(answer) is Code.NOT_LEADER_OR_FOLLOWER
    log = it.cluster.open_log_of("orders", 0)
    assert log is not None
    assert log.log_end_offset == 0
    (partition,) = answer["responses"][0]["partition_responses"]
    if hints:
        assert partition["current_leader"] == {"leader_id": 2, "leader_epoch": 0}
        (endpoint,) = answer["node_endpoints"]
        assert (endpoint["node_id"], endpoint["port"]) == (2, it.doors[2].advertised[0].port)
    else:
        assert "current_leader" not in partition
    assert produced(await produce(it, 2, version)) is Code.NONE


@pytest.mark.parametrize(("version", "hints"), [(15, False), (16, True), (18, True)])
async def test_a_fetch_from_the_wrong_node_gets_the_right_one(
    version: int, hints: bool, it: SeveralNodes
) -> None:
    topic = it.topic("orders", 2, replicas=2)
    it.controller.change_leader("orders", 0, 1)

    async def fetch(node_id: int, leader_epoch: int) -> Any:
        asked = {"partition": 0, "current_leader_epoch": leader_epoch, "fetch_offset": 0}
        asked |= {"partition_max_bytes": 100, "last_fetched_epoch": -1}
        topics = [{"topic_id": topic.topic_id, "partitions": [asked]}]
        return await it.ask(node_id, ApiKey.FETCH, version, max_bytes=100, topics=topics)

    for node_id, epoch, code in (
        (3, -1, Code.NOT_LEADER_OR_FOLLOWER),
        (3, 0, Code.NOT_LEADER_OR_FOLLOWER),
        (1, 0, Code.FENCED_LEADER_EPOCH),
        (2, 0, Code.FENCED_LEADER_EPOCH),
    ):
        answer = await fetch(node_id, epoch)
        (partition,) = answer["responses"][0]["partitions"]
        assert Code(partition["error_code"]) is code
        if hints:
            assert partition["current_leader"] == {"leader_id": 1, "leader_epoch": 1}
            assert [each["node_id"] for each in answer["node_endpoints"]] == [1]
        else:
            assert not answer.get("node_endpoints")


@pytest.mark.parametrize(
    ("version", "code"), [(10, Code.NOT_LEADER_OR_FOLLOWER), (11, Code.NONE), (12, Code.NONE)]
)
async def test_any_replica_may_be_read_from_since_version_11(
    version: int, code: Code, it: SeveralNodes
) -> None:
    """KIP-392; Apache Kafka's followers do not look at the rack either."""
    it.topic("orders", 2, replicas=2)
    assert produced(await produce(it, 2)) is Code.NONE

    async def fetch(node_id: int, leader_epoch: int) -> tuple[Code, int]:
        asked = {"partition": 0, "current_leader_epoch": leader_epoch, "fetch_offset": 0}
        asked |= {"partition_max_bytes": 1000, "last_fetched_epoch": -1}
        topics: Any = [{"topic": "orders", "partitions": [asked]}]
        answer = await it.ask(node_id, ApiKey.FETCH, version, max_bytes=1000, topics=topics)
        (partition,) = answer["responses"][0]["partitions"]
        return Code(partition["error_code"]), len(partition["records"] or b"")

    found, size_bytes = await fetch(1, -1)
    assert found is code
    assert (size_bytes > 0) is (code is Code.NONE)
    assert await fetch(1, 7) == (Code.UNKNOWN_LEADER_EPOCH, 0)
    assert await fetch(3, -1) == (Code.NOT_LEADER_OR_FOLLOWER, 0)


async def test_a_long_poll_ends_when_the_leader_moves(it: SeveralNodes) -> None:
    topic = it.topic("orders", 2, replicas=3)
    asked = {"partition": 0, "current_leader_epoch": 0, "fetch_offset": 0}
    asked |= {"partition_max_bytes": 100, "last_fetched_epoch": -1}
    topics = [{"topic_id": topic.topic_id, "partitions": [asked]}]
    fetching = asyncio.ensure_future(
        it.ask(2, ApiKey.FETCH, 17, max_bytes=100, min_bytes=1, max_wait_ms=60_000, topics=topics)
    )
    await until(lambda: it.cluster.fetch_waits._by_partition)
    it.controller.change_leader("orders", 0, 3)
    async with asyncio.timeout(5):
        answer = await fetching
    (partition,) = answer["responses"][0]["partitions"]
    assert Code(partition["error_code"]) is Code.FENCED_LEADER_EPOCH


async def test_a_node_that_stops_hands_over_and_one_that_is_back_follows(it: SeveralNodes) -> None:
    it.topic("orders", 2, replicas=3)
    it.topic("alone", 2)
    await it.stop(2)
    known = it.partition("orders")
    assert (known.leader_id, known.leader_epoch, known.isr) == (1, 1, (1, 3))
    assert it.partition("alone").leader_id == -1
    told = await it.ask(1, ApiKey.METADATA, 12, topics=None)
    codes = {topic["name"]: Code(topic["partitions"][0]["error_code"]) for topic in told["topics"]}
    assert codes == {"orders": Code.NONE, "alone": Code.LEADER_NOT_AVAILABLE}
    assert [broker["node_id"] for broker in told["brokers"]] == [1, 3]
    assert produced(await produce(it, 1)) is Code.NONE
    log = it.cluster.open_log_of("orders", 0)
    assert log is not None
    assert log.leader_epoch == 1
    await it.start(2)
    known = it.partition("orders")
    assert (known.leader_id, known.isr) == (1, (1, 3, 2))
    assert it.partition("alone").leader_id == 2


async def test_acks_all_wants_as_many_in_sync_as_the_topic_says(it: SeveralNodes) -> None:
    it.topic("orders", 1, replicas=3, min_insync_replicas="2")
    assert produced(await produce(it, 1)) is Code.NONE
    await it.stop(2)
    assert produced(await produce(it, 1)) is Code.NONE
    await it.stop(3)
    assert produced(await produce(it, 1)) is Code.NOT_ENOUGH_REPLICAS
    assert produced(await produce(it, 1, acks=1)) is Code.NONE
    await it.start(3)
    assert produced(await produce(it, 1)) is Code.NONE


async def test_a_coordinator_without_enough_replicas_is_not_available(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, transaction_state_log_num_partitions="1") as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        leader_id = it.partition(TRANSACTION_STATE).leader_id

        async def init() -> Code:
            fields = {"transactional_id": "shop", "transaction_timeout_ms": 60_000}
            fields |= {"producer_id": -1, "producer_epoch": -1}
            answer = await it.ask(leader_id, ApiKey.INIT_PRODUCER_ID, 4, **fields)
            return Code(answer["error_code"])

        assert await init() is Code.NONE
        for node_id in set(it.nodes) - {leader_id}:
            await it.stop(node_id)
        assert await init() is Code.COORDINATOR_NOT_AVAILABLE
        assert it.partition(TRANSACTION_STATE).leader_id == leader_id


async def test_coordinators_go_with_the_leaders(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, offsets_topic_num_partitions="3") as it:
        it.topic("orders", 1)
        it.controller.create_internal_topic(CONSUMER_OFFSETS)
        assert [len(node.groups.shards()) for node in it.nodes.values()] == [1, 1, 1]

        async def found(asked: int) -> int:
            answer = await it.ask(asked, ApiKey.FIND_COORDINATOR, 4, coordinator_keys=["shop"])
            return int(answer["coordinators"][0]["node_id"])

        async def commit(node_id: int, offset: int) -> Code:
            partitions = [{"partition_index": 0, "committed_offset": offset}]
            topics = [{"name": "orders", "partitions": partitions}]
            answer = await it.ask(node_id, ApiKey.OFFSET_COMMIT, 8, group_id="shop", topics=topics)
            return Code(answer["topics"][0]["partitions"][0]["error_code"])

        coordinator = await found(1)
        assert coordinator == await found(2) == await found(3)
        others = [node_id for node_id in it.nodes if node_id != coordinator]
        assert [await commit(node_id, 1) for node_id in others] == [Code.NOT_COORDINATOR] * 2
        assert await commit(coordinator, 5) is Code.NONE
        await it.stop(coordinator)
        successor = await found(others[0])
        assert successor in others
        await until(lambda: not it.cluster.loading.left)
        topics = [{"name": "orders", "partition_indexes": [0]}]
        answer = await it.ask(successor, ApiKey.OFFSET_FETCH, 7, group_id="shop", topics=topics)
        assert answer["topics"][0]["partitions"][0]["committed_offset"] == 5


async def test_each_node_hands_out_producer_ids_of_its_own(it: SeveralNodes) -> None:
    ids = [node.producer_ids.next() for node in it.nodes.values() for _ in range(3)]
    assert ids == [0, 1, 2, 1000, 1001, 1002, 2000, 2001, 2002]


async def test_a_transactional_batch_is_let_in_by_a_coordinator_on_another_node(
    tmp_path: Path,
) -> None:
    async with several_nodes(tmp_path, transaction_state_log_num_partitions="1") as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        coordinator = it.partition(TRANSACTION_STATE).leader_id
        other = next(node_id for node_id in it.nodes if node_id != coordinator)
        it.topic("orders", other)
        fields = {"transactional_id": "shop", "transaction_timeout_ms": 60_000}
        fields |= {"producer_id": -1, "producer_epoch": -1}
        started = await it.ask(coordinator, ApiKey.INIT_PRODUCER_ID, 4, **fields)
        records = bytes(
            build(
                [(None, b"a")],
                timestamp_ms=it.cluster.clock.now_ms(),
                producer_id=started["producer_id"],
                producer_epoch=started["producer_epoch"],
                base_sequence=0,
                transactional=True,
            )
        )
        data = [{"name": "orders", "partition_data": [{"index": 0, "records": records}]}]
        sent = {"acks": -1, "timeout_ms": 1000, "transactional_id": "shop", "topic_data": data}
        refused = await it.ask(other, ApiKey.PRODUCE, 11, **sent)
        assert produced(refused) is Code.TRANSACTION_ABORTABLE
        assert produced(await it.ask(other, ApiKey.PRODUCE, 12, **sent)) is Code.NONE
        ended = await it.ask(
            coordinator, ApiKey.END_TXN, 4, transactional_id="shop", committed=True,
            producer_id=started["producer_id"], producer_epoch=started["producer_epoch"],
        )  # fmt: skip
        assert Code(ended["error_code"]) is Code.NONE
        log = it.cluster.open_log_of("orders", 0)
        assert log is not None
        await until(lambda: log.last_stable_offset == log.log_end_offset == 2)


async def test_a_start_with_fewer_nodes_fences_the_missing_ones(tmp_path: Path) -> None:
    async with several_nodes(tmp_path) as it:
        it.topic("orders", 2, replicas=3)
        it.topic("alone", 2)
    async with several_nodes(tmp_path, 1) as it:
        assert it.partition("orders").leader_id == 1
        assert it.partition("alone").leader_id == -1
        assert [broker.is_fenced for broker in it.cluster.catalog.brokers.values()] == [
            False, True, True,
        ]  # fmt: skip
    async with several_nodes(tmp_path) as it:
        assert it.partition("alone").leader_id == 2
        assert set(it.partition("orders").isr) == {1, 2, 3}


def test_nodes_have_the_next_ids_and_ports() -> None:
    config = BrokerConfig.from_settings(
        {
            "node.id": "5",
            "listeners": "A://127.0.0.1:9092,B://[::1]:9093,C://:0",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT,C:PLAINTEXT",
            "advertised.listeners": "A://here:19092,B://here:19093",
            "inter.broker.listener.name": "A",
            "num.partitions": "7",
        }
    )
    first, second = configs_of(config, 2)
    assert (first.node_id, second.node_id) == (5, 6)
    assert [(each.host, each.port) for each in second.listeners] == [
        ("127.0.0.1", 9094), ("::1", 9095), ("", 0),
    ]  # fmt: skip
    assert [each.port for each in second.advertised()][:2] == [19094, 19095]
    assert second["num.partitions"] == 7


def test_internal_topics_of_several_nodes_are_replicated() -> None:
    config = BrokerConfig.from_settings({"transaction.state.log.min.isr": "1"})
    for node in configs_of(config, 3):
        assert node["offsets.topic.replication.factor"] == 3
        assert node["transaction.state.log.replication.factor"] == 3
        assert node["transaction.state.log.min.isr"] == 1, "as it was given"
    assert configs_of(config, 2)[0]["offsets.topic.replication.factor"] == 2


def test_ports_have_an_end() -> None:
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://:65535"})
    with pytest.raises(BadSetting, match="listeners"):
        configs_of(config, 2)


async def test_metadata_returns_the_endpoints_of_the_clients_listener(tmp_path: Path) -> None:
    settings = {
        "listeners": "A://127.0.0.1:0,B://127.0.0.1:0",
        "listener_security_protocol_map": "A:PLAINTEXT,B:PLAINTEXT",
        "inter_broker_listener_name": "B",
    }
    async with several_nodes(tmp_path, 2, **settings) as it:
        told = it.doors[1].advertised
        assert it.doors[1].between_nodes == ("127.0.0.1", told[1].port)
        for number, listener in enumerate(told):
            served = ServedListener(listener.name, PLAINTEXT, listener.host, listener.port)
            connection = ConnectionInfo("1", "here:1", "here", served)
            context = Context(ApiKey.METADATA, 12, 1, None, connection)
            ports = [broker["port"] for broker in brokers_alive(it.nodes[1], context)]
            assert ports == [listener.port, it.doors[2].advertised[number].port]


async def test_leaders_are_elected_and_replicas_reassigned_by_kafkas_own_requests(
    it: SeveralNodes,
) -> None:
    it.topic("orders", 2, replicas=3)
    await it.stop(2)
    await it.start(2)
    assert it.partition("orders").leader_id == 1
    elected = await it.ask(
        3, ApiKey.ELECT_LEADERS, 2, election_type=0, timeout_ms=1000,
        topic_partitions=[{"topic": "orders", "partitions": [0]}],
    )  # fmt: skip
    (result,) = elected["replica_election_results"][0]["partition_result"]
    assert Code(result["error_code"]) is Code.NONE
    assert (it.partition("orders").leader_id, it.partition("orders").leader_epoch) == (2, 2)
    assert produced(await produce(it, 1)) is Code.NOT_LEADER_OR_FOLLOWER
    assert produced(await produce(it, 2)) is Code.NONE
    moved = await it.ask(
        1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, timeout_ms=1000,
        topics=[
            {"name": "orders", "partitions": [{"partition_index": 0, "replicas": [3]}]}
        ],
    )  # fmt: skip
    assert Code(moved["error_code"]) is Code.NONE
    assert it.partition("orders").leader_id == 3
    assert produced(await produce(it, 2)) is Code.NOT_LEADER_OR_FOLLOWER
    assert produced(await produce(it, 3)) is Code.NONE


async def test_settings_of_one_broker_are_its_own(it: SeveralNodes) -> None:
    it.controller.set_configs(4, "2", {"log.cleaner.threads": "3"})
    it.controller.set_configs(4, "", {"num.io.threads": "5"})
    assert [node.config["log.cleaner.threads"] for node in it.nodes.values()] == [1, 3, 1]
    assert [node.config["num.io.threads"] for node in it.nodes.values()] == [5, 5, 5]


async def test_preferred_replicas_lead_again_after_a_while(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with several_nodes(tmp_path, 3, WORK_LIMITS, clock) as it:
        it.topic("orders", 1, 2, 3, replicas=3)
        it.topic("alone", 2)
        await it.stop(2)
        await it.start(2)
        await clock.advance_ms(BALANCED_EACH_MS - 1)
        assert it.partition("orders", 1).leader_id == 1
        await clock.advance_ms(1)
        assert it.partition("orders", 1).leader_id == 2
        assert [it.partition("orders", index).leader_epoch for index in range(3)] == [0, 2, 0]


async def test_leaders_stay_where_they_are_when_that_is_wanted(tmp_path: Path) -> None:
    clock = VirtualClock()
    settings = {"auto_leader_rebalance_enable": "false"}
    async with several_nodes(tmp_path, 2, WORK_LIMITS, clock, **settings) as it:
        it.topic("orders", 2, replicas=2)
        await it.stop(2)
        await it.start(2)
        await clock.advance_ms(2 * BALANCED_EACH_MS)
        assert it.partition("orders").leader_id == 1


async def test_requests_waiting_at_a_coordinator_end_when_another_takes_over(
    tmp_path: Path,
) -> None:
    settings = {"offsets_topic_num_partitions": "1", "group_initial_rebalance_delay_ms": "60000"}
    async with several_nodes(tmp_path, **settings) as it:
        it.controller.create_internal_topic(CONSUMER_OFFSETS)
        coordinator = it.partition(CONSUMER_OFFSETS).leader_id
        other = next(node_id for node_id in it.nodes if node_id != coordinator)
        asked = {
            "group_id": "shop",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        joining = asyncio.ensure_future(it.ask(coordinator, ApiKey.JOIN_GROUP, 3, **asked))
        shard = it.nodes[coordinator].groups.shard_at(0)
        await until(lambda: shard._parked_requests)
        it.controller.change_leader(CONSUMER_OFFSETS, 0, other)
        assert Code((await joining)["error_code"]) is Code.NOT_COORDINATOR


async def test_every_node_knows_that_a_damaged_log_coordinates_nothing(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, offsets_topic_num_partitions="1") as it:
        it.controller.create_internal_topic(CONSUMER_OFFSETS)
        coordinator = it.partition(CONSUMER_OFFSETS).leader_id
        it.nodes[coordinator].groups._unusable.add(0)
        for asked in it.nodes:
            answer = await it.ask(asked, ApiKey.FIND_COORDINATOR, 4, coordinator_keys=["shop"])
            code = Code(answer["coordinators"][0]["error_code"])
            assert code is Code.COORDINATOR_NOT_AVAILABLE


async def test_a_node_that_was_started_again_gives_producer_ids_of_a_new_block(
    tmp_path: Path,
) -> None:
    async with several_nodes(tmp_path) as nodes:
        first = nodes.nodes[2].producer_ids.next()
        await nodes.stop(2)
        await nodes.start(2)
        assert nodes.nodes[2].producer_ids.next() == first + 1000

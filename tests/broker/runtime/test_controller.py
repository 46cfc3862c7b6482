"""The controller: what it decided is on disk and in the logs, also after a kill at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from uuid import UUID

import pytest

from ottla.broker.runtime.controller.controller import Controller, random_topic_id
from ottla.broker.settings.config import BadSetting, BrokerConfig
from ottla.broker.settings.internal_topics import INTERNAL_TOPIC_SETTINGS
from ottla.metadata.catalog import Catalog, ResourceType
from ottla.metadata.features import FEATURES
from ottla.metadata.records import BeginTransactionRecord, EndPoint, TopicRecord
from ottla.protocol.errors import Code, Refused
from ottla.storage.kraft.metadata_log import MetadataLog
from ottla.storage.log_directory import LogDirectory
from tests.clocks import StillClock
from tests.storage.disk import Disk, PowerCut
from tests.storage.logs import batch

NOW_MS = 1_700_000_000_000
HERE = EndPoint("PLAINTEXT", "localhost", 9092)


class Life:
    """One start of a broker's metadata, on a disk that outlives it."""

    def __init__(self, disk: Disk, node_ids: tuple[int, ...] = (1,), **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig.from_settings({"node.id": "1", **named})
        self.directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
        self.metadata_log = MetadataLog.open(self.directory, now_ms=NOW_MS)
        self.catalog = Catalog()
        self.metadata_log.replay_into(self.catalog)
        numbers = count(1000 + self.catalog.last_offset)
        self.controller = Controller(
            self.catalog, self.metadata_log, self.directory,
            config=self.config, clock=StillClock(),
            new_id=lambda: UUID(int=next(numbers)),
        )  # fmt: skip
        self.controller.bootstrap()
        for node_id in node_ids:
            self.controller.register_broker(node_id, [HERE])
        self.controller.topic_logs.open_all()

    def logs(self) -> set[str]:
        """The partitions that have an open log."""
        names = {f"{log.topic}-{log.partition}" for log in self.directory.logs()}
        return names - {"__cluster_metadata-0"}

    def partitions(self) -> set[str]:
        """The partitions of the catalog."""
        return {
            f"{topic.name}-{part.index}"
            for topic in self.catalog.topics.values()
            for part in topic.partitions
        }


def refused_with(code: Code, act: Callable[[], object]) -> None:
    with pytest.raises(Refused) as refused:
        act()
    assert refused.value.code == code


def test_a_new_cluster_has_the_features_of_kafka_4_1_and_its_broker() -> None:
    life = Life(Disk())
    assert life.catalog.features == FEATURES
    assert life.catalog.overrides(ResourceType.BROKER, "") == {"min.insync.replicas": "1"}
    broker = life.catalog.brokers[1]
    assert broker.is_active
    assert broker.end_points == (HERE,)
    assert broker.log_dirs == (life.directory.directory_id,)
    assert life.directory.directory_id.int != 0


def test_each_start_registers_the_broker_under_an_epoch_of_its_own() -> None:
    disk = Disk()
    first = Life(disk)
    epoch, offset = first.catalog.brokers[1].epoch, first.catalog.last_offset
    second = Life(disk.after_kill())
    again = second.catalog.brokers[1]
    assert again.epoch > offset > epoch
    assert second.directory.broker_epoch == again.epoch
    assert again.is_active
    second.controller.register_broker(1, [EndPoint("PLAINTEXT", "localhost", 9093)])
    assert second.catalog.brokers[1].end_points[0].port == 9093


def test_a_broker_that_stops_is_fenced_and_keeps_its_partitions() -> None:
    disk = Disk()
    life = Life(disk)
    life.controller.create_topic("orders")
    life.controller.unregister_broker(1)
    offset = life.catalog.last_offset
    life.controller.unregister_broker(1)
    assert life.catalog.last_offset == offset, "it is fenced already"
    assert life.catalog.brokers[1].is_fenced
    assert life.catalog.topics["orders"].partitions[0].leader_id == 1
    assert Life(disk.after_kill()).catalog.brokers[1].is_active


def test_topics_get_the_defaults_of_the_broker() -> None:
    life = Life(Disk(), (1, 2), num_partitions="4", default_replication_factor="2")
    topic = life.controller.create_topic("orders")
    assert len(topic.partitions) == 4
    assert all(len(partition.replicas) == 2 for partition in topic.partitions)
    assert life.logs() == {f"orders-{index}" for index in range(4)}


def test_validating_makes_nothing() -> None:
    life = Life(Disk())
    told: list[str] = []
    life.controller.on_topic_created.append(lambda topic: told.append(topic.name))
    offset = life.catalog.last_offset
    assert life.controller.new_topic("orders", partitions=3).partitions == 3
    life.controller.create_topic("real")
    life.controller.create_partitions("real", 7, validate_only=True)
    assert life.logs() == {"real-0"}
    assert told == ["real"]
    assert life.catalog.last_offset == offset + 2


def test_a_refusal_changes_nothing() -> None:
    life = Life(Disk())
    offset = life.catalog.last_offset
    create = life.controller.create_topic
    refused_with(Code.INVALID_TOPIC_EXCEPTION, lambda: create("a b"))
    refused_with(Code.INVALID_REQUEST, lambda: create("__cluster_metadata"))
    refused_with(Code.INVALID_CONFIG, lambda: create("a", configs={"nonsense": "1"}))
    refused_with(Code.INVALID_CONFIG, lambda: create("a", configs={"retention.ms": None}))
    refused_with(Code.INVALID_REPLICATION_FACTOR, lambda: create("a", replication_factor=2))
    refused_with(Code.INVALID_REPLICA_ASSIGNMENT, lambda: create("a", assignments={0: [9]}))
    refused_with(Code.UNKNOWN_TOPIC_OR_PARTITION, lambda: life.controller.delete_topic("a"))
    assert life.catalog.last_offset == offset
    assert not life.logs()


def test_assignments_may_be_a_mapping() -> None:
    life = Life(Disk(), (1, 2))
    topic = life.controller.create_topic("orders", assignments={0: [2], 1: [1]})
    assert [partition.leader_id for partition in topic.partitions] == [2, 1]


def test_listeners_are_called_after_logs_are_created_or_removed() -> None:
    life = Life(Disk())
    heard: list[tuple[str, str, bool]] = []

    def listen(what: str, name: str) -> None:
        heard.append((what, name, life.directory.log_of(name, 0) is not None))

    life.controller.on_topic_created.append(lambda topic: listen("created", topic.name))
    life.controller.on_topic_deleted.append(lambda topic: listen("deleted", topic.name))
    life.controller.on_partitions_created.append(
        lambda topic, first: listen(f"from {first} to {len(topic.partitions)}", topic.name)
    )
    life.controller.create_topic("orders", partitions=2)
    life.controller.create_partitions("orders", 5)
    assert life.logs() == {f"orders-{index}" for index in range(5)}
    life.controller.delete_topic("orders")
    assert heard == [
        ("created", "orders", True),
        ("from 2 to 5", "orders", True),
        ("deleted", "orders", False),
    ]
    assert not life.logs()


def test_the_internal_topics_are_made_as_kafka_makes_them() -> None:
    life = Life(Disk(), offsets_topic_num_partitions="3", transaction_state_log_num_partitions="2")
    offsets = life.controller.create_internal_topic("__consumer_offsets")
    transactions = life.controller.create_internal_topic("__transaction_state")
    shares = life.controller.create_internal_topic("__share_group_state")
    assert [len(each.partitions) for each in (offsets, transactions, shares)] == [3, 2, 50]
    assert all(each.is_internal for each in (offsets, transactions, shares))
    overrides = life.catalog.overrides
    assert overrides(ResourceType.TOPIC, "__consumer_offsets") == {
        "compression.type": "producer",
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
    }
    assert overrides(ResourceType.TOPIC, "__transaction_state") == {
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }
    assert overrides(ResourceType.TOPIC, "__share_group_state") == {
        "compression.type": "producer",
        "cleanup.policy": "delete",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "retention.ms": "-1",
    }
    assert life.controller.create_internal_topic("__consumer_offsets") is offsets
    log = life.directory.log_of("__consumer_offsets", 0)
    assert log is not None
    assert log.config.compacts


@pytest.mark.parametrize("name", sorted(INTERNAL_TOPIC_SETTINGS))
@pytest.mark.parametrize("segment_bytes", ["1", "65536", "1048575", "1048576", "2147483647"])
@pytest.mark.parametrize("replicas", ["1", "2", "32767"])
@pytest.mark.parametrize("min_isr", ["1", "2", "32767"])
def test_an_internal_topic_is_made_unless_the_start_is_refused(
    name: str, segment_bytes: str, replicas: str, min_isr: str
) -> None:
    by = INTERNAL_TOPIC_SETTINGS[name]
    given = {by.segment_bytes: segment_bytes, by.replication_factor: replicas, by.partitions: "1"}
    if by.min_isr is not None:
        given[by.min_isr] = min_isr
    settings = {each.replace(".", "_"): value for each, value in given.items()}
    if int(segment_bytes) < 1 << 20:
        with pytest.raises(BadSetting, match=by.segment_bytes):
            Life(Disk(), (1,), **settings)
        return
    life = Life(Disk(), (1,), **settings)
    assert life.controller.create_internal_topic(name).partitions


def test_kafkas_default_of_three_replicas_does_not_keep_one_machine_from_coordinating() -> None:
    life = Life(Disk(), offsets_topic_replication_factor="3")
    offsets = life.controller.create_internal_topic("__consumer_offsets")
    assert offsets.partitions[0].replicas == (1,)


def test_open_logs_go_by_new_settings_at_once() -> None:
    life = Life(Disk())
    life.controller.create_topic("orders", configs={"retention.ms": "7"})
    life.controller.create_topic("other")
    changed: list[tuple[int, str]] = []
    life.controller.on_configs_changed.append(lambda kind, name: changed.append((kind, name)))
    logs = {name: life.directory.log_of(name, 0) for name in ("orders", "other")}
    orders, other = logs["orders"], logs["other"]
    assert orders is not None
    assert other is not None
    assert orders.config.retention_ms == 7
    life.controller.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": "8"})
    assert (orders.config.retention_ms, other.config.retention_ms) == (8, 604_800_000)
    life.controller.set_configs(ResourceType.BROKER, "", {"log.retention.ms": "9"})
    assert (orders.config.retention_ms, other.config.retention_ms) == (8, 9)
    life.controller.set_configs(ResourceType.BROKER, "1", {"log.retention.ms": "10"})
    life.controller.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": None})
    assert (orders.config.retention_ms, other.config.retention_ms) == (10, 10)
    assert changed == [(2, "orders"), (4, ""), (4, "1"), (2, "orders")]


def test_settings_of_the_broker_hold_after_a_restart() -> None:
    disk = Disk()
    life = Life(disk)
    life.controller.create_topic("orders")
    life.controller.set_configs(ResourceType.BROKER, "1", {"log.retention.ms": "10"})
    again = Life(disk.after_kill())
    log = again.directory.log_of("orders", 0)
    assert log is not None
    assert log.config.retention_ms == 10


def test_logs_write_under_the_leader_epochs_of_the_metadata() -> None:
    disk = Disk()
    life = Life(disk, (1, 2))
    life.controller.create_topic("orders", assignments={0: [1, 2]})
    log = life.directory.log_of("orders", 0)
    assert log is not None
    assert log.leader_epoch == 0
    life.controller.change_leader("orders", 0, 2)
    assert log.leader_epoch == life.catalog.topics["orders"].partitions[0].leader_epoch == 1
    again = Life(disk.after_kill(), (1, 2)).directory.log_of("orders", 0)
    assert again is not None
    assert again.leader_epoch == 3  # a broker that returns is elected again


def test_a_clean_stop_is_marked_with_the_epoch_of_the_broker() -> None:
    disk = Disk()
    life = Life(disk)
    epoch = life.catalog.brokers[1].epoch
    assert epoch > 0
    life.directory.close()
    mark = disk.read("data/.kafka_cleanshutdown")
    assert mark == b'{"version":0,"brokerEpoch":%d}' % epoch


def test_no_producer_id_is_allocated_twice_across_restarts() -> None:
    disk = Disk()
    blocks = []
    for _ in range(3):
        life = Life(disk)
        blocks += [life.controller.next_producer_id_block(1) for _ in range(2)]
        disk = disk.after_kill()
    assert blocks == [(first, 1000) for first in range(0, 6000, 1000)]


def test_a_metadata_transaction_left_open_by_kafka_is_aborted() -> None:
    disk = Disk()
    life = Life(disk)
    undecided = [BeginTransactionRecord("topics"), TopicRecord("half", UUID(int=5))]
    life.metadata_log.append(undecided, now_ms=NOW_MS)
    again = Life(disk.after_kill())
    assert not again.catalog.topics
    again.controller.create_topic("whole")
    assert list(Life(disk_of(again)).catalog.topics) == ["whole"]


def disk_of(life: Life) -> Disk:
    disk = life.directory._files
    assert isinstance(disk, Disk)
    return disk.after_kill()


def test_records_of_a_topic_that_was_deleted_do_not_come_back_with_its_name() -> None:
    disk = Disk()
    life = Life(disk)
    life.controller.create_topic("orders", partitions=2)
    log = life.directory.log_of("orders", 1)
    assert log is not None
    log.append(batch(b"old", timestamp_ms=NOW_MS), now_ms=NOW_MS)
    # Killed after the decision, before its files are gone.
    topic = life.catalog.topics["orders"]
    life.metadata_log.append(life.catalog.delete_topic(topic.topic_id), now_ms=NOW_MS)
    again = Life(disk.after_kill())
    assert not again.logs()
    assert again.directory.partition_names() == {"__cluster_metadata-0"}
    again.controller.create_topic("orders", partitions=2)
    anew = again.directory.log_of("orders", 1)
    assert anew is not None
    assert anew.log_end_offset == 0


def test_files_of_another_topic_of_the_same_name_are_set_aside() -> None:
    disk = Disk()
    life = Life(disk)
    life.controller.create_topic("orders")
    log = life.directory.log_of("orders", 0)
    assert log is not None
    log.append(batch(b"old", timestamp_ms=NOW_MS), now_ms=NOW_MS)
    old = life.catalog.topics["orders"]
    life.metadata_log.append(life.catalog.delete_topic(old.topic_id), now_ms=NOW_MS)
    half = Catalog()
    life.metadata_log.replay_into(half)
    records = half.create_topic("orders", UUID(int=1), partitions=1, replication_factor=1)
    life.metadata_log.append(records, now_ms=NOW_MS)
    later = disk.after_kill()
    again = Life(later)
    found = again.directory.log_of("orders", 0)
    assert found is not None
    assert found.log_end_offset == 0
    aside = {path.split("/")[1] for path in later.files if "-stray/" in path}
    assert len(aside) == 1, "nothing that was written is thrown away"


def busy(controller: Controller) -> Iterator[None]:
    """Some decisions, one after the other."""
    controller.create_topic("a", partitions=2, configs={"retention.ms": "5"})
    yield
    controller.create_topic("b")
    yield
    controller.create_partitions("b", 3)
    yield
    controller.delete_topic("a")
    yield
    controller.create_topic("a")
    yield


# The partitions of each topic after each of them.
AFTERWARDS = [{}, {"a": 2}, {"a": 2, "b": 1}, {"a": 2, "b": 3}, {"b": 3}, {"b": 3, "a": 1}]


def test_catalog_and_logs_agree_after_a_kill_at_any_operation() -> None:
    for cut_at in range(1, 2000):
        disk, done = Disk(cut_at=cut_at), 0
        with suppress(PowerCut):
            for _ in busy(Life(disk).controller):
                done += 1
        again = Life(disk.after_kill())
        assert again.logs() == again.partitions(), f"killed at {cut_at}"
        found = {name: len(topic.partitions) for name, topic in again.catalog.topics.items()}
        assert found in AFTERWARDS[done : done + 2], f"killed at {cut_at}"
        if disk.operations < cut_at:
            assert done == len(AFTERWARDS) - 1
            return  # never killed: every operation has had its turn
    pytest.fail("it never comes to an end")


def test_a_topic_id_never_begins_with_a_dash_in_kafkas_base64() -> None:
    assert all(random_topic_id().bytes[0] >> 2 != 62 for _ in range(1000))


def test_without_an_event_loop_all_logs_of_many_partitions_are_made_at_once() -> None:
    life = Life(Disk())
    life.controller.create_topic("orders", partitions=150)
    assert life.logs() == life.partitions()
    assert len(life.logs()) == 150

"""The modules admin_*.py against a running broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from ottla.client import Client, ErrorAnswer
from ottla.client.admin import acls as admin_acls
from ottla.client.admin import cluster as admin_cluster
from ottla.client.admin import configs as admin_configs
from ottla.client.admin import groups as admin_groups
from ottla.client.admin import offsets as admin_offsets
from ottla.client.admin import topics as admin_topics
from ottla.client.admin.acls import Acl, AclFilter
from ottla.client.admin.configs import ConfigOperation, Resource, Source
from ottla.protocol.acls import AclResource, PatternType, Permission
from ottla.protocol.acls import Operation as AclOperation
from ottla.protocol.errors import Code
from ottla.testing import running_broker

TIMEOUT_S = 10.0


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with an authorizer, of which every user is a super user."""
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "group.initial.rebalance.delay.ms": "0",
    }
    with running_broker(settings=settings) as broker:
        yield broker.bootstrap


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    """A client of the broker."""
    host, port = bootstrap.rsplit(":", 1)
    with Client(host, int(port)) as made:
        yield made


def produced(bootstrap: str, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number).encode(), partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def test_a_topic_is_created_described_enlarged_and_deleted(client: Client) -> None:
    admin_topics.create_topic(
        client, "made", partitions=2, settings={"retention.ms": "5000", "cleanup.policy": "compact"}
    )
    (topic,) = admin_topics.describe_topics(client, ["made"])
    assert [(each.partition, each.leader, each.in_sync) for each in topic.partitions] == [
        (0, 1, (1,)),
        (1, 1, (1,)),
    ]
    admin_topics.add_partitions(client, "made", 3)
    (topic,) = admin_topics.describe_topics(client, ["made"])
    assert len(topic.partitions) == 3
    assert "made" in admin_topics.topic_names(client)
    with pytest.raises(ErrorAnswer) as refused:
        admin_topics.create_topic(client, "made")
    assert (refused.value.code, refused.value.message) == (
        Code.TOPIC_ALREADY_EXISTS,
        "Topic 'made' already exists.",
    )
    admin_topics.delete_topic(client, "made")
    with pytest.raises(ErrorAnswer):
        admin_topics.describe_topics(client, ["made"])


def test_more_partitions_than_one_answer_holds_are_described(client: Client) -> None:
    admin_topics.create_topic(client, "wide", partitions=2100)
    admin_topics.create_topic(client, "wider", partitions=3)
    wide, wider = admin_topics.describe_topics(client, ["wider", "wide"])
    assert [each.partition for each in wide.partitions] == list(range(2100))
    assert len(wider.partitions) == 3


def test_records_are_deleted_and_offsets_listed(bootstrap: str, client: Client) -> None:
    admin_topics.create_topic(client, "short", partitions=2)
    produced(bootstrap, "short", 5)
    assert admin_topics.delete_records(client, "short", 0, 2) == 2
    for time_ms, offset in ((admin_offsets.EARLIEST, 2), (admin_offsets.LATEST, 5), (0, 2)):
        found = admin_offsets.list_offsets(client, {("short", 0): time_ms})
        assert found["short", 0].offset == offset
    with pytest.raises(ErrorAnswer):
        admin_offsets.list_offsets(client, {("short", 7): admin_offsets.LATEST})
    sizes = [
        size
        for directory in admin_topics.log_directories(client, sorted(client.brokers))
        for topic, index, size, _, _ in directory.replicas
        if (topic, index) == ("short", 0)
    ]
    assert len(sizes) == 1
    assert sizes[0] > 0
    (election,) = admin_topics.elect_leaders(client, admin_topics.PREFERRED, {"short": [0]})
    assert election.error_code == Code.ELECTION_NOT_NEEDED


def test_settings_are_changed_and_shown_with_their_source(client: Client) -> None:
    admin_topics.create_topic(client, "set")

    def source() -> int:
        found = admin_configs.describe_settings(client, Resource.TOPIC, "set")
        return next(each.source for each in found if each.name == "retention.ms")

    assert source() == Source.DEFAULT_CONFIG
    change = ("retention.ms", ConfigOperation.SET, "7000")
    admin_configs.alter_settings(client, Resource.TOPIC, "set", [change])
    assert source() == Source.DYNAMIC_TOPIC_CONFIG
    removal = ("retention.ms", ConfigOperation.DELETE, None)
    admin_configs.alter_settings(client, Resource.TOPIC, "set", [removal])
    assert source() == Source.DEFAULT_CONFIG
    admin_configs.alter_settings(
        client, Resource.BROKER, "1", [("log.retention.ms", ConfigOperation.SET, "86400000")]
    )
    found = admin_configs.describe_settings(client, Resource.BROKER, "1")
    assert Source.DYNAMIC_BROKER_CONFIG in {each.source for each in found}
    admin_configs.alter_settings(
        client, Resource.GROUP, "a", [("consumer.session.timeout.ms", ConfigOperation.SET, "50000")]
    )
    assert admin_configs.names_with_settings(client, Resource.GROUP) == ["a"]
    with pytest.raises(ErrorAnswer):
        admin_configs.alter_settings(
            client, Resource.TOPIC, "set", [("retention.ms", ConfigOperation.SET, "much")]
        )


def test_quotas_and_passwords_are_set_and_removed(client: Client) -> None:
    admin_configs.alter_quotas(client, {"client-id": "fast"}, {"producer_byte_rate": 9.0})
    assert admin_configs.describe_quotas(client, {"client-id": (False, None)}) == [
        ({"client-id": "fast"}, {"producer_byte_rate": 9.0})
    ]
    assert admin_configs.describe_quotas(client, {"client-id": (True, None)}) == []
    admin_configs.alter_quotas(client, {"client-id": "fast"}, {"producer_byte_rate": None})
    assert admin_configs.describe_quotas(client, {"client-id": (True, "fast")}) == []
    admin_configs.alter_passwords(client, "me", {"SCRAM-SHA-256": (4096, "secret")})
    assert admin_configs.describe_passwords(client, None) == {"me": {"SCRAM-SHA-256": 4096}}
    admin_configs.alter_passwords(client, "me", {}, ["SCRAM-SHA-256"])
    assert admin_configs.describe_passwords(client, ["me"]) == {}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_described_reset_and_deleted(
    bootstrap: str, client: Client, protocol: str
) -> None:
    topic, group_id = f"read-{protocol}", f"group-{protocol}"
    admin_topics.create_topic(client, topic)
    produced(bootstrap, topic, 3)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "client.id": "reader",
        }
    )
    consumer.subscribe([topic])
    for _ in range(3):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    group = admin_groups.describe_group(client, group_id)
    (member,) = group.members
    assert (group.kind, group.state) == (protocol.capitalize(), "Stable")
    assert (member.client_id, member.assigned) == ("reader", ((topic, 0),))
    assert (group.group_epoch is None) == (protocol == "classic")
    with pytest.raises(ErrorAnswer):
        admin_groups.commit_offsets(client, group_id, {(topic, 0): 1})
    consumer.close()
    assert admin_groups.committed_offsets(client, group_id)[topic, 0][0] == 3
    admin_groups.commit_offsets(client, group_id, {(topic, 0): 1})
    assert admin_groups.committed_offsets(client, group_id)[topic, 0][0] == 1
    listed = admin_groups.list_groups(client, kinds=[protocol])
    assert group_id in {each.group_id for each in listed}
    assert admin_groups.delete_offsets(client, group_id, [(topic, 0)]) == {(topic, 0): 0}
    admin_groups.delete_group(client, group_id)
    with pytest.raises(ErrorAnswer):
        admin_groups.describe_group(client, group_id)


def test_a_broken_assignment_is_empty() -> None:
    assert admin_groups.read_assignment(b"") == []
    assert admin_groups.read_assignment(b"\0\0\0\0\0\1\0\1t\0\0\0\2\0\0\0\0") == []
    whole = b"\0\0\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\5\xff\xff\xff\xff"
    assert admin_groups.read_assignment(whole) == [("t", 0), ("t", 5)]


def test_rules_are_added_found_and_deleted(client: Client) -> None:
    rule = Acl(
        *(AclResource.TOPIC, "guarded", PatternType.LITERAL, "User:me", "*"),
        *(AclOperation.READ, Permission.ALLOW),
    )
    admin_acls.create_acls(client, [rule])
    assert admin_acls.describe_acls(client, AclFilter(name="guarded")) == [rule]
    assert admin_acls.describe_acls(client, AclFilter(name="other")) == []
    assert admin_acls.delete_acls(client, [AclFilter(principal="User:me")]) == [rule]
    assert admin_acls.describe_acls(client, AclFilter()) == []


def test_the_cluster_its_quorum_and_features_are_described(client: Client) -> None:
    cluster = admin_cluster.describe_cluster(client)
    assert [each.node_id for each in cluster.nodes] == [1]
    assert len(cluster.cluster_id) == 22
    quorum = admin_cluster.describe_quorum(client)
    assert quorum.leader_id in {each.node_id for each in quorum.voters}
    _, features = admin_cluster.features(client)
    assert {each.name: each.finalized for each in features}["transaction.version"] == 2
    versions = admin_cluster.api_versions(client, 1)
    assert versions[18][1] >= 4

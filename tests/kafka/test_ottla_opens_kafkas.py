"""Ottla starts on data that only Apache Kafka writes, serves it if possible and loses nothing.

The data are a metadata log that begins with a snapshot, voters in that log (KIP-853), consumer
groups of the consumer protocol (KIP-848), and share groups (KIP-932).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ..wire.client import until
from . import node
from .installation import tool
from .on_disk import OFTEN, newest_snapshot
from .place import Place
from .seen import seen
from .story import Story, connected

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]

SHARE_STATE = {"share.coordinator.state.topic.num.partitions": "3"}
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "internal.metadata.log.segment.bytes": "10000",
    "metadata.max.idle.interval.ms": "100",
}
# Settings of an Ottla that writes its own snapshot and keeps only that.
TIMEOUT_S = 20.0
SCRAM = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
ACL = AclBinding(
    ResourceType.TOPIC,
    "plain",
    ResourcePatternType.LITERAL,
    "User:alice",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)


def test_a_metadata_log_that_begins_with_a_snapshot(place: Place) -> None:
    story = Story()
    with place.kafka(settings=SNAPSHOTS) as kafka:
        for _ in range(3):
            story.play(kafka)
        log = place.data / "__cluster_metadata-0"
        assert until(lambda: newest_snapshot(log) > last_segment(log) > 0, bool)
        left = seen(kafka)
    cut_off(log)
    for _ in range(2):
        with place.ottla() as ottla:
            assert seen(ottla.bootstrap) == left
            story.play(ottla.bootstrap)
            left = seen(ottla.bootstrap)
    with place.kafka() as kafka:
        assert seen(kafka) == left
        story.play(kafka)


def last_segment(log: Path) -> int:
    """The base offset of the active segment."""
    return max(int(file.stem) for file in log.glob("*.log"))


def cut_off(log: Path) -> None:
    """Remove all segments before the last, as Kafka does a minute after the snapshot."""
    for file in log.iterdir():
        stem = file.stem.partition("-")[0]
        if stem.isdigit() and int(stem) < last_segment(log):
            file.unlink()


def test_voters_in_the_log(place: Place) -> None:
    """After `bin/kafka-storage format --standalone` the quorum is in the log."""
    story, left = Story(), None
    quorum = {
        "controller.quorum.voters": "",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{place.port + 1}",
    }
    node.write_settings(place.port, place.directory, quorum)
    config = str(place.directory / "server.properties")
    done = tool("StorageTool", "format", "--standalone", "-t", node.CLUSTER_ID, "-c", config)
    assert done.returncode == 0, done.stdout + done.stderr
    state = place.data / "__cluster_metadata-0/quorum-state"
    for _ in range(2):
        with place.kafka(settings=quorum) as kafka:
            assert left is None or seen(kafka) == left
            story.play(kafka)
            left = seen(kafka)
        written = json.loads(state.read_text())
        assert written["data_version"] == 1
        with place.ottla(settings=OFTEN) as ottla:
            assert seen(ottla.bootstrap) == left
            story.play(ottla.bootstrap)
            left = seen(ottla.bootstrap)
        assert newest_snapshot(state.parent) > 0
        expected = written | {"leaderEpoch": written["leaderEpoch"] + 1}
        assert json.loads(state.read_text()) == expected
    assert place.complaints == []


def test_a_share_group_of_kafka_goes_on_in_ottla_and_in_kafka_again(place: Place) -> None:
    story = Story()
    with place.kafka(settings=SHARE_STATE) as kafka:
        story.play(kafka)
        from_the_beginning(kafka, "shared")
        read = consumed(kafka, 5)
        shared = share_consumed(kafka, 7)
        left = seen(kafka)
        known = groups(kafka)
    assert (read, shared) == (5, 7)
    assert known == {"new": "consumer", "shared": "share"}
    with place.ottla() as ottla:
        assert seen(ottla.bootstrap) == left
        assert groups(ottla.bootstrap) == known
        assert share_consumed(ottla.bootstrap, 2) == 2
        left = seen(ottla.bootstrap)
    with place.kafka(settings=SHARE_STATE) as kafka:
        assert seen(kafka) == left
        assert groups(kafka) == known
        total = sum(end - start for start, _, end in left["ends"]["plain"].values())
        assert consumed(kafka, total - 5) == total - 5
        assert share_consumed(kafka, total - 9) == total - 9


def from_the_beginning(bootstrap: str, group: str) -> None:
    """Let a share group read earlier records."""
    config = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
    resource = {"resource_type": 32, "resource_name": group, "configs": [config]}
    with connected(bootstrap) as broker:
        body = {"resources": [resource], "validate_only": False}
        assert broker.call("IncrementalAlterConfigs", 1, body)["responses"][0]["error_code"] == 0


def consumed(bootstrap: str, count: int) -> int:
    """Read `count` records as a member of a consumer group (KIP-848), and commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "new",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe(["plain"])
        for done in range(count):
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                return done
            assert message.error() is None
            consumer.commit(message=message, asynchronous=False)
        return count
    finally:
        consumer.close()


def share_consumed(bootstrap: str, count: int) -> int:
    """Acquire and acknowledge `count` records as a member of a share group."""
    read = ("--topic", "plain", "--group", "shared", "--max-messages", str(count))
    done = tool(
        "ConsoleShareConsumer", "--bootstrap-server", bootstrap, *read, "--timeout-ms", "20000"
    )
    return len(done.stdout.splitlines())


def groups(bootstrap: str) -> dict[str, str]:
    """The type of each group that is not classic."""
    with connected(bootstrap) as broker:
        body = {"states_filter": [], "types_filter": ["consumer", "share"]}
        listed = broker.call("ListGroups", 5, body)["groups"]
    return {group["group_id"]: group["group_type"].lower() for group in listed}


def test_preallocated_segments_of_a_killed_kafka(place: Place) -> None:
    story = Story()
    with place.kafka(settings={"log.preallocate": "true"}, kill=True) as kafka:
        story.play(kafka)
        left = seen(kafka)
    assert max(file.stat().st_size for file in place.data.glob("plain-*/*.log")) >= 1 << 20
    with place.ottla() as ottla:
        assert seen(ottla.bootstrap) == left
        story.play(ottla.bootstrap)


def test_users_quotas_and_acls_are_kept(place: Place) -> None:
    """Kafka finds its own records again, also in Ottla's snapshot."""
    secured = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with place.kafka(settings=secured) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka})
        credential = UserScramCredentialUpsertion("alice", SCRAM, b"secret", b"salt")
        for answer in (
            *admin.create_acls([ACL]).values(),
            *admin.alter_user_scram_credentials([credential]).values(),
        ):
            answer.result(TIMEOUT_S)
        with connected(kafka) as broker:
            entity = [{"entity_type": "user", "entity_name": "alice"}]
            rate = [{"key": "producer_byte_rate", "value": 1e6, "remove": False}]
            body = {"entries": [{"entity": entity, "ops": rate}], "validate_only": False}
            assert broker.call("AlterClientQuotas", 1, body)["entries"][0]["error_code"] == 0
        known = until(lambda: security(kafka), all)
        assert all(known), known
    story = Story()
    for settings in ({}, OFTEN):
        with place.ottla(settings=settings) as ottla:
            story.play(ottla.bootstrap)
        with place.kafka(settings=secured) as kafka:
            assert security(kafka) == known
    assert newest_snapshot(place.data / "__cluster_metadata-0") > 0
    assert place.complaints == []


def security(bootstrap: str) -> tuple[str, str, str]:
    """ACLs, users and quotas, as text."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    anything: Any = None  # None means any, in spite of the types
    wanted = AclBindingFilter(
        ResourceType.ANY, anything, ResourcePatternType.ANY, anything, anything,
        AclOperation.ANY, AclPermissionType.ANY,
    )  # fmt: skip
    acls = admin.describe_acls(wanted).result(TIMEOUT_S)
    asked: Any = admin.describe_user_scram_credentials(anything)
    users = asked.result(TIMEOUT_S)
    with connected(bootstrap) as broker:
        component = {"entity_type": "user", "match_type": 2, "match": None}
        body = {"components": [component], "strict": False}
        quotas = broker.call("DescribeClientQuotas", 1, body)["entries"]
    credentials = [
        (name, info.mechanism, info.iterations)
        for name, user in users.items()
        for info in user.scram_credential_infos
    ]
    return " ".join(map(str, acls)), " ".join(map(str, credentials)), " ".join(map(str, quotas))

"""Records of streams groups: bytes that Apache Kafka 4.4.0 wrote, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.coordinator.group_records import decode, encode
from ottla.coordinator.modern_groups import MemberState
from ottla.coordinator.streams.member import Endpoint, TasksTuple, TasksTupleWithEpochs
from ottla.coordinator.streams.records import (
    CurrentMember,
    GroupEpoch,
    GroupTopology,
    Kind,
    MemberMetadata,
    StreamsRemoved,
    TargetEpoch,
    TargetMember,
)
from ottla.coordinator.streams.topology import (
    CopartitionGroup,
    Subtopology,
    TopicInfo,
    Topology,
)
from ottla.protocol.errors import Malformed

LOGGED = [
    (bytes.fromhex(each["key"]), None if each["value"] is None else bytes.fromhex(each["value"]))
    for each in json.loads(Path(__file__).with_name("kafka_records.json").read_text())
]
B = "member-b-0000000000"
READ = [decode(key, value) for key, value in LOGGED]


def test_records_of_kafka_are_encoded_identically() -> None:
    for (key, value), record in zip(LOGGED, READ, strict=True):
        assert record is not None
        assert encode(record) == (key, value)


def test_records_of_kafka_are_read() -> None:
    member = READ[0]
    assert isinstance(member, MemberMetadata)
    assert (member.member.instance_id, member.member.rack_id) == ("i1", "r1")
    assert (member.member.process_id, member.member.topology_epoch) == ("process-a", 0)
    assert member.member.user_endpoint == Endpoint("h1", 8080)
    assert member.member.client_tags == (("zone", "a"),)
    epoch = READ[2]
    assert isinstance(epoch, GroupEpoch)
    assert (epoch.epoch, epoch.validated_topology_epoch) == (2, -1)
    assert epoch.assignment_configs == (("num.standby.replicas", "1"),)
    assert READ[-2] == StreamsRemoved(Kind.MEMBER, "words", B)
    assert READ[13] == TargetMember(
        "words",
        B,
        TasksTuple(
            {"0": frozenset({1}), "1": frozenset({1}), "2": frozenset({1})}, {"0": frozenset({0})}
        ),
    )
    away = READ[18]
    assert isinstance(away, CurrentMember)
    assert (away.member_epoch, away.state) == (-2, MemberState.UNREVOKED)
    assert away.assigned.active == {"0": {0: 0}, "1": {0: 0}, "2": {0: 0, 2: 0}}
    assert away.assigned.standby == {"0": frozenset({1})}


def test_a_topology_of_kafka_is_read() -> None:
    changelog = TopicInfo("words-counts-changelog", 0, 0, (("cleanup.policy", "compact"),))
    repartition = TopicInfo("words-by-length-repartition", 3)
    assert READ[1] == GroupTopology(
        "words",
        Topology(
            0,
            (
                Subtopology(
                    "0",
                    ("lines",),
                    state_changelog_topics=(changelog,),
                    copartition_groups=(CopartitionGroup((0,)),),
                ),
                Subtopology("1", ("lines",), repartition_sink_topics=(repartition.name,)),
                Subtopology("2", repartition_source_topics=(repartition,)),
            ),
        ),
    )


def test_tasks_without_epochs_of_an_older_coordinator_have_that_of_the_member() -> None:
    tasks = TasksTupleWithEpochs({"0": {0: 7, 1: 7}})
    record = CurrentMember("g", "m", 7, 6, MemberState.STABLE, tasks, TasksTupleWithEpochs())
    key, value = encode(record)
    assert value is not None
    epochs = bytes.fromhex("01000903") + (7).to_bytes(4) * 2  # a tagged field of 9 bytes
    assert epochs in value
    assert decode(key, value.replace(epochs, b"\0")) == record


@pytest.mark.parametrize("kind", Kind)
def test_a_tombstone_names_the_group_and_the_member(kind: Kind) -> None:
    name = "m" if kind in (Kind.MEMBER, Kind.TARGET_MEMBER, Kind.CURRENT_MEMBER) else ""
    record = StreamsRemoved(kind, "g", name)
    key, value = encode(record)
    assert (int.from_bytes(key[:2]), value) == (kind, None)
    assert decode(key, value) == record


def test_a_value_that_is_cut_is_malformed() -> None:
    key, value = encode(TargetEpoch("g", 4, 5))
    assert value is not None
    with pytest.raises(Malformed):
        decode(key, value[:4])

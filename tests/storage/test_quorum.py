"""The leader of the metadata quorum and the first records: Kafka's files, byte by byte."""

from __future__ import annotations

from uuid import UUID

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.records import FeatureLevelRecord, MetadataRecord, decode
from ottla.protocol.batch import headers_in
from ottla.protocol.records import records_in
from ottla.storage.kraft.metadata_log import MetadataLog
from ottla.storage.kraft.metadata_snapshot import read_bootstrap
from ottla.storage.kraft.quorum import (
    VOTERS_TYPE,
    QuorumState,
    ReplicaKey,
    Voter,
    read_quorum_state,
    voters_begin,
    voters_in,
)
from ottla.storage.log_directory import LogDirectory
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS

PLACE = "data/__cluster_metadata-0"
FILE = f"{PLACE}/quorum-state"
# As Apache Kafka 4.1.1 wrote them, with voters in its settings and in its log.
STATIC = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":23,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
DYNAMIC = (
    b'{"leaderId":1,"leaderEpoch":23,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
    b'"data_version":1}'
)


def started(disk: Disk) -> MetadataLog:
    directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
    log = MetadataLog.open(directory, now_ms=NOW_MS)
    log.lead(1, now_ms=NOW_MS)
    return log


def epochs_in(disk: Disk) -> list[int]:
    data = disk.read(f"{PLACE}/00000000000000000000.log")
    return [header.leader_epoch for _, header in headers_in(data)]


def put(disk: Disk, path: str, content: bytes) -> None:
    descriptor = disk.open(path)
    disk.truncate(descriptor, 0)
    disk.append(descriptor, content)
    disk.close(descriptor)


@pytest.mark.parametrize(("version", "content"), [(0, STATIC), (1, DYNAMIC)])
def test_the_state_is_written_and_read_as_kafka_does(version: int, content: bytes) -> None:
    state = QuorumState(1, 23, version)
    assert state.encode() == content
    disk = Disk()
    disk.make_directory("data")
    put(disk, "data/quorum-state", content)
    assert read_quorum_state(disk, "data") == state


def test_each_start_begins_an_epoch_and_says_so_in_the_log(disk: Disk) -> None:
    started(disk)
    assert b'"leaderEpoch":1,' in disk.read(FILE)
    disk = disk.after_kill()
    started(disk)
    assert b'"leaderEpoch":2,' in disk.read(FILE)
    assert epochs_in(disk) == [1, 2]


def test_an_epoch_that_could_not_be_written_to_the_quorum_file_is_not_begun(disk: Disk) -> None:
    """Two leaders would write under one epoch: the next start takes it once more."""
    log = started(disk)
    record = FeatureLevelRecord("metadata.version", 27)
    disk.fail_at = disk.operations + 1
    with pytest.raises(OSError, match="the disk failed"):
        log.lead(1, now_ms=NOW_MS)
    log.append([record], now_ms=NOW_MS)
    assert epochs_in(disk) == [1, 1]
    assert b'"leaderEpoch":1,' in disk.read(FILE)
    log.lead(1, now_ms=NOW_MS)
    assert epochs_in(disk) == [1, 1, 2]


def test_an_epoch_that_kafka_began_and_wrote_nothing_under_is_not_used_again(disk: Disk) -> None:
    started(disk)
    disk = disk.after_kill()
    put(disk, FILE, STATIC)
    started(disk)
    assert epochs_in(disk) == [1, 24]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"leaderId":1}', b"\xff\xfe"])
def test_a_damaged_quorum_state_is_replaced_from_the_log(content: bytes, disk: Disk) -> None:
    started(disk)
    disk = disk.after_kill()
    put(disk, FILE, content)
    started(disk)
    assert epochs_in(disk) == [1, 2]
    assert read_quorum_state(disk, PLACE) == QuorumState(1, 2)


def test_the_bootstrap_checkpoint_is_a_snapshot_of_the_first_records(disk: Disk) -> None:
    features = [FeatureLevelRecord("metadata.version", 27), FeatureLevelRecord("group.version", 1)]
    started(disk).write_bootstrap(features, now_ms=NOW_MS)
    data = disk.read("data/bootstrap.checkpoint")
    found = list(headers_in(data))
    assert [header.base_offset for _, header in found] == [0, 1, 3]
    assert [header.is_control for _, header in found] == [True, False, True]
    (head,), records, (foot,) = (list(records_in(data, *place)) for place in found)
    assert (head.key, head.value) == (bytes.fromhex("00000003"), bytes(11))
    assert (foot.key, foot.value) == (bytes.fromhex("00000004"), bytes(3))
    assert [decode(record.value or b"") for record in records] == features


def test_the_bootstrap_checkpoint_is_whole_after_a_loss_of_power(disk: Disk) -> None:
    features: list[MetadataRecord] = [FeatureLevelRecord("metadata.version", 27)]
    started(disk).write_bootstrap(features, now_ms=NOW_MS)
    assert read_bootstrap(disk.after_power_cut(), "data") == features


# As Apache Kafka 4.1.1 wrote them into its log when kraft.version became 1.
KRAFT_VERSION = bytes.fromhex("0000000100")
VOTERS = bytes.fromhex(
    "0000020000000146e2864c919848a92dbae2254bdcf490020b434f4e54524f4c4c4552"
    "0a3132372e302e302e3161b30000000001000000"
)
KEY = ReplicaKey(1, UUID("46e2864c-9198-48a9-2dba-e2254bdcf490"))


def controls_of(disk: Disk) -> list[tuple[bytes, bytes]]:
    """Keys and values of the last control batch of the log."""
    data = disk.read(f"{PLACE}/00000000000000000000.log")
    position, header = [each for each in headers_in(data) if each[1].is_control][-1]
    return [
        (bytes(record.key or b""), bytes(record.value or b""))
        for record in records_in(data, position, header)
    ]


def test_the_log_names_the_voters_since_kraft_version_1(disk: Disk) -> None:
    log = started(disk)
    assert (log.kraft_version, log.voters) == (0, ())
    log.begin_voters(Voter(KEY, "CONTROLLER", "127.0.0.1", 25011), now_ms=NOW_MS)
    assert controls_of(disk) == [
        (bytes.fromhex("00000005"), KRAFT_VERSION),
        (bytes.fromhex("00000006"), VOTERS),
    ]
    assert (log.kraft_version, log.voters) == (1, (KEY,))
    assert read_quorum_state(disk, PLACE) == QuorumState(1, 1, 0), "until somebody is elected"


def test_the_voters_survive_a_restart_and_are_in_its_snapshots(disk: Disk) -> None:
    started(disk).begin_voters(Voter(KEY, "CONTROLLER", "127.0.0.1", 25011), now_ms=NOW_MS)
    for epoch in (2, 3):
        disk = disk.after_kill()
        directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
        log = MetadataLog.open(directory, now_ms=NOW_MS)
        catalog = Catalog()
        log.replay_into(catalog)
        assert (log.kraft_version, log.voters) == (1, (KEY,))
        log.lead(1, now_ms=NOW_MS)
        assert read_quorum_state(disk, PLACE) == QuorumState(1, epoch, 1)
        content = log.take_snapshot(catalog, now_ms=NOW_MS)
        assert content is not None
        for step in log.write_snapshot(content, now_ms=NOW_MS):
            if step is not None:
                step()


def test_voters_of_other_clusters_are_read_too() -> None:
    other = ReplicaKey(70_000, UUID(int=7))
    one = voters_begin(Voter(KEY, "CONTROLLER", "a" * 200, 9093))[VOTERS_TYPE][1]
    two = voters_begin(Voter(other, "C", "b", 65_535))[VOTERS_TYPE][1]
    # Two voters; the second one with a tagged field of five bytes.
    both = b"\0\0\3" + one[3:-1] + two[3:-2] + b"\1\7\5fives" + b"\0"
    assert voters_in(both) == (KEY, other)

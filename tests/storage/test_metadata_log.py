"""The metadata log: one decision is one batch, there as a whole after a crash or not at all."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.records import MetadataRecord, encode
from ottla.protocol.batch import build, headers_in
from ottla.protocol.errors import Malformed
from ottla.storage.appended import Origin
from ottla.storage.kraft.metadata_log import MetadataLog
from ottla.storage.log_directory import LogDirectory
from tests.storage.decisions import BROKER, decide, orders
from tests.storage.disk import Disk, PowerCut
from tests.storage.logs import NOW_MS

# What KRaft's first leader of Apache Kafka 4.1.1, node 1, wrote into its log.
LEADER_CHANGE_KEY = bytes.fromhex("00000002")
LEADER_CHANGE_VALUE = bytes.fromhex("00000000000102000000010002000000010000")


def open_on(disk: Disk) -> tuple[MetadataLog, LogDirectory]:
    directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=NOW_MS)
    return MetadataLog.open(directory, now_ms=NOW_MS), directory


def replayed(disk: Disk) -> Catalog:
    log, _ = open_on(disk)
    catalog = Catalog()
    log.replay_into(catalog)
    return catalog


def test_a_new_log_is_empty_and_has_the_id_that_kafka_gives_it(disk: Disk) -> None:
    log, _ = open_on(disk)
    assert log.end_offset == 0
    content = disk.read("data/__cluster_metadata-0/partition.metadata")
    assert content == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_appended_records_are_replayed(disk: Disk) -> None:
    log, _ = open_on(disk)
    catalog = Catalog()
    log.lead(1, now_ms=NOW_MS)
    decide(log, catalog, (BROKER,))
    for number in range(1, 4):
        decide(log, catalog, orders(catalog, number))
    assert replayed(disk.after_kill()) == catalog
    assert log.end_offset == catalog.last_offset + 1


def test_a_catalog_with_the_first_records_replays_the_rest(disk: Disk) -> None:
    log, _ = open_on(disk)
    catalog, late = Catalog(), Catalog()
    decide(log, catalog, (BROKER,))
    log.replay_into(late)
    decide(log, catalog, orders(catalog, 1))
    log.replay_into(late)
    assert late == catalog


def test_the_leader_says_so_as_kafkas_does(disk: Disk) -> None:
    log, _ = open_on(disk)
    log.lead(1, now_ms=NOW_MS)
    data = disk.read("data/__cluster_metadata-0/00000000000000000000.log")
    ((_, header),) = headers_in(data)
    assert header.is_control
    assert header.leader_epoch == 1
    assert LEADER_CHANGE_KEY in data
    assert data.endswith(LEADER_CHANGE_VALUE + b"\0")


def test_a_truncated_log_has_a_decision_as_a_whole_or_not_at_all(disk: Disk) -> None:
    log, _ = open_on(disk)
    catalog = Catalog()
    decide(log, catalog, (BROKER,))
    decide(log, catalog, orders(catalog, 1))
    path = "data/__cluster_metadata-0/00000000000000000000.log"
    whole = disk.read(path)
    decide(log, catalog, orders(catalog, 2))
    longer = disk.read(path)
    for end in range(len(whole), len(longer), 7):
        cut = disk.after_kill()
        del cut.files[path].data[end:]
        assert list(replayed(cut).topics) == ["orders1"], f"cut at {end}"


def test_decisions_survive_a_kill_at_any_operation() -> None:
    for cut_at in range(1, 1000):
        disk, decided = Disk(cut_at=cut_at), Catalog()
        with suppress(PowerCut):
            log, _ = open_on(disk)
            decide(log, decided, (BROKER,))
            for number in range(1, 4):
                decide(log, decided, orders(decided, number))
        found = replayed(disk.after_kill())
        names = list(found.topics)
        assert names[: len(decided.topics)] == list(decided.topics), f"lost at {cut_at}"
        assert names == [f"orders{n}" for n in range(1, len(names) + 1)], f"torn at {cut_at}"
        if disk.operations < cut_at:
            return  # it was never killed: every operation has had its turn
    pytest.fail("the log never comes to an end")


def test_a_log_that_kafka_has_cut_begins_with_its_newest_snapshot(disk: Disk) -> None:
    log, directory = open_on(disk)
    catalog = Catalog()
    decide(log, catalog, (BROKER,))
    decide(log, catalog, orders(catalog, 1))
    end_offset = log.end_offset
    kept: list[MetadataRecord] = [BROKER]
    kept += orders(catalog_with_broker(), 1)
    older = snapshot(BROKER)
    newest = snapshot(*kept)
    decide(log, catalog, orders(catalog, 2))
    below = directory.log_of("__cluster_metadata", 0)
    assert below is not None
    below.delete_records(end_offset)
    directory.close()
    place = "data/__cluster_metadata-0"
    with pytest.raises(FileNotFoundError, match="has no snapshot"):
        open_on(disk.after_kill())
    for name, data in ((f"{1:020}-{1:010}", older), (f"{end_offset:020}-{1:010}", newest)):
        disk.append(disk.open(f"{place}/{name}.checkpoint"), data)
    assert replayed(disk.after_kill()) == catalog


def catalog_with_broker() -> Catalog:
    catalog = Catalog()
    catalog.replay(BROKER, 0)
    return catalog


def snapshot(*records: MetadataRecord) -> bytes:
    """A file as KRaft's: a control batch, the records, a control batch."""
    return bytes(
        build([(b"\0\0\0\3", b"\0\0")], timestamp_ms=NOW_MS, control=True)
        + build([(None, encode(record)) for record in records], timestamp_ms=NOW_MS, base_offset=1)
        + build(
            [(b"\0\0\0\4", b"\0\0")],
            timestamp_ms=NOW_MS,
            control=True,
            base_offset=1 + len(records),
        )
    )


def test_a_record_of_the_future_is_not_started_on(disk: Disk) -> None:
    log, directory = open_on(disk)
    below = directory.log_of("__cluster_metadata", 0)
    assert below is not None
    newer = bytearray(encode(BROKER))
    newer[2] = 99  # its version
    batch = build([(None, bytes(newer))], timestamp_ms=NOW_MS)
    below.append(batch, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    with pytest.raises(Malformed, match="no version 99"):
        log.replay_into(Catalog())

"""Snapshots of the metadata log: their time, their content, and crashes on the way."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.records import BeginTransactionRecord, ForeignRecord
from ottla.protocol.batch import build, headers_in
from ottla.protocol.errors import Refused
from ottla.protocol.records import records_in
from ottla.storage.appended import Origin
from ottla.storage.kraft.metadata_log import MetadataLog, MetadataLogConfig
from ottla.storage.log_directory import LogDirectory
from tests.storage.decisions import BROKER, decide, orders
from tests.storage.disk import Disk, PowerCut
from tests.storage.logs import NOW_MS

PLACE = "data/__cluster_metadata-0"
FOREIGN = ForeignRecord(30, b"\1\x1e\0 of a later Kafka")
# As Apache Kafka 4.1.1 wrote them into the log of a quorum that knows its voters itself.
KRAFT_VERSION = (bytes.fromhex("00000005"), bytes.fromhex("0000000100"))
VOTERS = (
    bytes.fromhex("00000006"),
    bytes.fromhex(
        "000002000000010102030405060708090a0b0c0d0e0f10020b434f4e54524f4c4c4552"
        "0a6c6f63616c686f73742385000000000100"
    ),
)


class Life:
    """A metadata log and what it has led to."""

    def __init__(self, disk: Disk, now_ms: int = NOW_MS, **settings: Any) -> None:
        self.disk = disk
        self.directory = LogDirectory.open(disk, "data", node_id=1, cluster_id=None, now_ms=now_ms)
        config = replace(MetadataLogConfig(), **settings)
        self.log = MetadataLog.open(self.directory, now_ms=now_ms, config=config)
        self.catalog = Catalog()
        self.log.replay_into(self.catalog)

    def begin(self, now_ms: int = NOW_MS) -> None:
        self.log.lead(1, now_ms=now_ms)
        decide(self.log, self.catalog, (BROKER,))

    def topic(self, number: int) -> None:
        decide(self.log, self.catalog, orders(self.catalog, number))

    def snapshot(self, now_ms: int = NOW_MS) -> str | None:
        """Write one; its name."""
        content = self.log.take_snapshot(self.catalog, now_ms=now_ms)
        if content is None:
            return None
        if not self.log.log.is_flushed:
            self.log.log.flush()
        for blocking in self.log.write_snapshot(content, now_ms=now_ms):
            if blocking is not None:
                blocking()
        return content.name.file


def files_of(disk: Disk, suffix: str = ".checkpoint") -> list[str]:
    return sorted(name for name in disk.names_in(PLACE) if name.endswith(suffix))


def test_a_log_starts_from_its_snapshot_and_the_records_after_it() -> None:
    life = Life(Disk())
    life.begin()
    life.topic(1)
    name = life.snapshot()
    assert name == f"{life.log.end_offset:020}-{1:010}.checkpoint"
    life.topic(2)
    assert Life(life.disk.after_kill()).catalog == life.catalog
    assert Life(life.disk.after_power_cut()).catalog.topics.keys() >= {"orders1"}
    only_log = life.disk.after_kill()
    del only_log.files[f"{PLACE}/{name}"]
    assert Life(only_log).catalog == life.catalog


def test_a_snapshot_replaces_the_removed_start_of_the_log() -> None:
    life = Life(Disk())
    life.begin()
    decide(life.log, life.catalog, (FOREIGN,))
    life.topic(1)
    life.snapshot()
    life.log.log.roll(NOW_MS)
    life.log.log.delete_records(life.log.end_offset)
    life.topic(2)
    life.directory.close()
    found = Life(life.disk.after_kill())
    assert found.log.log.log_start_offset > 0
    assert found.catalog == life.catalog
    assert list(found.catalog.foreign.records()) == [FOREIGN]


def test_a_snapshot_has_kafkas_header_and_footer_and_the_leader_epoch() -> None:
    life = Life(Disk())
    life.begin()
    name = life.snapshot(NOW_MS + 7)
    data = life.disk.read(f"{PLACE}/{name}")
    batches = list(headers_in(data))
    assert [header.is_control for _, header in batches] == [True, False, True]
    assert {header.leader_epoch for _, header in batches} == {1}
    assert [header.base_offset for _, header in batches] == [0, 1, 2]
    (head,), (foot,) = (list(records_in(data, *batches[at])) for at in (0, 2))
    assert head.key == bytes.fromhex("00000003")
    assert head.value == bytes(2) + NOW_MS.to_bytes(8, "big") + b"\0"
    assert (foot.key, foot.value) == (bytes.fromhex("00000004"), bytes(3))


def test_the_voters_that_the_log_names_are_in_it() -> None:
    life = Life(Disk())
    life.begin()
    batch = build([KRAFT_VERSION, VOTERS], timestamp_ms=NOW_MS, control=True, leader_epoch=1)
    life.log.log.append(batch, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    again = Life(life.disk.after_kill())
    again.log.lead(1, now_ms=NOW_MS)
    for _ in range(2):  # from the log, then from the snapshot
        name = again.snapshot()
        data = again.disk.read(f"{PLACE}/{name}")
        position, header = next(headers_in(data))
        found = [(record.key, record.value) for record in records_in(data, position, header)]
        assert found[1:] == [KRAFT_VERSION, VOTERS]
        again = Life(again.disk.after_kill())
        again.log.lead(1, now_ms=NOW_MS)


def test_a_snapshot_is_due_by_bytes_or_time_and_not_without_new_records() -> None:
    life = Life(Disk(), bytes_between_snapshots=2000, snapshot_interval_ms=1000)
    life.begin()
    assert not life.log.snapshot_is_due(NOW_MS + 999)
    assert life.log.snapshot_is_due(NOW_MS + 1000)
    assert life.snapshot(NOW_MS + 1000)
    assert life.snapshot(NOW_MS + 1000) is None
    assert not life.log.snapshot_is_due(NOW_MS + 9000), "nothing is new"
    for number in range(1, 9):
        assert not life.log.snapshot_is_due(NOW_MS + 1001), number
        life.topic(number)
        if life.log.bytes_since_snapshot >= 2000:
            break
    assert life.log.snapshot_is_due(NOW_MS + 1001)
    again = Life(life.disk.after_kill(), bytes_between_snapshots=2000)
    assert again.log.snapshot_is_due(NOW_MS), "what an earlier life wrote counts too"
    never = Life(life.disk.after_kill(), snapshot_interval_ms=0)
    assert not never.log.snapshot_is_due(NOW_MS + 10**12)


def test_the_time_between_snapshots_goes_on_while_no_broker_runs() -> None:
    life = Life(Disk())
    life.begin()
    first = NOW_MS + life.log.config.snapshot_interval_ms
    again = Life(life.disk.after_kill(), first - 1)
    again.log.lead(1, now_ms=first - 1)
    assert not again.log.snapshot_is_due(first - 1)
    assert again.log.snapshot_is_due(first)
    assert again.snapshot(first)
    second = first + life.log.config.snapshot_interval_ms
    later = Life(again.disk.after_kill(), second)
    assert not later.log.snapshot_is_due(second), "nothing is new"
    later.log.lead(1, now_ms=second)
    assert not later.log.snapshot_is_due(second - 1)
    assert later.log.snapshot_is_due(second)


def test_no_snapshot_is_taken_inside_a_metadata_transaction() -> None:
    life = Life(Disk())
    life.begin()
    decide(life.log, life.catalog, (BeginTransactionRecord("x"),))
    assert life.snapshot() is None


@pytest.mark.parametrize(
    ("settings", "later_ms", "left"),
    [
        ({"retention_bytes": 1, "retention_ms": -1}, 0, 1),
        ({"retention_bytes": -1, "retention_ms": 5000}, 5001, 1),
        ({"retention_bytes": -1, "retention_ms": 5000}, 5000, 3),
        ({"retention_bytes": -1, "retention_ms": -1}, 10**9, 3),
    ],
    ids=["too much", "too old", "not yet", "for ever"],
)
def test_records_before_a_snapshot_are_deleted_by_retention(
    settings: dict[str, int], later_ms: int, left: int
) -> None:
    unlimited = {"retention_bytes": -1, "retention_ms": -1}
    life = Life(Disk(), **unlimited)
    life.begin()
    for number in range(1, 4):
        life.topic(number)
        life.snapshot()
        life.log.log.roll(NOW_MS)
    assert len(files_of(life.disk)) == 3
    life.log.config = replace(life.log.config, **settings)
    life.log.clean(now_ms=NOW_MS + later_ms)
    names = files_of(life.disk)
    assert len(names) == left
    first = life.log.log.segments[0].base_offset
    assert first == (0 if left == 3 else int(names[0][:20]))
    life.topic(4)
    assert Life(life.disk.after_kill()).catalog == life.catalog


def test_a_kill_or_a_loss_of_power_at_any_operation_loses_nothing() -> None:
    def live(disk: Disk) -> None:
        life = Life(disk, retention_bytes=1)
        life.begin()
        for number in range(1, 4):
            life.topic(number)
            life.log.log.flush()
            said.append(number)
            life.snapshot()
            life.log.log.roll(NOW_MS)

    said: list[int] = []
    live(whole := Disk())
    assert len(files_of(whole)) == 1
    for cut_at in range(1, whole.operations + 1):
        for power_cut in (False, True):
            said.clear()
            disk = Disk(cut_at=cut_at)
            with suppress(PowerCut):
                live(disk)
            left = disk.after_power_cut() if power_cut else disk.after_kill()
            found = Life(left)
            names = [f"orders{number}" for number in said]
            assert list(found.catalog.topics)[: len(names)] == names, (cut_at, power_cut)
            found.log.lead(1, now_ms=NOW_MS)
            decide(found.log, found.catalog, (BROKER,))
            assert found.snapshot()
            assert Life(left.after_kill()).catalog == found.catalog
            assert not files_of(left, ".part")


def test_a_disk_that_refuses_leaves_the_log_as_it_was() -> None:
    first = Life(Disk())
    first.begin()
    refused = 0
    for after in range(1, 20):
        life = Life(first.disk.after_kill())
        life.log.log.flush()
        life.disk.fail_at = life.disk.operations + after
        try:
            life.snapshot()
        except OSError:
            refused += 1
            assert not files_of(life.disk, ".part") or life.disk.operations > life.disk.fail_at
        life.disk.fail_at = 0
        life.topic(1)
        assert Life(life.disk.after_kill()).catalog == life.catalog
        assert life.snapshot()
    assert 4 < refused < 19


def test_a_damaged_snapshot_is_not_started_on_and_named() -> None:
    life = Life(Disk())
    life.begin()
    life.topic(1)
    name = life.snapshot() or ""
    path = f"{PLACE}/{name}"
    refused = 0
    for position in range(0, life.disk.size(path), 3):
        disk = life.disk.after_kill()
        disk.files[path].data[position] ^= 1 << (position % 8)
        try:
            started = Life(disk)
        except Refused:
            refused += 1
            with pytest.raises(Refused, match=name):
                Life(disk.after_kill())
        else:
            assert started.catalog == life.catalog, f"bit {position % 8} at {position} is unnoticed"
    assert refused > 0
    for size in range(life.disk.size(path)):
        disk = life.disk.after_kill()
        del disk.files[path].data[size:]
        with pytest.raises(Refused, match="damaged"):
            Life(disk)


def test_a_snapshot_beyond_the_end_of_the_log_is_not_started_on() -> None:
    life = Life(Disk())
    life.begin()
    name = life.snapshot()
    disk = life.disk.after_kill()
    disk.rename(f"{PLACE}/{name}", f"{PLACE}/{99:020}-{1:010}.checkpoint")
    with pytest.raises(Refused, match="before its snapshot"):
        Life(disk)


def test_a_file_of_a_user_is_no_snapshot() -> None:
    life = Life(Disk())
    life.begin()
    name = life.snapshot() or ""
    disk = life.disk.after_kill()
    for other in (
        f"kept-by-hand-{name[13:]}",
        f"{name[:20]}_{name[21:]}",
        f"{name[:30]}².checkpoint",
    ):
        assert len(other) == len(name)
        disk.files[f"{PLACE}/{other}"] = disk.files[f"{PLACE}/{name}"]
    assert Life(disk).catalog == life.catalog

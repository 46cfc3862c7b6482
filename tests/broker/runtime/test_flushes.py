"""Group commit: requests that wait for a sync share it, and fail with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.logs.flushes import Flushes
from ottla.broker.runtime.shards.shard import Shard, ShardServices
from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import PARKED, Answer, Effect, Outcome, Parked
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.storage.disk.open_files import OpenFiles
from ottla.storage.log import LogServices, PartitionLog
from ottla.storage.recovery.recovery import Stop
from tests.broker.one_node import OneNode, one_node
from tests.broker.runtime.slow_disk import PATIENCE_S, SlowDisk
from tests.broker.slow_files import SlowFiles
from tests.broker.transacting import producer
from tests.clocks import StillClock
from tests.log_lines import LogLines
from tests.storage.logs import NOW_MS, batch, config, everything, sent_by

pytestmark = pytest.mark.real_time


@dataclass
class Broker:
    """Two logs on a slow disk, and their flushes."""

    disk: SlowDisk
    flushes: Flushes
    metadata: PartitionLog
    orders: PartitionLog
    lines: LogLines

    def open(self, name: str, **settings: Any) -> PartitionLog:
        topic, _, partition = name.rpartition("-")
        self.disk.make_directory(f"data/{name}")
        services = LogServices(self.disk, "data", on_flush_due=self.flushes.ask)
        return PartitionLog(
            services, topic, int(partition), config=config(**settings), stop=Stop(clean=True),
            now_ms=NOW_MS,
        )  # fmt: skip

    def flushes_of(self, open_files: OpenFiles) -> Flushes:
        """Flushes in place of the first ones, for a process with these open files."""
        self.flushes = Flushes(self.metadata, open_files)
        return self.flushes

    async def syncing(self) -> None:
        """Wait until a thread is in the middle of a sync."""
        assert await asyncio.to_thread(self.disk.is_syncing.wait, PATIENCE_S)


@pytest.fixture
def broker(log_lines: LogLines) -> Iterator[Broker]:
    disk = SlowDisk()
    disk.make_directory("data")
    disk.make_directory("data/__cluster_metadata-0")
    metadata = PartitionLog(
        LogServices(disk, "data"), "__cluster_metadata", 0, config=config(), stop=Stop(clean=True),
        now_ms=NOW_MS,
    )  # fmt: skip
    made = Broker(disk, Flushes(metadata), metadata, None, log_lines.of("flushes"))  # type: ignore[arg-type]  # the next line sets it
    made.orders = made.open("orders-0", flush_messages=1)
    yield made
    disk.may_sync.set()
    made.flushes.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("flush")]


async def test_one_sync_serves_all_waiting_requests_while_the_loop_runs(broker: Broker) -> None:
    log, flushes = broker.orders, broker.flushes
    log.append(batch(), now_ms=NOW_MS)
    first = flushes.flushed(log)
    await broker.syncing()
    waiting = []
    for _ in range(50):  # the disk is at work, and the loop takes requests
        log.append(batch(), now_ms=NOW_MS)
        waiting.append(flushes.flushed(log))
        await asyncio.sleep(0)
    assert not first.done()
    assert not any(one.done() for one in waiting)
    broker.disk.may_sync.set()
    assert await asyncio.gather(first, *waiting) == [None] * 51
    assert broker.disk.data_syncs() == 2


async def test_acknowledged_records_survive_a_power_loss(broker: Broker) -> None:
    broker.disk.may_sync.set()
    broker.orders.append(batch(b"kept"), now_ms=NOW_MS)
    assert await broker.flushes.flushed(broker.orders) is None
    after = broker.disk.after_power_cut()
    kept = bytes(after.files["data/orders-0/00000000000000000000.log"].data)
    assert kept == everything(broker.orders)[0][1]
    assert {"data/orders-0", "data"} <= set(broker.disk.synced), "the names are to be there, too"


async def test_appends_during_a_sync_wait_for_the_next_one(broker: Broker) -> None:
    log = broker.orders
    log.append(batch(b"early"), now_ms=NOW_MS)
    early = broker.flushes.flushed(log)
    await broker.syncing()
    log.append(batch(b"late"), now_ms=NOW_MS)
    late = broker.flushes.flushed(log)
    broker.disk.is_syncing.clear()
    broker.disk.may_sync.set()
    assert await early is None
    assert log.recovery_point == 1, "the first sync began before the second batch was written"
    assert await late is None
    assert log.recovery_point == 2


async def test_a_flush_includes_new_metadata_records(broker: Broker) -> None:
    broker.disk.may_sync.set()
    broker.metadata.append(batch(b"a topic"), now_ms=NOW_MS)
    broker.orders.append(batch(), now_ms=NOW_MS)
    await broker.flushes.flushed(broker.orders)
    assert broker.metadata.recovery_point == 1
    data = [path for path in broker.disk.synced if path.endswith(".log")]
    assert data[0].startswith("data/__cluster_metadata"), "a partition is nothing without its topic"
    broker.orders.append(batch(), now_ms=NOW_MS)
    await broker.flushes.flushed(broker.orders)
    assert broker.disk.data_syncs("__cluster_metadata-0") == 1, "nothing of it was new"


async def test_a_flush_rests_on_that_of_the_metadata_and_fails_with_it(broker: Broker) -> None:
    """Without its topic the partition would be a stray after a loss of power."""
    broker.metadata.append(batch(b"a topic"), now_ms=NOW_MS)
    broker.orders.append(batch(), now_ms=NOW_MS)
    broker.disk.broken, broker.disk.is_broken_once = OSError(5, "Input/output error"), True
    broker.disk.may_sync.set()
    told = await broker.flushes.flushed(broker.orders)
    assert told is not None
    assert told.code == Code.KAFKA_STORAGE_ERROR
    assert (broker.metadata.recovery_point, broker.orders.recovery_point) == (0, 0)
    assert broker.disk.data_syncs() == 0, "what rests on a failure is not tried"


async def test_a_flush_that_could_not_take_the_metadata_with_it_is_none(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.disk.may_sync.set()
    broker.metadata.append(batch(b"a topic"), now_ms=NOW_MS)
    broker.orders.append(batch(), now_ms=NOW_MS)
    monkeypatch.setattr(broker.metadata, "begin_flush", partial(_no_descriptors, ""))
    told = await broker.flushes.flushed(broker.orders)
    assert told is not None
    assert told.code == Code.KAFKA_STORAGE_ERROR
    assert broker.orders.recovery_point == 0
    assert broker.disk.data_syncs() == 0


async def test_a_failed_sync_fails_all_waiting_requests_and_later_appends(broker: Broker) -> None:
    log = broker.orders
    log.append(batch(b"kept"), now_ms=NOW_MS)
    waiting = [broker.flushes.flushed(log)]
    await broker.syncing()
    log.append(batch(), now_ms=NOW_MS)
    waiting.append(broker.flushes.flushed(log))
    broker.disk.broken = OSError(5, "Input/output error")
    broker.disk.may_sync.set()
    for told in await asyncio.gather(*waiting):
        assert told is not None
        assert told.code == Code.KAFKA_STORAGE_ERROR
    broker.disk.broken = None  # well again, it says; what it has dropped it does not say
    with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
        log.append(batch(), now_ms=NOW_MS)
    with pytest.raises(OSError, match="Input/output error"):
        log.roll(NOW_MS)
    assert log.recovery_point == 0
    assert len(everything(log)) == 2, "it can be read"
    ((level, event, fields),) = broker.lines.lines
    assert (level, event) == ("error", "a log cannot be flushed")
    assert "restart the broker" in fields["remedy"]


async def test_a_duplicate_of_a_batch_that_never_reached_the_disk_is_refused(
    broker: Broker,
) -> None:
    log = broker.orders
    broker.disk.broken = OSError(5, "Input/output error")
    broker.disk.may_sync.set()
    log.append(sent_by(7, 0), now_ms=NOW_MS)
    assert await broker.flushes.flushed(log) is not None
    assert log.append(sent_by(7, 0), now_ms=NOW_MS).is_duplicate
    told = await broker.flushes.flushed(log)
    assert told is not None
    assert told.code == Code.KAFKA_STORAGE_ERROR


async def test_a_duplicate_waits_for_the_sync_of_the_first(broker: Broker) -> None:
    log = broker.orders
    log.append(sent_by(7, 0), now_ms=NOW_MS)
    await broker.syncing()
    assert log.append(sent_by(7, 0), now_ms=NOW_MS).is_duplicate
    retried = broker.flushes.flushed(log)
    await asyncio.sleep(0)
    assert not retried.done()
    broker.disk.may_sync.set()
    assert await retried is None


async def test_only_every_fifth_record_waits_for_a_flush(broker: Broker) -> None:
    log = broker.open("fifth-0", flush_messages=5)
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
        assert broker.flushes.flushed(log).done()
    log.append(batch(), now_ms=NOW_MS)
    fifth = broker.flushes.flushed(log)
    assert not fifth.done()
    await broker.syncing()
    broker.disk.may_sync.set()
    assert await fifth is None
    log.append(batch(), now_ms=NOW_MS)
    assert broker.flushes.flushed(log).done()


async def test_the_system_decides_when_nothing_is_set_and_no_thread_is_made(broker: Broker) -> None:
    log = broker.open("lean-0")
    for _ in range(100):
        log.append(batch(), now_ms=NOW_MS)
    assert broker.flushes.flushed(log).done()
    await asyncio.sleep(0)
    assert broker.disk.synced == []
    assert threads() == []


async def test_a_segment_that_is_full_is_flushed_with_all_that_belongs_to_it(
    broker: Broker,
) -> None:
    broker.disk.may_sync.set()
    log = broker.open("rolled-0", segment_bytes=200)
    while len(log.segments) == 1:
        log.append(batch(), now_ms=NOW_MS)
    await broker.syncing()
    broker.flushes.close()
    assert log.recovery_point == log.segments[1].base_offset, "the newest one is left alone"
    begun = f"{log.segments[1].base_offset:020d}"
    names = {path for path in broker.disk.synced if path.startswith("data/rolled-0/")}
    assert names == {
        "data/rolled-0/00000000000000000000.log",
        "data/rolled-0/00000000000000000000.index",
        "data/rolled-0/00000000000000000000.timeindex",
        f"data/rolled-0/{begun}.snapshot",
        "data/rolled-0/leader-epoch-checkpoint",
    }


async def test_of_many_logs_rolled_at_once_few_have_files_open_for_their_flush(
    broker: Broker,
) -> None:
    """Each log has 4 files to sync besides its data; a process has few descriptors."""
    flushes = broker.flushes_of(OpenFiles(limit=3 * 32))
    logs = [
        broker.open(f"rolled-{number}", segment_bytes=200, flush_messages=1)
        for number in range(100)
    ]
    for log in logs:
        while len(log.segments) == 1:
            log.append(batch(), now_ms=NOW_MS)
    await broker.syncing()
    others = [path for path in broker.disk.open_paths() if not path.endswith(".log")]
    assert len(others) == 3 * 4
    logs[50].close(clean=False)
    told = asyncio.gather(*(flushes.flushed(log) for log in logs))
    broker.disk.may_sync.set()
    refused = [at for at, refusal in enumerate(await told) if refusal is not None]
    assert refused == [50], "a log that is closed while others are flushed"
    assert all(log.recovery_point > 0 for log in logs if log is not logs[50])
    assert broker.lines.lines == []


async def test_closing_flushes_the_logs_that_wait_for_others(broker: Broker) -> None:
    flushes = broker.flushes_of(OpenFiles(limit=32))
    logs = [broker.open(f"orders-{number}", flush_messages=1) for number in range(1, 5)]
    for log in logs:
        log.append(batch(), now_ms=NOW_MS)
    waiting = [flushes.flushed(log) for log in logs]
    await broker.syncing()
    broker.disk.may_sync.set()
    flushes.close()
    assert [one.result() for one in waiting] == [None] * 4
    assert [log.recovery_point for log in logs] == [1] * 4


async def test_a_log_that_is_deleted_under_a_sync_lets_go_and_is_no_trouble(broker: Broker) -> None:
    log = broker.orders
    log.append(batch(), now_ms=NOW_MS)
    waiting = broker.flushes.flushed(log)
    await broker.syncing()
    log.close(clean=False)
    broker.disk.broken = FileNotFoundError("data/orders-0")
    broker.disk.may_sync.set()
    told = await waiting
    assert told is not None
    assert broker.lines.lines == []
    assert broker.disk.opened == {}, "a descriptor was left open"


async def test_a_flush_retries_a_file_that_cannot_be_opened(broker: Broker) -> None:
    log = broker.orders
    broker.disk.may_sync.set()
    log.append(batch(), now_ms=NOW_MS)
    log.segments[0].close()
    broker.disk.has_descriptors = False
    told = await broker.flushes.flushed(log)
    assert told is not None
    assert told.code == Code.KAFKA_STORAGE_ERROR
    broker.disk.has_descriptors = True
    assert await broker.flushes.flushed(log) is None
    assert log.recovery_point == 1


def _no_descriptors(_path: str) -> int:
    raise OSError(24, "Too many open files")


async def test_closing_waits_for_the_running_sync_and_its_requests(broker: Broker) -> None:
    log = broker.orders
    log.append(batch(), now_ms=NOW_MS)
    first = broker.flushes.flushed(log)
    await broker.syncing()
    log.append(batch(), now_ms=NOW_MS)
    second = broker.flushes.flushed(log)
    threading.Timer(0.05, broker.disk.may_sync.set).start()
    broker.flushes.close()
    assert first.result() is None
    assert second.result() is None
    assert log.recovery_point == 2
    log.append(batch(), now_ms=NOW_MS)
    assert log.recovery_point == 3, "from now on an append flushes"
    assert threads() == []


# What waits with the records of a coordinator


@dataclass(frozen=True)
class Bell(Effect):
    name: str


class Notes:
    """A machine that notes its arguments."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def replay(self, record: str) -> None:
        self.notes.append(record)

    def next_deadline(self, now: Moment) -> int | None:
        return None

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        yield from ()


def shard_of(broker: Broker, rung: list[str]) -> Shard[Notes]:
    return Shard(
        broker.orders, Notes(), (lambda record: (b"k", record.encode()), lambda _, v: v),
        ShardServices(StillClock(), wake_fetches=lambda *_: None, flushes=broker.flushes),
        carry_out=lambda _, effect: rung.append(effect.name),  # type: ignore[attr-defined]  # another type would fail the test
    )  # fmt: skip


async def test_a_reply_and_its_effects_leave_when_the_records_are_on_disk(broker: Broker) -> None:
    rung: list[str] = []
    shard = shard_of(broker, rung)
    said = asyncio.ensure_future(
        shard.run(lambda _, __: Outcome("done", ("prepared",), (Bell("marker"),)))
    )
    await broker.syncing()
    assert shard.machine.notes == ["prepared"], "others decide on the new state at once"
    rests_on_it = asyncio.ensure_future(shard.run(lambda machine, _: Outcome(machine.notes[0])))
    await asyncio.sleep(0)
    assert not said.done()
    assert not rests_on_it.done(), "it tells of what a loss of power would undo"
    assert rung == [], "a marker on disk whose decision is not"
    broker.disk.may_sync.set()
    assert await said == "done"
    assert await rests_on_it == "prepared"
    assert rung == ["marker"]


async def test_a_request_that_might_have_waited_is_answered_when_its_records_are_on_disk(
    broker: Broker,
) -> None:
    shard = shard_of(broker, [])
    joined = asyncio.ensure_future(
        shard.run_parked(lambda _, __, ticket: Outcome("joined", ("a member",)))
    )
    await broker.syncing()
    await asyncio.sleep(0)
    assert not joined.done()
    broker.disk.may_sync.set()
    assert await joined == "joined"


async def test_requests_whose_records_cannot_be_synced_get_not_coordinator(broker: Broker) -> None:
    rung: list[str] = []
    shard = shard_of(broker, rung)
    broker.disk.broken = OSError(5, "Input/output error")
    parking: Outcome[str | Parked] = Outcome(PARKED)
    parked = asyncio.ensure_future(shard.run_parked(lambda _, __, ticket: parking))
    await asyncio.sleep(0)
    said = asyncio.ensure_future(
        shard.run(lambda _, __: Outcome("done", ("x",), (Answer(1, "go on"), Bell("marker"))))
    )
    broker.disk.may_sync.set()
    for one in (said, parked):
        with pytest.raises(Refused, match="NOT_COORDINATOR"):
            await one
    assert rung == []


# End to end


async def produced(one: OneNode, topic: str = "orders", **fields: Any) -> Any:
    data = {"index": 0, "records": bytes(batch(b"v"))}
    topics = [{"name": topic, "partition_data": [data]}]
    return await one.ask(ApiKey.PRODUCE, 9, timeout_ms=1000, topic_data=topics, **fields)


async def test_a_produce_is_answered_after_its_sync_and_without_acks_before(it: OneNode) -> None:
    it.topic("orders", flush_messages="1")
    answer = await produced(it, acks=-1)
    assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0
    assert it.log("orders").recovery_point == 1
    metadata_log = it.node.log_directory.log_of("__cluster_metadata", 0)
    assert metadata_log is not None
    assert metadata_log.recovery_point > 0
    assert await produced(it, acks=0) is None
    assert it.log("orders").recovery_point == 1


async def test_records_are_flushed_after_flush_ms(
    it: OneNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.topic("orders", flush_ms="1000")
    it.append("orders", b"v")
    log, flush = it.log("orders"), it.node.cluster._background._flush
    for time_ms in (5, 1004, 1005):
        await asyncio.sleep(0)
        assert threads() == []
        monkeypatch.setattr(it.clock, "monotonic_ms", lambda time_ms=time_ms: time_ms)
        flush(log)
    it.node.flushes.close()
    assert log.recovery_point == 1


async def test_the_periodic_checkpoint_has_the_flushed_offsets_and_flushes_the_metadata(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, log_flush_offset_checkpoint_interval_ms="1") as one:
        one.topic("orders", flush_messages="1")
        await produced(one, acks=-1)
        one.topic("others")
        checkpoint = tmp_path / "recovery-point-offset-checkpoint"
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        end = one.log("__cluster_metadata").log_end_offset
        wanted = {"orders 0 1", f"__cluster_metadata 0 {end}"}
        while not (checkpoint.exists() and wanted <= rows(checkpoint)):
            assert asyncio.get_running_loop().time() < deadline, checkpoint.read_text()
            await asyncio.sleep(0.001)


def rows(checkpoint: Path) -> set[str]:
    return {line.rstrip() for line in checkpoint.read_text().splitlines()}


async def test_a_topic_is_on_disk_when_its_maker_is_answered(tmp_path: Path) -> None:
    files = SlowFiles()
    async with one_node(tmp_path, WORK_LIMITS, files, log_flush_interval_messages="1") as one:
        await one.node.decided()
        files.hold()
        topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
        asking = asyncio.ensure_future(one.ask(ApiKey.CREATE_TOPICS, 7, topics=[topic]))
        while one.node.open_log_of("orders", 0) is None:  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0)
        metadata = one.log("__cluster_metadata")
        assert metadata.recovery_point < metadata.log_end_offset
        assert not asking.done()
        files.may_sync.set()
        assert (await asking)["topics"][0]["error_code"] == 0
        assert metadata.recovery_point == metadata.log_end_offset


async def test_a_transaction_is_complete_when_its_markers_are_on_disk(tmp_path: Path) -> None:
    """Else a loss of power would keep the end of it and lose a marker, for ever."""
    files = SlowFiles()
    async with one_node(tmp_path, WORK_LIMITS, files) as one:
        one.topic("orders", flush_messages="1")
        one.node.controller.create_internal_topic("__transaction_state")
        shard = one.node.transactions.shard_of("shop")
        shop = await producer(one, "shop")
        await shop.add({"orders": [0]})
        files.hold()
        before = shard.log.log_end_offset
        assert await shop.end(version=3) == "NONE"
        assert one.log("orders").log_end_offset == 1, "the marker is written"
        assert shard.log.log_end_offset == before + 1, "prepared, and no more"
        files.may_sync.set()
        assert await one.node.flushes.flushed(one.log("orders")) is None
        assert shard.log.log_end_offset == before + 2


async def test_a_failed_sync_fails_only_the_produce_of_its_partition(
    tmp_path: Path, log_lines: LogLines
) -> None:
    with pytest.raises(OSError, match="not closed cleanly"):
        await _one_of_two_logs_breaks(tmp_path)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


async def _one_of_two_logs_breaks(directory: Path) -> None:
    files = SlowFiles()
    async with one_node(directory, WORK_LIMITS, files) as one:
        one.topic("orders", flush_messages="1")
        one.topic("others", flush_messages="1")
        files.broken.add(one.log("orders").segments[0].open())
        answer = await produced(one, acks=-1)
        (part,) = answer["responses"][0]["partition_responses"]
        assert (part["error_code"], part["base_offset"]) == (Code.KAFKA_STORAGE_ERROR, -1)
        files.broken.clear()
        answer = await produced(one, acks=-1)
        (part,) = answer["responses"][0]["partition_responses"]
        assert part["error_code"] == Code.KAFKA_STORAGE_ERROR, "of what comes later, too"
        answer = await produced(one, "others", acks=-1)
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0

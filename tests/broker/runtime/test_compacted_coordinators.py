"""Coordinators over logs that were compacted: a restart makes the same machine of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ottla.broker.clock import SystemClock
from ottla.broker.runtime.shards.shard import Shard, ShardServices
from ottla.coordinator import group_records
from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.groups import ClaimedMember, Groups
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.coordinator.transactions import records as transaction_records
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import WriteMarkers
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.storage.compacting import COMPACT, compacted
from tests.storage.disk import Disk
from tests.storage.logs import open_log

DAY_MS = 86_400_000
GROUPS = ["g1", "g2"]
SETTINGS: dict[str, Any] = {
    "cleanup_policy": COMPACT,
    "segment_bytes": 1500,
    "delete_retention_ms": DAY_MS,
}


class Clock(SystemClock):
    def __init__(self) -> None:
        super().__init__()
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        self.ms += 1
        return self.ms

    def monotonic_ms(self) -> int:
        return self.now_ms()

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()


def shard_over(log: PartitionLog, machine: Any, codec: Any, clock: Clock) -> Shard[Any]:
    shard = Shard(
        log, machine, codec, ShardServices(clock, wake_fetches=lambda *_: None),
        carry_out=lambda *_: None,
    )  # fmt: skip
    shard.load()
    return shard


def groups_of(log: PartitionLog, clock: Clock) -> Shard[Groups]:
    codec = (group_records.encode, group_records.decode)
    return shard_over(log, Groups(GroupSettings()), codec, clock)


def transactions_of(log: PartitionLog, clock: Clock) -> Shard[Transactions]:
    codec = (transaction_records.encode, transaction_records.decode)
    return shard_over(log, Transactions(next_producer_id=lambda: 99), codec, clock)


def rounds(log: PartitionLog, disk: Disk, clock: Clock, same: Callable[[], None]) -> None:
    """As many as it takes until nothing goes any more; `same` is asked after each."""
    log.roll(clock.now_ms())
    before = log.size_bytes
    for days in range(4):
        compacted(log, disk, now_ms=clock.now_ms() + days * 2 * DAY_MS, map_size_bytes=192 * 5)
        same()
        compacted(log, disk, now_ms=clock.now_ms() + days * 2 * DAY_MS)
        same()
    assert log.size_bytes < before * 0.8, "it was worth it"


def offset_known(shard: Shard[Groups], place: tuple[str, str, int], *, stable: bool) -> Any:
    return shard.ask(lambda machine: machine.fetch_offset(*place, require_stable=stable))


def offsets_known(shard: Shard[Groups]) -> list[Any]:
    """All that the machine says of groups and offsets, stable or not."""
    places = [(g, t, p) for g in GROUPS for t in ("t", "u") for p in range(3)]
    offsets = [
        (place, stable, offset_known(shard, place, stable=stable))
        for place in places
        for stable in (False, True)
    ]
    return [*offsets, *(shard.machine.describe(group) for group in GROUPS)]


def commit_something(shard: Shard[Groups], chance: random.Random) -> None:
    """One of the things that happen to offsets."""
    group = chance.choice(GROUPS)
    offset = OffsetToCommit(chance.choice("tu"), chance.randrange(3), chance.randrange(1000))
    producer = Producer(chance.randrange(1, 4), 0)
    match chance.randrange(8):
        case 0 | 1 | 2:
            shard.run_now(
                lambda machine, now: machine.commit(group, ClaimedMember(), [offset], now=now)
            )
        case 3 | 4:
            shard.run_now(
                lambda machine, now: machine.commit_in_transaction(
                    group, ClaimedMember(), producer, [offset], now=now
                )
            )
        case 5 | 6:
            commit = chance.random() < 0.6
            shard.write_marker(producer, commit=commit, coordinator_epoch=0)
        case _:
            with suppress(Refused):  # no such group yet
                shard.run_now(
                    lambda machine, _now_ms: machine.delete_offsets(
                        group, [(offset.topic, offset.partition)]
                    )
                )


@pytest.mark.parametrize("seed", range(12))
def test_committed_and_pending_offsets_are_the_same(seed: int) -> None:
    chance, clock, disk = random.Random(seed), Clock(), Disk()
    log = open_log(disk, **SETTINGS)
    shard = groups_of(log, clock)
    for _ in range(150):
        commit_something(shard, chance)

    def same() -> None:
        again = groups_of(log, clock)
        assert offsets_known(again) == offsets_known(shard)

    same()
    rounds(log, disk, clock, same)
    restarted = open_log(disk.after_kill(), clean=False, **SETTINGS)
    again = groups_of(restarted, clock)
    assert offsets_known(again) == offsets_known(shard)
    for commit in (True, False, True):  # pending transactions end in the same way
        for producer_id in range(1, 4):
            for each in (shard, again):
                each.write_marker(Producer(producer_id, 0), commit=commit, coordinator_epoch=0)
            assert offsets_known(again) == offsets_known(shard)


def started(shard: Shard[Transactions], name: str) -> Producer:
    reply = shard.run_now(
        lambda machine, now: machine.init_producer_id(name, timeout_ms=60_000, now_ms=now.wall_ms)
    )
    if isinstance(reply, Code):
        raise Refused(reply)
    assert isinstance(reply, Producer)
    return reply


def transact(
    shard: Shard[Transactions], name: str, producer: Producer, chance: random.Random
) -> Producer:
    """A transaction, or a part of one; who goes on with the next."""
    partitions = [("t", chance.randrange(3)) for _ in range(2)]
    shard.run_now(
        lambda machine, now: machine.add_partitions(name, producer, partitions, now_ms=now.wall_ms)
    )
    if chance.random() < 0.2:
        return producer
    commit = chance.random() < 0.5
    return shard.run_now(
        lambda machine, now: machine.end_and_bump(name, producer, commit=commit, now_ms=now.wall_ms)
    )


def transact_something(shard: Shard[Transactions], chance: random.Random) -> None:
    """Any request for any transactional id; what is refused has changed nothing."""
    name = f"shop-{chance.randrange(5)}"
    try:
        producer = started(shard, name)
        for _ in range(chance.randrange(4)):
            producer = transact(shard, name, producer, chance)
            if chance.random() < 0.8:
                complete(shard)
    except Refused:
        complete(shard)


def complete(shard: Shard[Transactions]) -> None:
    def written(effect: WriteMarkers) -> None:
        shard.run_now(
            lambda machine, now: machine.markers_written(effect.transaction, now_ms=now.wall_ms)
        )

    for effect in shard.machine.unfinished():
        written(effect)


@pytest.mark.parametrize("seed", range(12))
def test_transactional_ids_are_the_same(seed: int) -> None:
    chance, clock, disk = random.Random(seed), Clock(), Disk()
    log = open_log(disk, **SETTINGS)
    shard = transactions_of(log, clock)
    for _ in range(40):
        transact_something(shard, chance)
    before = transactions_of(log, clock).machine

    def same() -> None:
        again = transactions_of(log, clock)
        assert again.machine == before
        assert again.machine.unfinished() == before.unfinished()

    rounds(log, disk, clock, same)
    restarted = open_log(disk.after_kill(), clean=False, **SETTINGS)
    assert transactions_of(restarted, clock).machine == before


def test_an_expired_transactional_id_does_not_come_back() -> None:
    clock, disk = Clock(), Disk()
    log = open_log(disk, **SETTINGS)
    shard = transactions_of(log, clock)
    for name in ("old", "young"):
        started(shard, name)
    clock.ms += 7 * DAY_MS
    started(shard, "young")
    shard.tick()
    log.roll(clock.now_ms())
    for days in (0, 0, 2, 4):
        compacted(log, disk, now_ms=clock.now_ms() + days * DAY_MS)
        machine = transactions_of(log, clock).machine
        assert machine == shard.machine
        assert machine != Transactions(next_producer_id=lambda: 1)

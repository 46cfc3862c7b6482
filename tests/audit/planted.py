"""One fault for each rule, planted into a directory of clean logs.

Each function writes to its own topic with its own producer ids and transactional ids, so that all
faults fit into one directory, and each finding belongs to one fault.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from ottla.audit.coordinator import STATE_TOPIC, partition_for
from ottla.coordinator.transactions.states import State
from ottla.protocol.batch import build, seal
from ottla.protocol.control import marker
from ottla.storage.producer_state.aborted import AbortedTransaction
from tests.audit.world import INTERNAL_PARTITIONS, NEXT_PRODUCER_ID, World


class Plant(NamedTuple):
    """What a fault is planted with.

    Attributes:
        name: of its topic, transactional id and group: the rule's id.
        pid: its first producer id; ten are free.
    """

    world: World
    name: str
    pid: int

    @property
    def where(self) -> tuple[str, int]:
        return (self.name, 0)


FAULTS: dict[str, Callable[[Plant], None]] = {}
"""By the id of the rule that each breaks."""
INPUT: Final = "input"
OUTPUT: Final = "output"


def breaks(rule: str) -> Callable[[Callable[[Plant], None]], Callable[[Plant], None]]:
    """Register a fault."""

    def register(function: Callable[[Plant], None]) -> Callable[[Plant], None]:
        FAULTS[rule] = function
        return function

    return register


def clean(world: World) -> None:
    """Transactions of both versions, aborts, offsets, an idempotent producer, compaction holes."""
    both = [("orders", 0), ("orders", 1)]
    world.transaction("shop", 1, 0, both)
    world.transaction("shop", 1, 1, both, commit=False)
    world.partition("orders").roll()
    world.transaction("shop", 1, 2, [*both, ("payments", 0)])
    for sequence in range(0, 12, 3):
        world.partition("orders").data(2, sequence, count=3, transactional=False)
    # Below transaction version 2 all transactions have one epoch, and sequence numbers go on.
    world.state("old", State.EMPTY, 3, 0)
    for sequence in range(3):
        commit = sequence != 1
        world.state("old", State.ONGOING, 3, 0, both)
        if sequence != 2:
            world.partition("orders").data(3, sequence)
        kind = "COMMIT" if commit else "ABORT"
        world.state("old", State[f"PREPARE_{kind}"], 3, 0, both)
        for topic, index in both:
            world.partition(topic, index).marker(3, commit=commit)
        world.state("old", State[f"COMPLETE_{kind}"], 3, 0)
    group = world.offsets_of("readers")
    for epoch in range(2):
        world.begin("copier", 4, epoch, [("payments", 0), group.where])
        world.partition("payments").data(4, 0, epoch=epoch)
        world.commit_offset("readers", "orders", 3 + epoch, producer_id=4, epoch=epoch)
        world.end("copier", 4, epoch, [("payments", 0), group.where], commit=True)
    world.commit_offset("plain", "orders", 5)
    world.commit_offset("plain", "orders", 2)
    holes = world.partition("compacted")
    holes.data(5, 0, transactional=False)
    holes.data(5, 4, transactional=False, at=4)
    holes.marker(6, commit=False)
    world.begin("open", 7, 0, [("payments", 0)])
    world.partition("payments").data(7, 0)


@breaks("damaged-batch")
def _damaged_batch(p: Plant) -> None:
    batch = build([(b"k", b"v")], timestamp_ms=p.world.now())
    batch[-1] ^= 1
    p.world.partition(p.name).append(batch)
    p.world.partition(p.name).roll()


@breaks("offset-overlap")
def _offset_overlap(p: Plant) -> None:
    log = p.world.partition(p.name)
    log.data(p.pid, 0, count=3, transactional=False)
    log.data(p.pid + 1, 0, transactional=False, at=2)


@breaks("offset-gap")
def _offset_gap(p: Plant) -> None:
    p.world.plain_topics.add(p.name)
    p.world.partition(p.name).data(p.pid, 0, transactional=False)
    p.world.partition(p.name).data(p.pid + 1, 0, transactional=False, at=5)


def _written(*batches: dict[str, Any]) -> Callable[[Plant], None]:
    """Batches of one producer, without a transaction; each by the arguments of `data`."""

    def plant(p: Plant) -> None:
        for batch in batches:
            p.world.partition(p.name).data(p.pid, transactional=False, **batch)

    return plant


FAULTS |= {
    "leader-epoch-back": _written(
        {"sequence": 0, "leader_epoch": 4}, {"sequence": 1, "leader_epoch": 3}
    ),
    "sequence-gap": _written({"sequence": 0, "count": 2}, {"sequence": 3}),
    "sequence-duplicate": _written({"sequence": 0}, {"sequence": 1}, {"sequence": 0}),
    "sequence-back": _written({"sequence": 0, "count": 5}, {"sequence": 3, "count": 2}),
    "sequence-start": _written({"sequence": 0}, {"sequence": 1, "epoch": 1}),
    "epoch-back": _written({"sequence": 0, "epoch": 2}, {"sequence": 1, "epoch": 1}),
}


@breaks("fenced-write")
def _fenced_write(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where], commit=False)
    p.world.partition(p.name).data(p.pid, 2)


@breaks("marker-epoch-back")
def _marker_epoch_back(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid, 3)
    p.world.begin(p.name, p.pid, 3, [p.where])
    p.world.partition(p.name).data(p.pid, 0, epoch=3)
    p.world.state(p.name, State.PREPARE_COMMIT, p.pid, 4, [p.where])
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=2)


@breaks("coordinator-epoch-back")
def _coordinator_epoch_back(p: Plant) -> None:
    for epoch, coordinator_epoch in ((0, 5), (1, 4)):
        p.world.begin(p.name, p.pid, epoch, [p.where])
        p.world.partition(p.name).data(p.pid, 0, epoch=epoch)
        p.world.state(p.name, State.PREPARE_COMMIT, p.pid, epoch + 1, [p.where])
        p.world.partition(p.name).marker(
            p.pid, commit=True, epoch=epoch + 1, coordinator_epoch=coordinator_epoch
        )
        p.world.state(p.name, State.COMPLETE_COMMIT, p.pid, epoch + 1)


@breaks("marker-without-transaction")
def _marker_without_transaction(p: Plant) -> None:
    p.world.partition(p.name).data(p.pid + 1, 0, transactional=False)
    p.world.partition(p.name).marker(p.pid, commit=True)


@breaks("marker-repeated")
def _marker_repeated(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=1)


@breaks("marker-resent")
def _marker_resent(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=1, coordinator_epoch=1)


@breaks("markers-contradict")
def _markers_contradict(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).marker(p.pid, commit=False, epoch=1)


@breaks("marker-unreadable")
def _marker_unreadable(p: Plant) -> None:
    batch = bytearray(
        marker(
            commit=True, producer_id=p.pid, producer_epoch=0, coordinator_epoch=0,
            timestamp_ms=p.world.now(),
        )
    )  # fmt: skip
    struct.pack_into(">h", batch, 61 + 5 + 2, 9)  # the type in the key
    seal(batch)
    p.world.partition(p.name).append(batch)


@breaks("plain-batch-in-transaction")
def _plain_batch_in_transaction(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).data(p.pid, 0)
    p.world.partition(p.name).data(p.pid, 1, transactional=False)
    p.world.end(p.name, p.pid, 0, [p.where], commit=True)


@breaks("transactional-without-producer")
def _transactional_without_producer(p: Plant) -> None:
    batch = build([(b"k", b"v")], timestamp_ms=p.world.now(), transactional=True)
    p.world.partition(p.name).append(batch)


def _aborted(
    entry: Callable[[int, int, int], AbortedTransaction | None],
) -> Callable[[Plant], None]:
    """Two transactions, of which the second is aborted, with an entry of the index.

    Args:
        entry: by the producer id and the offsets of the first record and of the marker.
    """

    def plant(p: Plant) -> None:
        log = p.world.partition(p.name)
        p.world.transaction(p.name, p.pid, 0, [p.where])
        p.world.begin(p.name, p.pid, 1, [p.where])
        first = log.data(p.pid, 0, epoch=1, count=2)
        p.world.state(p.name, State.PREPARE_ABORT, p.pid, 2, [p.where])
        last = log.next_offset
        log.marker(p.pid, commit=False, epoch=2, entry=entry(p.pid, first, last))
        p.world.state(p.name, State.COMPLETE_ABORT, p.pid, 2)
        log.roll()

    return plant


FAULTS |= {
    "aborted-index-missing": _aborted(lambda *_: None),
    "aborted-index-late": _aborted(
        lambda pid, first, last: AbortedTransaction(pid, first + 1, last, last + 1)
    ),
    "aborted-index-early": _aborted(
        lambda pid, _, last: AbortedTransaction(pid, 0, last, last + 1)
    ),
    "aborted-index-stable-offset": _aborted(
        lambda pid, first, last: AbortedTransaction(pid, first, last, last + 9)
    ),
}


@breaks("aborted-index-extra")
def _index_extra(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).index(AbortedTransaction(p.pid, 0, 2, 3))


@breaks("illegal-transition")
def _illegal_transition(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid)
    p.world.state(p.name, State.COMPLETE_COMMIT, p.pid)
    p.world.state(p.name, State.PREPARE_COMMIT, p.pid)


@breaks("state-epoch-back")
def _state_epoch_back(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid, 4)
    p.world.state(p.name, State.EMPTY, p.pid, 3)


@breaks("state-producer-changed")
def _state_producer_changed(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [p.where])
    p.world.state(p.name, State.ONGOING, p.pid + 1, 0, [p.where])


@breaks("partitions-lost")
def _partitions_lost(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [p.where, (p.name, 1)])
    for index in range(2):
        p.world.partition(p.name, index).data(p.pid, 0)
    p.world.end(p.name, p.pid, 0, [p.where], commit=True)


@breaks("expired-while-open")
def _expired_while_open(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [])
    p.world.state(p.name, None, p.pid)


@breaks("wrong-coordinator")
def _wrong_coordinator(p: Plant) -> None:
    wrong = (partition_for(p.name, INTERNAL_PARTITIONS) + 1) % INTERNAL_PARTITIONS
    p.world.state(p.name, State.EMPTY, p.pid, in_partition=wrong)


@breaks("state-unreadable")
def _state_unreadable(p: Plant) -> None:
    key = b"\0\0" + struct.pack(">h", len(p.name)) + p.name.encode()
    batch = build([(key, b"\0\1\0")], timestamp_ms=p.world.now())
    p.world.partition(STATE_TOPIC, 0).append(batch)


@breaks("marker-missing")
def _marker_missing(p: Plant) -> None:
    second = (p.name, 1)
    p.world.begin(p.name, p.pid, 0, [p.where, second])
    for index in range(2):
        p.world.partition(p.name, index).data(p.pid, 0)
    p.world.state(p.name, State.PREPARE_COMMIT, p.pid, 1, [p.where, second])
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=1)
    p.world.state(p.name, State.COMPLETE_COMMIT, p.pid, 1)


@breaks("marker-contradicts-decision")
def _marker_contradicts(p: Plant) -> None:
    second = (p.name, 1)
    p.world.begin(p.name, p.pid, 0, [p.where, second])
    for index in range(2):
        p.world.partition(p.name, index).data(p.pid, 0)
    p.world.state(p.name, State.PREPARE_COMMIT, p.pid, 1, [p.where, second])
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=1)
    p.world.partition(p.name, 1).marker(p.pid, commit=False, epoch=1)
    p.world.state(p.name, State.COMPLETE_COMMIT, p.pid, 1)


@breaks("commit-without-decision")
def _commit_without_decision(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid, 1)
    p.world.partition(p.name).data(p.pid, 0)
    p.world.partition(p.name).marker(p.pid, commit=True, epoch=1)


@breaks("abort-without-decision")
def _abort_without_decision(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid, 0)
    p.world.partition(p.name).data(p.pid, 0)
    p.world.partition(p.name).marker(p.pid, commit=False)


@breaks("hanging-transaction")
def _hanging_transaction(p: Plant) -> None:
    p.world.transaction(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).data(p.pid, 0, epoch=1)


@breaks("overdue-transaction")
def _overdue_transaction(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid)
    p.world.state(p.name, State.ONGOING, p.pid, 0, [p.where], timeout_ms=1)
    p.world.partition(p.name).data(p.pid, 0)
    p.world.now(passes_ms=20_000)
    p.world.partition(p.name).data(p.pid + 1, 0, transactional=False)


@breaks("unfinished-decision")
def _unfinished_decision(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).data(p.pid, 0)
    p.world.state(p.name, State.PREPARE_COMMIT, p.pid, 1, [p.where])


@breaks("epoch-unassigned")
def _epoch_unassigned(p: Plant) -> None:
    p.world.begin(p.name, p.pid, 0, [p.where])
    p.world.partition(p.name).data(p.pid, 0, epoch=7)


@breaks("producer-id-shared")
def _producer_id_shared(p: Plant) -> None:
    p.world.state(p.name, State.EMPTY, p.pid)
    p.world.state(f"{p.name}-2", State.EMPTY, p.pid)


@breaks("producer-id-unallocated")
def _producer_id_unallocated(p: Plant) -> None:
    p.world.transaction(p.name, NEXT_PRODUCER_ID + 5, 0, [p.where])


@breaks("offset-back")
def _offset_back(p: Plant) -> None:
    group = p.world.offsets_of(p.name)
    for epoch, offset in ((0, 9), (1, 4)):
        p.world.begin(p.name, p.pid, epoch, [group.where])
        p.world.commit_offset(p.name, p.name, offset, producer_id=p.pid, epoch=epoch)
        p.world.end(p.name, p.pid, epoch, [group.where], commit=True)


@breaks("offset-beside-transaction")
def _offset_beside(p: Plant) -> None:
    group = p.world.offsets_of(p.name)
    p.world.begin(p.name, p.pid, 0, [group.where])
    p.world.commit_offset(p.name, p.name, 4, producer_id=p.pid, epoch=0)
    p.world.commit_offset(p.name, p.name, 6)
    p.world.end(p.name, p.pid, 0, [group.where], commit=False)


@breaks("offset-outside-transaction")
def _offset_outside(p: Plant) -> None:
    group = p.world.offsets_of(p.name)
    p.world.begin(p.name, p.pid, 0, [group.where])
    p.world.commit_offset(p.name, p.name, 4, producer_id=p.pid, epoch=0)
    p.world.end(p.name, p.pid, 0, [group.where], commit=True)
    p.world.commit_offset(p.name, p.name, 6)


@breaks("offset-beyond-end")
def _offset_beyond_end(p: Plant) -> None:
    p.world.partition(p.name).data(p.pid, 0, transactional=False)
    p.world.commit_offset(p.name, p.name, 17)


@breaks("wrong-group-coordinator")
def _wrong_group_coordinator(p: Plant) -> None:
    wrong = (partition_for(p.name, INTERNAL_PARTITIONS) + 1) % INTERNAL_PARTITIONS
    p.world.commit_offset(p.name, "orders", 1, in_partition=wrong)


def _copied(p: Plant, *, given: str = "", aborted: str = "", open_: str = "", made: str) -> None:
    """Write keys into the input under each fate, and into the output."""
    source, target = p.world.partition(INPUT), p.world.partition(OUTPUT)
    for at, (keys, fate) in enumerate(((given, "commit"), (aborted, "abort"), (open_, "open"))):
        if not keys:
            continue
        name, pid = f"{p.name}-{fate}", p.pid + at
        p.world.begin(name, pid, 0, [source.where])
        source.data(pid, 0, keys=[f"{p.name}{key}" for key in keys])
        if fate != "open":
            p.world.end(name, pid, 0, [source.where], commit=fate == "commit")
    if made:
        copies = [f"{p.name}{key}" for key in made]
        target.data(p.pid + 5, 0, keys=copies, transactional=False)


FAULTS |= {
    "key-lost": partial(_copied, given="abc", made="ac"),
    "key-duplicated": partial(_copied, given="abc", made="abbc"),
    "key-from-aborted": partial(_copied, given="a", aborted="b", made="ab"),
    "key-from-open": partial(_copied, given="a", open_="b", made="ab"),
    "key-unexpected": partial(_copied, given="a", made="ax"),
}


def planted(world: World, rule: str) -> None:
    """Plant the fault that breaks a rule."""
    FAULTS[rule](Plant(world, rule, 100 + 10 * list(FAULTS).index(rule)))

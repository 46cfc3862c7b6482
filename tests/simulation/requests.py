"""What a broker does for each request, as its handlers do, on the partition that it leads.

Each raises `Refused`, or returns the answer and the logs to be on disk before the answer leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.coordinator.groups import Committer
from ottla.coordinator.moment import Moment
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.coordinator.transaction_states import ADDS_EXPLICITLY, BUMPS_EPOCHS, Partition
from ottla.protocol.batch import read_header
from ottla.protocol.control import marker
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog

if TYPE_CHECKING:
    from .cluster import Answered, Cluster, Hosted

AGAIN: Final = object()
"""Instead of an answer: the request is to be done once more when the logs are on disk."""


class Fetched(NamedTuple):
    """What a reader of committed records is given."""

    records: bytes
    aborted: tuple[tuple[int, int], ...]
    next_offset: int
    last_stable_offset: int


class Fencing(Enum):
    """Whom the records that a coordinator writes for a request fence."""

    NOBODY = auto()
    NEW_OWNER = auto()
    """Whoever had the transactional id."""
    SAME_OWNER = auto()
    """Nobody, but for an open transaction: Kafka lets go of it whatever the epoch of who asks."""


class Diverging(NamedTuple):
    """The reader's log and the leader's part at this offset (KIP-320)."""

    end_offset: int


def init_producer_id(
    cluster: Cluster,
    hosted: Hosted,
    transactional_id: str,
    *,
    timeout_ms: int,
    expected: Producer | None,
) -> Answered:
    cluster.fencing = Fencing.NEW_OWNER if expected is None else Fencing.SAME_OWNER
    answer = cluster.run(
        hosted,
        lambda machine, now: machine.init_producer_id(
            transactional_id, timeout_ms=timeout_ms, now_ms=now.wall_ms, expected=expected
        ),
    )
    cluster.fencings_before[transactional_id, answer] = cluster.fencings[transactional_id]
    return answer, (hosted.open_log,)


def add_partitions(
    cluster: Cluster,
    hosted: Hosted,
    transactional_id: str,
    producer: Producer,
    places: Sequence[Partition],
) -> Answered:
    """AddPartitionsToTxn and AddOffsetsToTxn of a client of version 1."""
    cluster.run(
        hosted,
        lambda machine, now: machine.add_partitions(
            transactional_id, producer, places, now_ms=now.wall_ms, client_version=ADDS_EXPLICITLY
        ),
    )
    return None, (hosted.open_log,)


def _enter(
    cluster: Cluster, transactional_id: str, producer: Producer, place: Partition, *, adds: bool
) -> PartitionLog:
    """Add the partition to the open transaction, or see that it is in it. The log that says so."""
    hosted = cluster.hosted[cluster.coordinator_of(transactional_id)]
    if adds:
        cluster.run(
            hosted,
            lambda machine, now: machine.add_partitions(
                transactional_id,
                producer,
                (place,),
                now_ms=now.wall_ms,
                client_version=BUMPS_EPOCHS,
            ),
        )
    else:
        if hosted.shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        hosted.shard.ask(
            lambda machine: machine.verify_partitions(transactional_id, producer, (place,))
        )
    return hosted.open_log


def may_append(coordinator: PartitionLog) -> bool:
    """Whether it is on disk that the partition is in the transaction.

    A record that survives a loss of power while this does not would be in no transaction: no
    marker would come to it, or that of a later one.
    """
    return coordinator.recovery_point >= coordinator.flush_asked


def produce(
    cluster: Cluster, hosted: Hosted, transactional_id: str, batch: bytes, *, adds: bool
) -> Answered:
    """Produce 12 when the batch adds its partition, Produce 11 otherwise."""
    header = read_header(batch)
    producer = Producer(header.producer_id, header.producer_epoch)
    log = hosted.open_log
    coordinator = _enter(cluster, transactional_id, producer, hosted.place, adds=adds)
    if not may_append(coordinator):
        return AGAIN, (coordinator,)
    if adds and header.base_sequence and log.producers.entry(header.producer_id) is None:
        raise Refused(Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
    appended = log.append(bytearray(batch), now_ms=cluster.scheduler.now_ms)
    if appended.is_duplicate:
        cluster.scheduler.note("duplicate batch", *hosted.place)
    return appended.base_offset, (coordinator, log)


def commit_offset(
    cluster: Cluster,
    hosted: Hosted,
    transactional_id: str,
    producer: Producer,
    offset: OffsetToCommit,
    *,
    group_id: str,
    adds: bool,
) -> Answered:  # fmt: skip
    """TxnOffsetCommit 5 when it adds the partition of offsets, 4 otherwise."""
    coordinator = _enter(cluster, transactional_id, producer, hosted.place, adds=adds)
    if not may_append(coordinator):
        return AGAIN, (coordinator,)
    (code,) = cluster.run(
        hosted,
        lambda machine, now: machine.commit_in_transaction(
            group_id, Committer(), producer, [offset], now=now
        ),
    )
    return None if code == Code.NONE else code, (coordinator, hosted.open_log)


def end(
    cluster: Cluster,
    hosted: Hosted,
    transactional_id: str,
    producer: Producer,
    *,
    commit: bool,
    bumps: bool,
) -> Answered:
    """EndTxn 5 when the end raises the epoch, 4 otherwise."""

    def decide(machine: Any, now: Moment) -> Any:
        ends = machine.end_and_bump if bumps else machine.end
        return ends(transactional_id, producer, commit=commit, now_ms=now.wall_ms)

    return cluster.run(hosted, decide), (hosted.open_log,)


def write_marker(
    cluster: Cluster, hosted: Hosted, producer: Producer, *, commit: bool, coordinator_epoch: int
) -> Answered:
    hosted.check_marker()
    if hosted.shard is not None:
        hosted.shard.write_marker(producer, commit=commit, coordinator_epoch=coordinator_epoch)
    else:
        now_ms = cluster.clock.now_ms()
        batch = marker(
            commit=commit,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        hosted.open_log.append_marker(batch, now_ms=now_ms)
    return None, (hosted.open_log,)


def fetch(hosted: Hosted, offset: int, *, last_epoch: int, max_bytes: int) -> Answered:
    """Fetch of a reader of committed records; it says of which epoch its last batch was."""
    log = hosted.open_log
    if last_epoch >= 0:
        epoch, end_offset = log.offset_for_leader_epoch(last_epoch)
        if epoch < 0:  # of that epoch nothing is left; a reader is sent to look for the end itself
            end_offset = log.log_end_offset
        if epoch < last_epoch or end_offset < offset:
            return Diverging(end_offset), ()
    stable = log.last_stable_offset
    read = log.read(offset, max_bytes=max_bytes, up_to=stable, min_one=True)
    aborted: tuple[tuple[int, int], ...] = ()
    if read.records:
        found = log.aborted_transactions(offset, read.next_offset - 1)
        aborted = tuple((each.first_offset, each.producer_id) for each in found)
    return Fetched(bytes(read.records), aborted, read.next_offset, stable), ()


def fetch_offset(hosted: Hosted, group_id: str, place: Partition) -> Answered:
    """OffsetFetch that wants a stable offset (KIP-447); -1 for none."""
    if hosted.shard is None:
        raise Refused(Code.NOT_COORDINATOR)
    found = hosted.shard.ask(
        lambda machine: machine.fetch_offset(group_id, *place, require_stable=True)
    )
    return (found.offset if found.error == Code.NONE else found.error), ()

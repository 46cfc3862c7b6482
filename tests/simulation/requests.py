"""Requests of clients, and the values that clients take from the answers.

Requests that write go to the broker's own handlers (`Ask`). Reads, and markers of the simulation's
own channel, are done here: each raises `Refused`, or returns the answer and the logs that must be
flushed before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.coordinator.transactions.states import Kept, Partition
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control import marker
from ottla.protocol.errors import Code, Refused
from tests.requests import request

if TYPE_CHECKING:
    from .cluster import Answered, Cluster, Hosted


class Fetched(NamedTuple):
    """The answer of a Fetch with read_committed."""

    records: bytes
    aborted: tuple[tuple[int, int], ...]
    next_offset: int
    last_stable_offset: int


class Fencing(Enum):
    """The producers that a coordinator's decision fences."""

    NOBODY = auto()
    NEW_OWNER = auto()
    """The earlier owner of the transactional id."""
    SAME_OWNER = auto()
    """None; but Kafka ends an open transaction without regard to the epoch of the request."""


class Diverging(NamedTuple):
    """The reader's log diverges from the leader's at this offset (KIP-320)."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a handler.

    Attributes:
        fields: the request's fields.
        result_of: the client's result from the answer: a code, a producer, an offset, None.
        fencing: the producers that the decision fences.
    """

    api_key: ApiKey
    version: int
    fields: Any
    result_of: Callable[[dict[str, Any]], Any]
    fencing: Fencing = Fencing.NOBODY


def _code_of(answer: dict[str, Any]) -> Code | None:
    code = Code(answer.get("error_code", Code.NONE))
    return None if code is Code.NONE else code


def _producer_of(answer: dict[str, Any]) -> Producer | Code:
    return _code_of(answer) or Producer(answer["producer_id"], answer["producer_epoch"])


def init_in_two_phases(transactional_id: str) -> Ask:
    """InitProducerId 6, which keeps a prepared transaction (KIP-939)."""
    fields = request(
        ApiKey.INIT_PRODUCER_ID,
        6,
        transactional_id=transactional_id,
        transaction_timeout_ms=-1,
        enable2_pc=True,
        keep_prepared_txn=True,
    )
    return Ask(ApiKey.INIT_PRODUCER_ID, 6, fields, _kept_of, Fencing.NEW_OWNER)


def _kept_of(answer: dict[str, Any]) -> Producer | Kept | Code:
    producer = _producer_of(answer)
    ongoing_id = answer.get("ongoing_txn_producer_id", -1)
    if ongoing_id == -1 or not isinstance(producer, Producer):
        return producer
    return Kept(producer, Producer(ongoing_id, answer["ongoing_txn_producer_epoch"]))


def init_producer_id(
    transactional_id: str,
    *,
    timeout_ms: int,
    expected: Producer | None,
    in_two_phases: bool = False,
) -> Ask:
    """InitProducerId 5; or 6, for transactions without a timeout."""
    who = expected or Producer(-1, -1)
    version = 6 if in_two_phases else 5
    fields = request(
        ApiKey.INIT_PRODUCER_ID,
        version,
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=who.producer_id,
        producer_epoch=who.producer_epoch,
        **({"enable2_pc": True, "keep_prepared_txn": False} if in_two_phases else {}),
    )
    fencing = Fencing.NEW_OWNER if expected is None else Fencing.SAME_OWNER
    return Ask(ApiKey.INIT_PRODUCER_ID, version, fields, _producer_of, fencing)


def add_partitions(
    transactional_id: str, producer: Producer, partitions: Sequence[Partition]
) -> Ask:
    """AddPartitionsToTxn 3, of a client of version 1."""
    indexes: dict[str, list[int]] = {}
    for topic, index in partitions:
        indexes.setdefault(topic, []).append(index)
    fields = request(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[
            {"name": topic, "partitions": each} for topic, each in indexes.items()
        ],
    )

    def result_of(answer: dict[str, Any]) -> Code | None:
        codes = {
            Code(each["partition_error_code"])
            for topic in answer["results_by_topic_v3_and_below"]
            for each in topic["results_by_partition"]
        }
        (code,) = codes  # all or nothing; all partitions exist
        return None if code is Code.NONE else code

    return Ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, fields, result_of)


def add_offsets(transactional_id: str, producer: Producer, group_id: str) -> Ask:
    """AddOffsetsToTxn 3, of a client of version 1."""
    fields = request(
        ApiKey.ADD_OFFSETS_TO_TXN,
        3,
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=group_id,
    )
    return Ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, fields, _code_of)


def produce(transactional_id: str, partition: Partition, batch: bytes, *, adds: bool) -> Ask:
    """Produce 12 if the batch adds its partition, else Produce 11."""
    topic, index = partition
    part = {"index": index, "records": batch}
    version = 12 if adds else 11
    fields = request(
        ApiKey.PRODUCE,
        version,
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1_000,
        topic_data=[{"name": topic, "partition_data": [part]}],
    )

    def result_of(answer: dict[str, Any]) -> int | Code:
        ((known,),) = (each["partition_responses"] for each in answer["responses"])
        code = _code_of(known)
        return int(known["base_offset"]) if code is None else code

    return Ask(ApiKey.PRODUCE, version, fields, result_of)


def commit_offset(
    transactional_id: str,
    producer: Producer,
    offset: OffsetToCommit,
    *,
    group_id: str,
    adds: bool,
) -> Ask:
    """TxnOffsetCommit 5 if it adds the partition of the offsets, else 4."""
    part = {"partition_index": offset.partition, "committed_offset": offset.offset}
    version = 5 if adds else 4
    fields = request(
        ApiKey.TXN_OFFSET_COMMIT,
        version,
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=group_id,
        topics=[{"name": offset.topic, "partitions": [part]}],
    )

    def result_of(answer: dict[str, Any]) -> Code | None:
        ((known,),) = (each["partitions"] for each in answer["topics"])
        return _code_of(known)

    return Ask(ApiKey.TXN_OFFSET_COMMIT, version, fields, result_of)


def end(transactional_id: str, producer: Producer, *, commit: bool, bumps: bool) -> Ask:
    """EndTxn 5 if the end bumps the epoch, else 4."""
    version = 5 if bumps else 4
    fields = request(
        ApiKey.END_TXN,
        version,
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=commit,
    )
    return Ask(ApiKey.END_TXN, version, fields, _producer_of)


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
    """Fetch with read_committed and the leader epoch of the last batch."""
    log = hosted.open_log
    if last_epoch >= 0:
        epoch, end_offset = log.offset_for_leader_epoch(last_epoch)
        if epoch < 0:  # no records of that epoch are left; the reader has to find the end itself
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


def fetch_offset(hosted: Hosted, group_id: str, partition: Partition) -> Answered:
    """OffsetFetch with require_stable (KIP-447); -1 for none."""
    if hosted.shard is None:
        raise Refused(Code.NOT_COORDINATOR)
    found = hosted.shard.ask(
        lambda machine: machine.fetch_offset(group_id, *partition, require_stable=True)
    )
    return (found.offset if found.error == Code.NONE else found.error), ()

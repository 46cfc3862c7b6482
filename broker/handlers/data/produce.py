"""Produce (0), versions 3-13: append batches to partitions.

3-6   batches of format v2 only, none compressed with zstd
5     the answer has the log start offset
7     zstd
8     the answer has errors of single records (KIP-467)
9     flexible encoding
10    the answer names the current leader if it is another node (KIP-951)
11    a transactional batch whose partition was not added is TRANSACTION_ABORTABLE (KIP-890)
12    a transactional batch adds its partition to the transaction (KIP-890)
13    topics by id (KIP-516)

Skipped: nothing. Versions 0-2 are offered, but close the connection, as in Kafka.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from ....coordinator.outcome import Producer
from ....coordinator.transactions.states import BUMPS_EPOCHS, Partition
from ....metadata.catalog import INTERNAL_TOPICS
from ....protocol.api_keys import ApiKey
from ....protocol.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Compression,
    read_header,
)
from ....protocol.errors import Code, Refused
from ....protocol.named_tuple import NamedTuple
from ....storage.log import PartitionLog
from ....storage.records.client_batch import (
    Checked,
    NotOneBatch,
    Rules,
    begins_transactional,
    check,
    refuse_unless_framed,
)
from ....storage.records.record_errors import InvalidRecords
from ...requests.api import CHECKED_BY_HANDLER, NEVER, code_for, serves
from ...requests.authorization import AclResource, Operation, may
from ...requests.cluster_description import NewLeaders
from ...requests.context import Context, Disconnect
from ...requests.fencing_log import log_fenced
from ...requests.reads.fetch_reads import MANY
from ...scheduling.large_requests import MOST_ELEMENTS

if TYPE_CHECKING:
    from ....coordinator.transactions.coordinator import Transactions
    from ....protocol.api_types.produce import (
        BatchIndexAndErrorMessage,
        PartitionProduceResponse,
        ProduceRequest,
        ProduceResponse,
        TopicProduceData,
        TopicProduceResponse,
    )
    from ....storage.steps import Steps
    from ...node import Node
    from ...runtime.shards.shard import Shard
    from ...scheduling.turns import Turns

_LENGTH: Final = slice(8, 12)  # of a batch behind this field
_PRODUCER: Final = slice(43, 53)  # producer id and epoch in the header of a batch
_VALID_ACKS: Final = (0, 1, -1)
_ALL: Final = -1
_ZSTD_SINCE: Final = 7
_LEADERS_SINCE: Final = 10
_ADDS_SINCE: Final = 12
_IDS_SINCE: Final = 13
_ZERO_ID: Final = uuid.UUID(int=0)
_COORDINATOR_IS_AWAY: Final = (
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_COORDINATOR,
)
# Errors that Kafka answers without the log start offset.
_TELLS_NO_START: Final = (
    Code.CORRUPT_MESSAGE,
    Code.MESSAGE_TOO_LARGE,
    Code.RECORD_LIST_TOO_LARGE,
    Code.KAFKA_STORAGE_ERROR,
)
# Logs that must be flushed before an answer is sent; the answer becomes an error if a flush fails.
Unflushed: TypeAlias = "list[tuple[PartitionLog, PartitionProduceResponse]]"
_NONE: Final[tuple[PartitionLog, ...]] = ()
_NO_ERROR: Final = Code.NONE  # a member of an enum costs 0.1 us to look up, for each partition


class Explained(Refused):
    """A refusal that Kafka answers with an error message."""


@serves(
    ApiKey.PRODUCE,
    versions=(0, 13),
    guard=CHECKED_BY_HANDLER,
    closed_below=3,
    older_codes={
        Code.PRODUCER_FENCED: (NEVER, Code.INVALID_PRODUCER_EPOCH),
        Code.TRANSACTION_ABORTABLE: (11, Code.INVALID_TXN_STATE),
    },
)
async def produce(node: Node, context: Context, request: ProduceRequest) -> ProduceResponse | None:
    turns, refused = await _check_whole(node, context, request)
    responses: list[TopicProduceResponse] = []
    unflushed: Unflushed = []
    failed: str | None = None
    membership: _Membership | None = None
    if request.transactional_id is not None:
        membership = _Membership(node, context, request, request.transactional_id)
    wants_all = request.acks == _ALL and len(node.catalog.brokers) > 1
    rules = _Rules(context, membership, request.acks not in _VALID_ACKS, wants_all)
    new_leaders: NewLeaders | None = None
    for topic_data in request.topic_data:
        answers: list[PartitionProduceResponse] = []
        name, unknown = _topic(node, context, topic_data)
        # Of two batches for one partition Kafka keeps only the last one; so does this dict.
        for index, records in {p.index: p.records for p in topic_data.partition_data}.items():
            if turns is not None and turns.is_over():
                await turns.pause()
                name, unknown = _topic(node, context, topic_data)
                rules.ask_again()  # the transaction may have ended meanwhile
            whole, waits = refused or unknown, _NONE
            answer = None if whole is None else _error(index, whole.code, whole.why)
            checked: Checked | Refused | None = None
            while answer is None:
                try:
                    answer, waits = _append(node, rules, (name, index), records, checked)
                except _NotOnDisk as awaited:
                    lost = await awaited.membership.on_disk()
                    answer = None if lost is None else _error(index, lost.code)
                except _TakesLong as long:
                    checked = await _check(node, long.steps)
                    rules.ask_again()  # much may have happened meanwhile
            if waits:
                unflushed += [(log, answer) for log in waits]
            answers.append(answer)
            if node.topic_metrics is not None:
                node.topic_metrics.written(name, records, answer["error_code"])
            if answer["error_code"] != _NO_ERROR:
                failed = f"{name}-{index}: {Code(answer['error_code']).name}"
                moved = answer["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
                if moved and context.version >= _LEADERS_SINCE:
                    new_leaders = new_leaders or NewLeaders(node, context)
                    answer["current_leader"] = new_leaders.of(name, index)
        if answers and context.version >= _IDS_SINCE:
            topic_id = topic_data.topic_id
            responses.append({"topic_id": topic_id, "partition_responses": answers})
        elif answers:
            responses.append({"name": name, "partition_responses": answers})
    if turns is not None:
        partition_count = sum(len(topic["partition_responses"]) for topic in responses)
        context.is_large = partition_count > MOST_ELEMENTS
    if request.acks == 0:
        if failed is not None:
            raise Disconnect(f"a Produce request with acks=0 failed: {failed}")
        return None
    if unflushed:
        await _wait_for_flushes(node, unflushed)
    if new_leaders is not None and new_leaders.endpoints:
        return {"responses": responses, "node_endpoints": [*new_leaders.endpoints.values()]}
    return {"responses": responses}


def _error(index: int, code: Code, why: str | None = None) -> PartitionProduceResponse:
    return {
        "index": index,
        "error_code": code,
        "error_message": why,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
    }


async def _check_whole(
    node: Node, context: Context, request: ProduceRequest
) -> tuple[Turns | None, Refused | None]:
    """The first look at all partitions.

    Returns:
        The slices of a request for many partitions, and the answer if the request as a whole is
        wrong: one error for all partitions. Each is None if not.
    """
    turns: Turns | None = None
    producers: set[bytes] = set()
    topics = request.topic_data
    for topic_data in topics:
        if turns is None and (len(topics) > MANY or len(topic_data.partition_data) > MANY):
            turns = context.turns
        for partition_data in topic_data.partition_data:
            if turns is not None and turns.is_over():
                await turns.pause()
            records = partition_data.records
            if records is None:
                continue
            if not producers:
                try:
                    # Kafka searches for a transactional batch, and refuses the whole request if a
                    # batch before it cannot be read.
                    is_transactional = begins_transactional(records)
                except Refused as refused:
                    return turns, refused
            else:
                is_transactional = _is_transactional(records)
            if is_transactional:
                producers.add(bytes(records[_PRODUCER]))
    transactional_id = request.transactional_id
    if producers and (
        transactional_id is None
        or (node.authorizer is not None and not _may_use_id(node, context, transactional_id))
    ):
        return turns, Refused(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if len(producers) > 1 and len(set(_producers_of_valid(node, context, request))) > 1:
        why = "Transactional records contained more than one producer ID"
        return turns, Refused(Code.INVALID_PRODUCER_ID_MAPPING, why)
    return turns, None


def _producers_of_valid(
    node: Node, context: Context, request: ProduceRequest
) -> Iterator[tuple[int, int]]:
    """The producer ids and epochs of the transactional batches without an error so far."""
    for topic_data in request.topic_data:
        name, unknown = _topic(node, context, topic_data)
        for partition_data in () if unknown else topic_data.partition_data:
            records = partition_data.records
            if records is None or not _is_transactional(records):
                continue
            if node.open_log_of(name, partition_data.index) is None:
                continue
            header = read_header(records)
            is_known = header.compression != Compression.ZSTD or context.version >= _ZSTD_SINCE
            if is_known and len(records) <= header.size_bytes + HEADER_SIZE:
                yield header.producer_id, header.producer_epoch


def _may_use_id(node: Node, context: Context, transactional_id: str) -> bool:
    resource = AclResource.TRANSACTIONAL_ID
    return may(node, context, Operation.WRITE, resource, transactional_id)


def _is_transactional(records: Bytes) -> bool:
    # Checks few bytes: most batches have their header read once, at the append.
    return (
        len(records) >= HEADER_SIZE
        and records[16] == MAGIC
        and bool(records[22] & TRANSACTIONAL)
        and int.from_bytes(records[_LENGTH], "big") + LOG_OVERHEAD <= len(records)  # it is whole
    )


def _topic(
    node: Node, context: Context, topic_data: TopicProduceData
) -> tuple[str, Refused | None]:
    """The name of a topic and, if it does not exist, the answer for each of its partitions."""
    name: str
    if context.version < _IDS_SINCE:
        name = topic_data.name
        if node.authorizer is not None and not _may_write(node, context, name):
            return name, Refused(Code.TOPIC_AUTHORIZATION_FAILED)
        if node.catalog.topics.get(name) is None:
            return name, Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        return name, None
    name = node.catalog.names.get(topic_data.topic_id or _ZERO_ID, "")
    if not name:
        return "", Refused(Code.UNKNOWN_TOPIC_ID)
    if node.authorizer is not None and not _may_write(node, context, name):
        return name, Refused(Code.TOPIC_AUTHORIZATION_FAILED)
    return name, None


def _may_write(node: Node, context: Context, name: str) -> bool:
    return may(node, context, Operation.WRITE, AclResource.TOPIC, name)


async def _check(node: Node, steps: Steps[Checked]) -> Checked | Refused:
    """Check a batch in steps between other requests; returns the argument for `_append`."""
    try:
        return await node.long_work.run(steps)
    except Refused as refused:
        return refused


class _TakesLong(Exception):
    """The batch must be checked in these steps first; nothing was appended."""

    def __init__(self, steps: Steps[Checked]) -> None:
        super().__init__()
        self.steps = steps


def _append(
    node: Node,
    rules: _Rules,
    partition: Partition,
    records: Bytes | None,
    checked: Checked | Refused | None,
) -> tuple[PartitionProduceResponse, tuple[PartitionLog, ...]]:
    """Append one partition's batch.

    Args:
        partition: the topic's name and the index of the partition.
        checked: the result of the steps of _TakesLong; None if the batch is not checked yet.

    Returns:
        The answer, and the logs to flush before it is sent.

    Raises:
        _NotOnDisk: see `_Membership.check`; nothing was appended.
        _TakesLong: the batch must be checked in steps first; nothing was appended.
    """
    waits = _NONE
    log = asked = None
    try:
        log = node.open_led_log(*partition)
        if records is None or len(records) < HEADER_SIZE:
            raise Refused(Code.INVALID_RECORD, "no whole batch")
        header = read_header(records)
        if not 0 <= header.magic <= MAGIC:
            raise Explained(Code.CORRUPT_MESSAGE, f"Invalid magic found in record: {header.magic}")
        if rules.context.version < _ZSTD_SINCE and header.compression == Compression.ZSTD:
            raise Refused(
                Code.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later"
            )
        is_transactional = header.attributes & TRANSACTIONAL and header.magic == MAGIC
        if is_transactional and rules.membership is not None:
            if header.size_bytes != len(records):
                refuse_unless_framed(records)  # as Kafka, before it looks at the transaction
            rules.membership.check(log, header)
        if rules.acks_are_wrong:
            raise Refused(Code.INVALID_REQUIRED_ACKS)
        if log.topic in INTERNAL_TOPICS:
            why = f"Cannot append to internal topic {log.topic}"
            raise Refused(Code.INVALID_TOPIC_EXCEPTION, why)
        asked = log
        if rules.wants_all_in_sync:
            node.cluster.check_in_sync(log)
        now_ms = node.clock.now_ms()
        of_log = Rules(log.config, now_ms, log.name)
        found = check(records, of_log, header) if checked is None else checked
        if not isinstance(found, Checked):
            raise found if isinstance(found, Refused) else _TakesLong(found)
        appended = log.append_checked(found, now_ms=now_ms)
    except InvalidRecords as invalid:
        answer = _error(partition[1], invalid.code, invalid.why)
        answer["record_errors"] = _record_errors(invalid)
        return _with_start(answer, invalid, asked), _NONE
    except Explained as refused:
        return _error(partition[1], refused.code, refused.why), _NONE
    except Refused as refused:
        if log is not None:
            node.storage_trouble.report(log, refused)
            rules.log_fenced(refused, log)
        if refused.code is Code.OUT_OF_ORDER_SEQUENCE_NUMBER:
            asked = log  # the answer is the log's, as in Kafka
        return _with_start(_error(partition[1], refused.code), refused, asked), _NONE
    if not appended.is_duplicate:
        node.wake_fetches(log.topic, log.partition)
        if node.events.tell is not None:
            node.tell_appended(log)
    if log.awaits_flush:
        waits = (log,)
    answer = {
        "index": partition[1],
        "error_code": _NO_ERROR,
        "base_offset": appended.base_offset,
        "log_append_time_ms": appended.log_append_time_ms,
        "log_start_offset": log.log_start_offset,
    }
    return answer, waits


def _with_start(
    answer: PartitionProduceResponse, refused: Refused, asked: PartitionLog | None
) -> PartitionProduceResponse:
    """The answer to a batch that a log refused; most errors come with the log start offset."""
    if asked is None or refused.code in _TELLS_NO_START or isinstance(refused, NotOneBatch):
        return answer
    answer["log_start_offset"] = asked.log_start_offset
    return answer


async def _wait_for_flushes(node: Node, unflushed: Unflushed) -> None:
    """Wait for the flushes; answers whose flush fails become errors.

    Meanwhile other requests are served, and consumers may read the records already, as in Kafka.
    """
    flushing = [(node.flushes.flushed(log), answer) for log, answer in unflushed]
    for flushed, answer in flushing:
        refused = await flushed
        if refused is not None:
            answer.update(_error(answer["index"], refused.code))


def _record_errors(invalid: InvalidRecords) -> list[BatchIndexAndErrorMessage]:
    return [
        {"batch_index": index, "batch_index_error_message": why}
        for index, why in invalid.record_errors
    ]


class _Rules(NamedTuple):
    """The properties of a request that apply to all its batches.

    Attributes:
        membership: the check of transactional batches; None if the request has no transactional
            id, so that `_check_whole` refuses each of them.
        acks_are_wrong: acks is not 0, 1 or -1.
        wants_all_in_sync: acks is -1, so that a batch needs min.insync.replicas. False on a single
            node, whose replicas are all in sync while it runs.
    """

    context: Context
    membership: _Membership | None
    acks_are_wrong: bool
    wants_all_in_sync: bool

    def ask_again(self) -> None:
        """After a pause, have the next check ask the coordinator again."""
        if self.membership is not None:
            self.membership.ask_again()

    def log_fenced(self, refused: Refused, log: PartitionLog) -> None:
        """Log the refusal of a batch, if its producer is fenced."""
        log_fenced(self.context, refused, topic=log.topic, partition=log.partition)


class _NotOnDisk(Exception):
    """The record that adds a partition to a transaction is not flushed yet and may be lost."""

    def __init__(self, membership: _Membership) -> None:
        super().__init__()
        self.membership = membership


class _Membership:
    """Checks that the batches of a request belong to an open transaction (KIP-890).

    Each request asks the coordinator once, for all its partitions. An open transaction in the log
    of a partition is not enough: it may be decided already and only wait for its marker.
    """

    __slots__ = (
        "_adds", "_answer", "_context", "_has_waited", "_is_on_disk", "_node", "_request", "_shard",
        "_transactional_id",
    )  # fmt: skip

    def __init__(
        self, node: Node, context: Context, request: ProduceRequest, transactional_id: str
    ) -> None:
        self._node = node
        self._context = context
        self._request = request
        self._transactional_id = transactional_id
        self._adds = context.version >= _ADDS_SINCE
        self._shard: Shard[Transactions] | None = None
        self._answer: Refused | frozenset[Partition] = frozenset()
        self._is_on_disk = self._has_waited = False

    def check(self, log: PartitionLog, header: BatchHeader) -> None:
        """Check a batch of the request for a partition that this node leads.

        Raises:
            _NotOnDisk: the partition is in the transaction, but a loss of power would undo that.
                The batch could survive it, and then get no marker, or that of a later transaction.
                It must not be appended before `on_disk` has returned.
            Refused: the coordinator's error, as the version of the request has it; from version 12
                on OUT_OF_ORDER_SEQUENCE_NUMBER if a producer that is new to the partition does not
                begin at 0 (a lost first batch would go unnoticed).
        """
        adds = self._adds
        if self._shard is None:
            if not adds and not self._node.config["transaction.partition.verification.enable"]:
                return  # from version 12 on the check adds the partition
            try:
                self._shard = self._node.transaction_shard(self._transactional_id)
            except Refused as refused:
                raise self._in_words(refused) from None
            before = self._shard.log.log_end_offset
            self._answer = self._missing_partitions(
                self._shard, log, Producer(header.producer_id, header.producer_epoch)
            )
            # Its own record is flushed; records that others wrote since do not matter.
            is_old = self._has_waited and self._shard.log.log_end_offset == before
            self._is_on_disk = is_old or not self._shard.log.awaits_flush
        answer = self._answer
        if isinstance(answer, Refused):
            raise self._in_words(answer) from None
        if answer and (log.topic, log.partition) in answer:
            raise self._in_words(Refused(Code.TRANSACTION_ABORTABLE))
        is_new = adds and log.producers.entry(header.producer_id) is None
        if is_new and header.base_sequence != 0:
            raise Refused(
                Code.OUT_OF_ORDER_SEQUENCE_NUMBER, "a producer's first batch has sequence number 0"
            )
        if not self._is_on_disk:
            raise _NotOnDisk(self)

    async def on_disk(self) -> Refused | None:
        """Wait until the record that `check` needs is on disk, and repeat the check afterwards.

        Returns:
            Why the flush failed; None if it did not.
        """
        assert self._shard is not None
        refused = await self._node.flushes.flushed(self._shard.log)
        self._shard, self._has_waited = None, True  # much may have happened meanwhile
        return refused

    def ask_again(self) -> None:
        """Forget the coordinator's answer, so that the next check asks again."""
        self._shard, self._has_waited = None, False

    def _missing_partitions(
        self, shard: Shard[Transactions], log: PartitionLog, producer: Producer
    ) -> Refused | frozenset[Partition]:
        """Add the partitions of the request; up to version 11 find those that were not added.

        Args:
            log: of a transactional batch of the request.
        """
        transactional_id, topics = self._transactional_id, self._request.topic_data
        if len(topics) == 1 == len(topics[0].partition_data) and log.topic not in INTERNAL_TOPICS:
            partitions = [(log.topic, log.partition)]  # of the only batch
        else:
            partitions = self._transactional_partitions()
        try:
            if not self._adds:
                return shard.ask(
                    lambda machine: machine.missing_partitions(
                        transactional_id, producer, partitions
                    )
                )
            shard.run_now(
                lambda machine, now: machine.add_partitions(
                    transactional_id,
                    producer,
                    partitions,
                    now_ms=now.wall_ms,
                    client_version=BUMPS_EPOCHS,
                )
            )
        except Refused as refused:
            return refused
        return frozenset()

    def _in_words(self, refused: Refused) -> Refused:
        code = self._node.cluster.variants.unverified(refused.code)
        return _in_words_of_produce(
            self._context, refused if code is refused.code else Refused(code)
        )

    def _transactional_partitions(self) -> list[Partition]:
        """The partitions of transactional batches that the client may write to on this node."""
        partitions = []
        for topic_data in self._request.topic_data:
            name, unknown = _topic(self._node, self._context, topic_data)
            for each in () if unknown else topic_data.partition_data:
                if each.records is None or not _is_transactional(each.records):
                    continue
                try:
                    self._node.open_led_log(name, each.index)
                except Refused:
                    continue
                if name not in INTERNAL_TOPICS:
                    partitions.append((name, each.index))
        return partitions


def _in_words_of_produce(context: Context, refused: Refused) -> Refused:
    """The producer's error for an error of its coordinator (ReplicaManager.appendRecords)."""
    code = code_for(refused.code, context.api_key, context.version)
    if code == Code.INVALID_TXN_STATE:
        return Explained(code, "Partition was not added to the transaction")
    busy = code == Code.CONCURRENT_TRANSACTIONS and context.version < _ADDS_SINCE
    if busy or code in _COORDINATOR_IS_AWAY:
        # An old producer does not expect coordinator errors here; it retries on this one.
        return Explained(
            Code.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction."
            f" Underlying error: {code.name}",
        )
    return Refused(code)

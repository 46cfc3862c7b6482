"""AddPartitionsToTxn (24), versions 0-5: add partitions to a transaction; the first starts it.

0-1  another producer epoch is INVALID_PRODUCER_EPOCH
2    another producer epoch is PRODUCER_FENCED
3    flexible encoding
4    between brokers: several transactions at once; `verify_only` adds nothing, and answers
     TRANSACTION_ABORTABLE for a partition that is not in the transaction (KIP-890)
5    as 4, from brokers that handle TRANSACTION_ABORTABLE

A transaction gets all its partitions or none: if one does not exist, the others are
OPERATION_NOT_ATTEMPTED. Versions up to 3, which clients send, may not add internal topics; from
version 4 on they may, as in Kafka between brokers. With transaction.version 0, additions from
version 4 on are UNSUPPORTED_VERSION.
Skipped: nothing. Kafka never answers a version 4 without transactions; here the answer is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ....coordinator.outcome import Producer
from ....coordinator.transactions.states import ADDS_EXPLICITLY, BUMPS_EPOCHS, Partition
from ....metadata.catalog import INTERNAL_TOPICS
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import code_for, serves
from ...requests.context import PAUSE_EVERY, Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.add_partitions_to_txn import (
        AddPartitionsToTxnPartitionResult,
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTopicResult,
        AddPartitionsToTxnTransaction,
    )
    from ...node import Node

_FROM_BROKERS_SINCE: Final = 4
_NO_ERROR: Final = Code.NONE


@serves(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    versions=(0, 5),
    guard="transactions.add_partitions_to_txn",
    older_codes={Code.PRODUCER_FENCED: (2, Code.INVALID_PRODUCER_EPOCH)},
)
async def add_partitions_to_txn(
    node: Node, context: Context, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    if context.version < _FROM_BROKERS_SINCE:
        topics: Sequence[AddPartitionsToTxnTopic] = request.v3_and_below_topics
        partitions = _partitions_of(topics)
        faults = await _faults(node, context, partitions, is_client=True)
        if faults is not None:
            topics = _each_once(topics)
        else:
            producer = Producer(
                request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
            )
            transactional_id = request.v3_and_below_transactional_id
            faults = await _add(node, context, transactional_id, producer, partitions)
        return {"results_by_topic_v3_and_below": await _results(context, topics, faults)}
    return {
        "results_by_transaction": [
            {
                "transactional_id": transaction.transactional_id,
                "topic_results": await _topic_results(node, context, transaction),
            }
            async for transaction in context.turns.each(request.transactions)
        ]
    }


async def _topic_results(
    node: Node, context: Context, transaction: AddPartitionsToTxnTransaction
) -> list[AddPartitionsToTxnTopicResult]:
    topics: Sequence[AddPartitionsToTxnTopic] = transaction.topics
    faults = await _faults(node, context, _partitions_of(topics), is_client=False)
    if faults is not None or transaction.verify_only:
        topics = _each_once(topics)
    if faults is None:
        join = _verify if transaction.verify_only else _add
        producer = Producer(transaction.producer_id, transaction.producer_epoch)
        faults = await join(
            node, context, transaction.transactional_id, producer, _partitions_of(topics)
        )
    return await _results(context, topics, faults)


class _Topic(NamedTuple):
    name: str
    partitions: Sequence[int]


def _each_once(topics: Sequence[AddPartitionsToTxnTopic]) -> list[_Topic]:
    """The topics with distinct partitions, without empty topics, as Kafka's map has them."""
    indexes: dict[str, dict[int, None]] = {}
    for name, index in _partitions_of(topics):
        indexes.setdefault(name, {})[index] = None
    return [_Topic(name, [*of_topic]) for name, of_topic in indexes.items()]


def _partitions_of(topics: Sequence[AddPartitionsToTxnTopic]) -> list[Partition]:
    return [(topic.name, index) for topic in topics for index in topic.partitions]


async def _faults(
    node: Node, context: Context, partitions: Sequence[Partition], *, is_client: bool
) -> Mapping[Partition, Code] | None:
    """The answer if one of the partitions cannot be added; None if all can."""
    faults: dict[Partition, Code] = {}
    for passed, (name, index) in enumerate(partitions, 1):
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        topic = node.catalog.topics.get(name)
        if is_client and name in INTERNAL_TOPICS:
            faults[name, index] = Code.TOPIC_AUTHORIZATION_FAILED
        elif topic is None or not 0 <= index < len(topic.partitions):
            faults[name, index] = Code.UNKNOWN_TOPIC_OR_PARTITION
    if not faults:
        return None
    return dict.fromkeys(partitions, Code.OPERATION_NOT_ATTEMPTED) | faults


async def _add(
    node: Node,
    context: Context,
    transactional_id: str,
    producer: Producer,
    partitions: list[Partition],
) -> Mapping[Partition, Code]:
    is_client = context.version < _FROM_BROKERS_SINCE
    try:
        await node.transactions.shard_of(transactional_id).run(
            lambda machine, now: machine.add_partitions(
                transactional_id,
                producer,
                partitions,
                now_ms=now.wall_ms,
                client_version=ADDS_EXPLICITLY if is_client else BUMPS_EPOCHS,
            )
        )
    except Refused as refused:
        log_fenced(context, refused, transactional_id=transactional_id)
        if refused.code is Code.UNSUPPORTED_VERSION:  # in Kafka an error of the whole request
            raise
        code = code_for(refused.code, context.api_key, context.version)
        return dict.fromkeys(partitions, code)
    return {}


async def _verify(
    node: Node,
    context: Context,
    transactional_id: str,
    producer: Producer,
    partitions: list[Partition],
) -> Mapping[Partition, Code]:
    try:
        missing = node.transactions.shard_of(transactional_id).ask(
            lambda machine: machine.missing_partitions(transactional_id, producer, partitions)
        )
    except Refused as refused:
        return dict.fromkeys(partitions, refused.code)
    return dict.fromkeys(missing, Code.TRANSACTION_ABORTABLE)


async def _results(
    context: Context, topics: Sequence[AddPartitionsToTxnTopic], faults: Mapping[Partition, Code]
) -> list[AddPartitionsToTxnTopicResult]:
    answered: list[AddPartitionsToTxnTopicResult] = []
    passed = 0
    for topic in topics:
        passed += 1
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        results: list[AddPartitionsToTxnPartitionResult] = []
        for index in topic.partitions:
            passed += 1
            if passed % PAUSE_EVERY == 0:
                await context.turns.pause()
            code = faults.get((topic.name, index), _NO_ERROR) if faults else _NO_ERROR
            results.append({"partition_index": index, "partition_error_code": code})
        answered.append({"name": topic.name, "results_by_partition": results})
    return answered

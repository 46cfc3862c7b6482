"""The error code of Produce for each reason of a refused append: Kafka's table.

The rows name the exception and its class in Kafka 4.1.1. `--bootstrap HOST:PORT` tests an Apache
Kafka. UNSEEN has the errors that no request to a single node causes, such as a failing disk.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest

from ottla.protocol.errors import Code

from .batches import batch
from .broker import NO_SUCH_TOPIC, Broker
from .client import Address, error_name

DAY_MS: Final = 24 * 60 * 60 * 1000
NO_SUCH_ID: Final = 0x7FFF_0000

Attempt = Callable[[Broker], str]
"""Sends a Produce that is refused; the name of the error."""

# Reason: error code, and the exception with the class that throws it.
TABLE: Final = {
    "unknown topic": ("UNKNOWN_TOPIC_OR_PARTITION", "KafkaApis.handleProduceRequest"),
    "unknown topic id": ("UNKNOWN_TOPIC_ID", "KafkaApis.handleProduceRequest"),
    "unknown partition": (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UnknownTopicOrPartitionException: ReplicaManager.getPartitionOrException",
    ),
    "internal topic": (
        "INVALID_TOPIC_EXCEPTION",
        "InvalidTopicException: ReplicaManager.appendRecordsToLeader",
    ),
    "wrong acks": ("INVALID_REQUIRED_ACKS", "ReplicaManager.isValidRequiredAcks"),
    "batch over max.message.bytes": (
        "MESSAGE_TOO_LARGE",
        "RecordTooLargeException: UnifiedLog.analyzeAndValidateRecords",
    ),
    "batch over segment.bytes": (
        "RECORD_LIST_TOO_LARGE",
        "RecordBatchTooLargeException: UnifiedLog.append",
    ),
    "wrong checksum": (
        "CORRUPT_MESSAGE",
        "CorruptRecordException: UnifiedLog.analyzeAndValidateRecords",
    ),
    "unknown magic": ("CORRUPT_MESSAGE", "CorruptRecordException: ByteBufferLogInputStream"),
    "no batch": ("INVALID_RECORD", "InvalidRecordException: ProduceRequest.validateRecords"),
    "two batches": ("INVALID_RECORD", "InvalidRecordException: ProduceRequest.validateRecords"),
    "base offset not 0": ("INVALID_RECORD", "InvalidRecordException: UnifiedLog"),
    "count of records wrong": ("INVALID_RECORD", "InvalidRecordException: LogValidator"),
    "control batch": ("INVALID_RECORD", "InvalidRecordException: LogValidator.validateBatch"),
    "no key in a compacted topic": (
        "INVALID_RECORD",
        "RecordValidationException: LogValidator.validateKey",
    ),
    "timestamp too old": (
        "INVALID_TIMESTAMP",
        "RecordValidationException: LogValidator.validateTimestamp",
    ),
    "timestamp too new": (
        "INVALID_TIMESTAMP",
        "RecordValidationException: LogValidator.validateTimestamp",
    ),
    "zstd before version 7": (
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UnsupportedCompressionTypeException: ProduceRequest.validateRecords",
    ),
    "sequence number missing": ("INVALID_RECORD", "InvalidRecordException: LogValidator"),
    "gap in the sequence": (
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "OutOfOrderSequenceException: ProducerAppendInfo.checkSequence",
    ),
    "new epoch that does not begin at 0": (
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "OutOfOrderSequenceException: ProducerAppendInfo.checkSequence",
    ),
    "old producer epoch": (
        "INVALID_PRODUCER_EPOCH",
        "InvalidProducerEpochException: ProducerAppendInfo.checkProducerEpoch",
    ),
    "plain batch in an open transaction": (
        "INVALID_TXN_STATE",
        "InvalidTxnStateException: ProducerAppendInfo.appendDataBatch",
    ),
    "partition not added, version 10": (
        "INVALID_TXN_STATE",
        "AddPartitionsToTxnManager, TransactionCoordinator",
    ),
    "partition not added, version 11": (
        "TRANSACTION_ABORTABLE",
        "AddPartitionsToTxnManager, TransactionCoordinator",
    ),
    "no transactional id": (
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "KafkaApis.handleProduceRequest",
    ),
}

# Codes of append failures that no request to a single node causes; tests/broker has them.
UNSEEN: Final = {
    "KAFKA_STORAGE_ERROR": "KafkaStorageException: the disk fails (LocalLog, Partition)",
    "NOT_LEADER_OR_FOLLOWER": "NotLeaderOrFollowerException: Partition, where another one leads",
    "NOT_ENOUGH_REPLICAS": "NotEnoughReplicasException: Partition.appendRecordsToLeader",
    "UNKNOWN_SERVER_ERROR": "anything else that is thrown",
}


def _plain(broker: Broker, data: bytes, topic: str | None = None, **how: Any) -> str:
    answer = broker.produce_raw([(topic or broker.topic(), 0, data)], **how)[0]
    return error_name(answer["error_code"])


def _corrupt(broker: Broker) -> str:
    return _plain(broker, batch(crc=0))


def _unknown_id(broker: Broker) -> str:
    data = [(uuid.UUID(int=NO_SUCH_ID), 0, batch())]
    return error_name(broker.produce_raw(data, version=13)[0]["error_code"])


def _unknown_partition(broker: Broker) -> str:
    answer = broker.produce_raw([(broker.topic(), 7, batch())])[0]
    return error_name(answer["error_code"])


def _over_a_segment(broker: Broker) -> str:
    topic = broker.topic(max_message_bytes=3 << 20, segment_bytes=1 << 20)
    return _plain(broker, batch([b"x" * (2 << 20)]), topic)


def _control(broker: Broker) -> str:
    key, value = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0)
    return _plain(broker, batch([value], keys=[key], control=True))


def _by_time(offset_ms: int) -> Attempt:
    def attempt(broker: Broker) -> str:
        topic = broker.topic(
            message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000
        )
        return _plain(broker, batch(timestamp=int(time.time() * 1000) + offset_ms), topic)

    return attempt


def _sequences(*sent: tuple[int, int]) -> Attempt:
    """Produce batches of one producer by (epoch, sequence); the error of the last one."""

    def attempt(broker: Broker) -> str:
        error, producer_id, _ = broker.init_raw(None)
        assert error == "NONE"
        topic = broker.topic()
        for epoch, sequence in sent:
            data = batch(producer_id=producer_id, epoch=epoch, sequence=sequence)
            told = _plain(broker, data, topic)
        return told

    return attempt


def _plain_in_a_transaction(broker: Broker) -> str:
    topic = broker.topic()
    producer = broker.open_transaction(topic)
    data = batch(producer_id=producer.producer_id, epoch=producer.epoch, sequence=1)
    return _plain(broker, data, topic)


def _not_added(version: int) -> Attempt:
    def attempt(broker: Broker) -> str:
        return broker.producer().produce(broker.topic(), version=version)[0]

    return attempt


def _without_id(broker: Broker) -> str:
    data = batch(producer_id=5, epoch=0, sequence=0, transactional=True)
    return _plain(broker, data)


ATTEMPTS: Final[dict[str, Attempt]] = {
    "unknown topic": lambda broker: _plain(broker, batch(), NO_SUCH_TOPIC),
    "unknown topic id": _unknown_id,
    "unknown partition": _unknown_partition,
    "internal topic": lambda broker: _plain(broker, batch(), "__consumer_offsets"),
    "wrong acks": lambda broker: _plain(broker, batch(), acks=2),
    "batch over max.message.bytes": lambda broker: _plain(
        broker, batch([b"x" * 2000]), broker.topic(max_message_bytes=1000)
    ),
    "batch over segment.bytes": _over_a_segment,
    "wrong checksum": _corrupt,
    "unknown magic": lambda broker: _plain(broker, batch(magic=3)),
    "no batch": lambda broker: _plain(broker, b""),
    "two batches": lambda broker: _plain(broker, batch() * 2),
    "base offset not 0": lambda broker: _plain(broker, batch(base_offset=5)),
    "count of records wrong": lambda broker: _plain(broker, batch(count=3)),
    "control batch": _control,
    "no key in a compacted topic": lambda broker: _plain(
        broker, batch(), broker.topic(cleanup_policy="compact")
    ),
    "timestamp too old": _by_time(-DAY_MS),
    "timestamp too new": _by_time(DAY_MS),
    "zstd before version 7": lambda broker: _plain(broker, batch(compression=4), version=6),
    "sequence number missing": lambda broker: _plain(broker, batch(producer_id=5, epoch=0)),
    "gap in the sequence": _sequences((0, 0), (0, 2)),
    "new epoch that does not begin at 0": _sequences((0, 0), (1, 1)),
    "old producer epoch": _sequences((1, 0), (0, 1)),
    "plain batch in an open transaction": _plain_in_a_transaction,
    "partition not added, version 10": _not_added(10),
    "partition not added, version 11": _not_added(11),
    "no transactional id": _without_id,
}


@pytest.mark.parametrize("failure", TABLE)
def test_an_append_that_fails_is_answered_by_kafkas_table(failure: str, address: Address) -> None:
    broker = Broker(address, f"append-{failure.replace(' ', '-').replace(',', '')}")
    try:
        assert ATTEMPTS[failure](broker) == TABLE[failure][0], TABLE[failure][1]
        broker.delete_topics()
    finally:
        broker.close()


def test_every_failure_is_tried_and_every_code_is_one_of_kafkas() -> None:
    assert TABLE.keys() == ATTEMPTS.keys()
    names = {code for code, _ in TABLE.values()} | UNSEEN.keys()
    assert names <= {code.name for code in Code}

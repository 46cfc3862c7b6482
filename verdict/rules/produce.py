"""Rules of idempotent producers: sequence numbers, retries, what a Produce request contains."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, Final, NamedTuple

from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import (
    END_BUMPS_SINCE,
    Place,
    SentBatch,
    batches,
    codes,
    produce_errors,
    producer_of,
    transactional_id,
)
from .rule import Rule

_PRODUCE: Final = frozenset({"Produce"})
_IDS: Final = frozenset({"Produce", "InitProducerId", "EndTxn"})
MOST_IN_FLIGHT: Final = 5
MOST_REMEMBERED: Final = 2000
"""Batches of one partition and producer epoch that are remembered: a retry is not later."""
_HALF: Final = 1 << 30
# After these the client may still have to send the same batch again: it may be in the log.
_UNCERTAIN: Final = codes(
    "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NETWORK_EXCEPTION",
    "NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION",
    "NOT_ENOUGH_REPLICAS", "KAFKA_STORAGE_ERROR", "UNKNOWN_TOPIC_ID", "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
    "OUT_OF_ORDER_SEQUENCE_NUMBER", "THROTTLING_QUOTA_EXCEEDED", "FENCED_LEADER_EPOCH",
)  # fmt: skip
Key = tuple[Place, int, int]


class _Attempt:
    """The first sending of a batch, and whether the broker has refused it for good."""

    __slots__ = ("batch", "exchange", "is_refused")

    def __init__(self, batch: SentBatch, exchange: Exchange) -> None:
        self.batch = batch
        self.exchange = exchange
        self.is_refused = False


_NOTHING: Final[OrderedDict[int, _Attempt]] = OrderedDict()


class _Sending(NamedTuple):
    """A batch in a request, and what was sent before it with its producer id and epoch.

    Attributes:
        earlier: the batch with the same base sequence.
        sent: all batches of the partition by their base sequence.
    """

    batch: SentBatch
    exchange: Exchange
    earlier: _Attempt | None
    sent: OrderedDict[int, _Attempt]


class _Batches(Rule):
    """Remembers the batches of each partition, producer id and epoch by their base sequence."""

    apis = _PRODUCE

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._sent: dict[Key, OrderedDict[int, _Attempt]] = {}

    def asked(self, exchange: Exchange) -> None:
        for batch in batches(exchange, self.knowledge):
            if batch.producer_id >= 0 and batch.base_sequence >= 0:
                self._see(batch, exchange)

    def _see(self, batch: SentBatch, exchange: Exchange) -> None:
        key = batch.place, batch.producer_id, batch.producer_epoch
        sent = self._sent.setdefault(key, OrderedDict())
        earlier = sent.get(batch.base_sequence)
        self.compare(_Sending(batch, exchange, earlier, sent))
        if earlier is None or earlier.is_refused:
            sent[batch.base_sequence] = _Attempt(batch, exchange)
            sent.move_to_end(batch.base_sequence)
            if len(sent) > MOST_REMEMBERED:
                sent.popitem(last=False)

    def answered(self, exchange: Exchange) -> None:
        errors = dict(produce_errors(exchange, self.knowledge))
        for batch in batches(exchange, self.knowledge):
            code = errors.get(batch.place, 0)
            if not code or code in _UNCERTAIN:
                continue
            key = batch.place, batch.producer_id, batch.producer_epoch
            attempt = self._sent.get(key, _NOTHING).get(batch.base_sequence)
            if attempt is not None:
                attempt.is_refused = True

    def compare(self, sending: _Sending) -> None:
        """Compare a batch with the earlier one of the same sequence, and with all others."""
        raise NotImplementedError


class NoGaps(_Batches):
    rule_id = "sequence-without-gap"
    sentence = "A producer numbers the records of a partition without gaps within its epoch."
    source = "KIP-98; ProducerAppendInfo.checkSequence"
    applies_to = "Produce with a producer id, all versions"

    def begin(self) -> None:
        self._next: dict[Key, tuple[int, Exchange]] = {}

    def compare(self, sending: _Sending) -> None:
        batch, exchange, _, _ = sending
        key = batch.place, batch.producer_id, batch.producer_epoch
        expected = self._next.get(key)
        if expected is None:
            self._next[key] = batch.next_sequence, exchange
            return
        sequence, last = expected
        ahead = (batch.base_sequence - sequence) & 0x7FFFFFFF
        if 0 < ahead < _HALF:
            self.violates(
                f"{batch.place[0]}-{batch.place[1]} gets the sequence {batch.base_sequence} "
                f"where {sequence} comes next",
                exchange,
                last,
            )
        else:
            self.obeys()
        if ahead < _HALF:
            self._next[key] = batch.next_sequence, exchange


class SameBytes(_Batches):
    rule_id = "retry-same-bytes"
    sentence = "A retry sends the same bytes again."
    source = "KIP-98: the broker drops a duplicate by its sequence and keeps the first bytes"
    applies_to = "Produce with a producer id, all versions"

    def compare(self, sending: _Sending) -> None:
        batch, exchange, earlier, _ = sending
        if earlier is None or earlier.is_refused or earlier.batch.records != batch.records:
            return
        text = f"the batch with the sequence {batch.base_sequence} has other bytes than before"
        self.judge(earlier.batch.crc == batch.crc, text, exchange, earlier.exchange)


class NoReuse(_Batches):
    rule_id = "sequence-not-reused"
    sentence = "A sequence number that may be in the log never numbers another batch."
    source = "KIP-98; ProducerStateEntry.findDuplicateBatch"
    applies_to = "Produce with a producer id, all versions"

    def compare(self, sending: _Sending) -> None:
        batch, exchange, earlier, sent = sending
        if earlier is not None and not earlier.is_refused:
            if earlier.batch.records != batch.records:
                self.violates(
                    f"the sequence {batch.base_sequence} begins a batch of {batch.records} records "
                    f"after one of {earlier.batch.records}",
                    exchange,
                    earlier.exchange,
                )
            return
        for attempt in reversed(sent.values()):
            if attempt.is_refused:
                continue
            offset = (batch.base_sequence - attempt.batch.base_sequence) & 0x7FFFFFFF
            if offset < attempt.batch.records:
                self.violates(
                    f"the sequence {batch.base_sequence} is inside the batch that begins at "
                    f"{attempt.batch.base_sequence}",
                    exchange,
                    attempt.exchange,
                )
                return
            break
        self.obeys()


class FiveInFlight(Rule):
    rule_id = "five-in-flight"
    sentence = "At most five Produce requests of an idempotent producer wait on a connection."
    source = "KIP-98; ProducerStateEntry.NUM_BATCHES_TO_RETAIN"
    applies_to = "Produce with a producer id, while another one waits on the connection"
    apis = _PRODUCE

    def asked(self, exchange: Exchange) -> None:
        waiting = [
            each
            for each in self.knowledge.live.get(exchange.connection, {}).values()
            if each.api == "Produce" and _producer_ids(each, self.knowledge)
        ]
        if not _producer_ids(exchange, self.knowledge):
            return
        if len(waiting) > MOST_IN_FLIGHT:
            self.violates(f"{len(waiting)} requests wait for their answers", exchange, waiting[0])
        elif len(waiting) > 1:
            self.obeys()


def _producer_ids(exchange: Exchange, knowledge: Knowledge) -> set[int]:
    return {each.producer_id for each in batches(exchange, knowledge) if each.producer_id >= 0}


class AllReplicas(Rule):
    rule_id = "idempotent-acks-all"
    sentence = "An idempotent producer waits for all replicas in sync (acks=-1)."
    source = "KIP-98; ProducerConfig: enable.idempotence requires acks=all"
    applies_to = "Produce with a producer id, all versions"
    apis = _PRODUCE

    def asked(self, exchange: Exchange) -> None:
        if not _producer_ids(exchange, self.knowledge):
            return
        text = f"acks is {exchange.fields.get('acks')}"
        self.judge(exchange.fields.get("acks") == -1, text, exchange)


class OneBatch(Rule):
    rule_id = "one-batch-per-partition"
    sentence = "A Produce request names each partition once, with one batch."
    source = "ProduceRequest.validateRecords; ProduceRequest.json"
    applies_to = "Produce since version 3"
    apis = _PRODUCE

    def asked(self, exchange: Exchange) -> None:
        seen: set[Place] = set()
        for each in structs(exchange.fields, "batches"):
            place = self.knowledge.topic(each["topic"]), each["partition"]
            if place in seen:
                self.violates(f"{place[0]}-{place[1]} has more than one batch", exchange)
                return
            seen.add(place)
        if seen:
            self.obeys()


class NamedTransaction(Rule):
    rule_id = "transactional-batch-named"
    sentence = "Transactional batches come in requests that name the transactional id, others not."
    source = "KIP-98; KafkaApis.handleProduceRequest; RequestUtils.hasTransactionalRecords"
    applies_to = "Produce since version 3"
    apis = _PRODUCE

    def asked(self, exchange: Exchange) -> None:
        named = bool(transactional_id(exchange))
        for batch in batches(exchange, self.knowledge):
            kind = "is transactional" if batch.is_transactional else "is not transactional"
            what = "names a transactional id" if named else "names no transactional id"
            text = f"the batch {kind}, and the request {what}"
            self.judge(batch.is_transactional == named, text, exchange)


class FreshSequence(Rule):
    rule_id = "new-epoch-begins-at-0"
    sentence = "After a new producer id or epoch the sequence of each partition begins at 0."
    source = "KIP-360; ProducerAppendInfo.checkSequence"
    applies_to = "Produce after InitProducerId, or after EndTxn since version 5"
    apis = _IDS

    def begin(self) -> None:
        self._given: set[tuple[int, int]] = set()
        self._begun: set[Key] = set()

    def answered(self, exchange: Exchange) -> None:
        given = given_producer(exchange)
        if given is not None:
            self._given.add(given)

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Produce":
            return
        for batch in batches(exchange, self.knowledge):
            key = batch.place, batch.producer_id, batch.producer_epoch
            if key in self._begun or key[1:] not in self._given:
                continue
            self._begun.add(key)
            text = (
                f"the first batch of epoch {batch.producer_epoch} in "
                f"{batch.place[0]}-{batch.place[1]} has the sequence {batch.base_sequence}"
            )
            self.judge(batch.base_sequence == 0, text, exchange)


def given_producer(exchange: Exchange) -> tuple[int, int] | None:
    """The producer id and epoch that an answer gives to a producer; None for none."""
    if not exchange.is_answered or exchange.error or exchange.response is None:
        return None
    if exchange.api == "EndTxn" and exchange.version < END_BUMPS_SINCE:
        return None
    if exchange.api not in {"InitProducerId", "EndTxn"}:
        return None
    found = exchange.response.get("producer_id", -1), exchange.response.get("producer_epoch", -1)
    return None if found[0] < 0 else found


class GivenEpoch(Rule):
    rule_id = "epoch-was-given"
    sentence = "A transactional producer uses no producer id or epoch but those it was given."
    source = "KIP-98; KIP-360: only producers without transactions may raise their epoch"
    applies_to = "Produce, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit and EndTxn"
    apis: ClassVar[frozenset[str]] = frozenset(
        {
            *("Produce", "InitProducerId", "EndTxn"),
            *("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"),
        }
    )

    def begin(self) -> None:
        self._given: dict[str, set[tuple[int, int]]] = {}

    def answered(self, exchange: Exchange) -> None:
        given = given_producer(exchange)
        if given is not None:
            self._given.setdefault(transactional_id(exchange), set()).add(given)

    def asked(self, exchange: Exchange) -> None:
        given = self._given.get(transactional_id(exchange))
        if given is None or not transactional_id(exchange) or exchange.api == "InitProducerId":
            return
        used = {producer_of(exchange)}
        if exchange.api == "Produce":
            used = {(b.producer_id, b.producer_epoch) for b in batches(exchange, self.knowledge)}
        # Producers that began before the trace have ids that it does not show.
        for producer_id, epoch in sorted(used):
            newest = max((each[1] for each in given if each[0] == producer_id), default=None)
            if newest is None or epoch < min(e for i, e in given if i == producer_id):
                continue
            text = f"producer {producer_id} uses epoch {epoch}, and {newest} is the newest"
            self.judge((producer_id, epoch) in given, text, exchange)


PRODUCE_RULES: Final = (
    NoGaps, SameBytes, NoReuse, FiveInFlight, AllReplicas, OneBatch, NamedTransaction,
    FreshSequence, GivenEpoch,
)  # fmt: skip

"""Rules of transactions: what comes before what, and what ends a transaction."""

from __future__ import annotations

from typing import Final

from ...protocol.errors import code_name
from ...trace.exchanges import Exchange
from ...trace.messages import codes_in, structs
from ..knowledge import Knowledge
from ..message_parts import (
    END_BUMPS_SINCE,
    IMPLICIT_PARTITIONS_SINCE,
    Place,
    SentBatch,
    batches,
    codes,
    error_codes,
    produce_errors,
    producer_of,
    transactional_id,
)
from .group import generation_of
from .produce import given_producer
from .rule import Rule

_WORK: Final = frozenset({"Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"})
_ENDS: Final = frozenset({"EndTxn", "InitProducerId"})
_ALL: Final = _WORK | _ENDS
_TXN_OFFSETS_IMPLICIT_SINCE: Final = 5
_TXN_OFFSETS_MEMBER_SINCE: Final = 3
TRANSACTIONS_V2: Final = 2
"""The level of the feature transaction.version from which EndTxn raises the epoch (KIP-890)."""


def _named_partitions(exchange: Exchange, knowledge: Knowledge) -> set[Place]:
    """The partitions of an AddPartitionsToTxn request of one transaction."""
    found: set[Place] = set()
    topics = [*structs(exchange.fields, "v3_and_below_topics")]
    for transaction in structs(exchange.fields, "transactions"):
        topics += structs(transaction, "topics")
    for topic in topics:
        found |= {(knowledge.topic(topic["name"]), index) for index in topic["partitions"]}
    return found


class AddedFirst(Rule):
    rule_id = "partition-added-first"
    sentence = "A partition is added to the transaction before the first Produce to it."
    source = "KIP-98; TransactionManager.maybeAddPartition"
    applies_to = "Produce 3 to 11 of transactional producers"
    apis = frozenset({"Produce", "AddPartitionsToTxn", "EndTxn", "InitProducerId"})

    def begin(self) -> None:
        self._added: dict[str, set[Place]] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "Produce" or exchange.version >= IMPLICIT_PARTITIONS_SINCE:
            return
        name = transactional_id(exchange)
        # A transaction that began before the trace has partitions that it does not show.
        added = self._added.get(name)
        for batch in batches(exchange, self.knowledge):
            if not batch.is_transactional or added is None:
                continue
            topic, partition = batch.place
            text = f"{topic}-{partition} is not in the transaction"
            self.judge(batch.place in added, text, exchange)

    def answered(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if exchange.api in _ENDS and not exchange.error and exchange.is_answered:
            self._added[name] = set()
        elif exchange.api == "AddPartitionsToTxn" and exchange.is_answered:
            refused = _refused_partitions(exchange)
            if not exchange.error:
                added = _named_partitions(exchange, self.knowledge) - refused
                self._added.setdefault(name, set()).update(added)


def _refused_partitions(exchange: Exchange) -> set[Place]:
    found: set[Place] = set()
    topics = [*structs(exchange.response, "results_by_topic_v3_and_below")]
    for transaction in structs(exchange.response, "results_by_transaction"):
        topics += structs(transaction, "topic_results")
    for topic in topics:
        for partition in structs(topic, "results_by_partition"):
            if partition.get("partition_error_code"):
                found.add((topic["name"], partition["partition_index"]))
    return found


class NotAddedInV2(Rule):
    rule_id = "no-add-in-transactions-v2"
    sentence = (
        "A producer with version 2 of transactions does not add partitions or offsets itself."
    )
    source = "KIP-890; TransactionManager.isTransactionV2Enabled"
    applies_to = "producers that send Produce since version 12, TxnOffsetCommit or EndTxn since 5"
    apis = _WORK | {"EndTxn"}

    def begin(self) -> None:
        self._v2: dict[str, Exchange] = {}

    def asked(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if not name:
            return
        if exchange.api in {"AddPartitionsToTxn", "AddOffsetsToTxn"}:
            earlier = self._v2.get(name)
            if earlier is not None and producer_of(exchange) == producer_of(earlier):
                self.violates(f"{exchange.api} after {earlier}", exchange, earlier)
            return
        since = IMPLICIT_PARTITIONS_SINCE if exchange.api == "Produce" else END_BUMPS_SINCE
        if exchange.version >= since:
            self.obeys()
            if exchange.api == "EndTxn":
                self._v2[name] = exchange
        elif exchange.api == "EndTxn":
            self._v2.pop(name, None)


class FinalizedV2(Rule):
    rule_id = "transactions-v2-finalized"
    sentence = (
        "A producer uses version 2 of transactions only where transaction.version 2 is final."
    )
    source = "KIP-890, KIP-584; TransactionManager.isTransactionV2Enabled"
    applies_to = "Produce, TxnOffsetCommit and EndTxn of clients whose ApiVersions is in the trace"
    apis = frozenset({"ApiVersions", "Produce", "TxnOffsetCommit", "EndTxn"})

    def begin(self) -> None:
        self._levels: dict[str, tuple[int, Exchange]] = {}

    def answered(self, exchange: Exchange) -> None:
        if exchange.api == "ApiVersions" and exchange.is_answered and not exchange.error:
            levels = {
                each["name"]: int(each["max_version_level"])
                for each in structs(exchange.response, "finalized_features")
            }
            self._levels[exchange.client_id] = levels.get("transaction.version", 0), exchange

    def asked(self, exchange: Exchange) -> None:
        known = self._levels.get(exchange.client_id)
        if exchange.api == "ApiVersions" or known is None or not transactional_id(exchange):
            return
        level, told = known
        text = f"{exchange}, and the broker has transaction.version {level}"
        self.judge(level >= TRANSACTIONS_V2 or not _is_v2(exchange), text, exchange, told)


class OneVersion(Rule):
    rule_id = "transactions-v2-whole"
    sentence = "All requests of a transaction have the same version of transactions."
    source = "KIP-890; TransactionManager: the version is fixed when a transaction begins"
    applies_to = "Produce, TxnOffsetCommit and EndTxn of one transaction"
    apis = frozenset({"Produce", "TxnOffsetCommit", "EndTxn"})

    def begin(self) -> None:
        self._began: dict[str, Exchange] = {}

    def asked(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if not name:
            return
        earlier = self._began.setdefault(name, exchange)
        if _is_v2(earlier) != _is_v2(exchange):
            self.violates(f"{exchange} in a transaction with {earlier}", exchange, earlier)
        elif earlier is not exchange:
            self.obeys()
        if exchange.api == "EndTxn":
            del self._began[name]


def _is_v2(exchange: Exchange) -> bool:
    since = IMPLICIT_PARTITIONS_SINCE if exchange.api == "Produce" else END_BUMPS_SINCE
    return exchange.version >= since


class EndAfterAnswers(Rule):
    rule_id = "end-after-answers"
    sentence = "EndTxn is sent when every Produce of the transaction was answered."
    source = "KIP-98; TransactionManager.nextRequest; Sender.maybeSendAndPollTransactionalRequest"
    applies_to = "EndTxn of transactions with Produce, all versions"
    apis = frozenset({"Produce", "EndTxn"})

    def begin(self) -> None:
        self._produced: set[str] = set()

    def asked(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if exchange.api == "Produce":
            self._produced.add(name)
            return
        had_data = name in self._produced
        self._produced.discard(name)
        for live in self.knowledge.live.values():
            for each in live.values():
                if each.api == "Produce" and _same_producer(each, exchange, self.knowledge):
                    self.violates(f"{each} of {name} waits for its answer", exchange, each)
                    return
        if had_data:
            self.obeys()


def _same_producer(produce: Exchange, end: Exchange, knowledge: Knowledge) -> bool:
    return transactional_id(produce) == transactional_id(end) and any(
        (batch.producer_id, batch.producer_epoch) == producer_of(end)
        for batch in batches(produce, knowledge)
    )


class CommitAfterAcks(Rule):
    rule_id = "commit-after-acks"
    sentence = "A transaction is committed only if each of its batches was acknowledged."
    source = "KIP-98; KafkaProducer.commitTransaction flushes, and throws if a send failed"
    applies_to = "EndTxn that commits, all versions"
    apis = frozenset({"Produce", "EndTxn"})

    def begin(self) -> None:
        self._open: dict[tuple[int, int], dict[tuple[Place, int], Exchange]] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api == "Produce":
            for batch in batches(exchange, self.knowledge):
                if batch.is_transactional:
                    producer = batch.producer_id, batch.producer_epoch
                    opened = self._open.setdefault(producer, {})
                    opened[batch.place, batch.base_sequence] = exchange
            return
        opened = self._open.pop(producer_of(exchange), {})
        if not exchange.fields.get("committed"):
            return
        for (place, sequence), sent in opened.items():
            self.violates(
                f"{place[0]}-{place[1]} never acknowledged the batch with the sequence {sequence}",
                exchange,
                sent,
            )
        if not opened:
            self.obeys()

    def answered(self, exchange: Exchange) -> None:
        if exchange.api != "Produce" or not exchange.is_answered:
            return
        errors = dict(produce_errors(exchange, self.knowledge))
        for batch in batches(exchange, self.knowledge):
            if errors.get(batch.place, 0) in _ACKNOWLEDGED:
                self._acknowledge(batch)

    def _acknowledge(self, batch: SentBatch) -> None:
        opened = self._open.get((batch.producer_id, batch.producer_epoch))
        if opened is not None:
            opened.pop((batch.place, batch.base_sequence), None)


# A batch that is too large is split, and sent again in parts.
_ACKNOWLEDGED: Final = {0, *codes("DUPLICATE_SEQUENCE_NUMBER", "MESSAGE_TOO_LARGE")}
_FENCED: Final = codes("PRODUCER_FENCED")


class SilentAfterFencing(Rule):
    rule_id = "nothing-after-fencing"
    sentence = "A producer that was fenced sends nothing more with its epoch."
    source = "KIP-98; TransactionManager.transitionToFatalError on ProducerFencedException"
    applies_to = "all requests of a transactional producer after PRODUCER_FENCED"
    apis = _ALL

    def begin(self) -> None:
        self._fenced: dict[tuple[str, int, int], Exchange] = {}
        self._went_on: set[tuple[str, int, int]] = set()

    def asked(self, exchange: Exchange) -> None:
        for producer in _producers(exchange, self.knowledge):
            key = (transactional_id(exchange), *producer)
            fenced = self._fenced.get(key)
            if fenced is not None and exchange.follows(fenced):
                self._went_on.add(key)
                self.violates(f"{exchange.api} after PRODUCER_FENCED", exchange, fenced)

    def answered(self, exchange: Exchange) -> None:
        if _FENCED & error_codes(exchange):
            for producer in _producers(exchange, self.knowledge):
                self._fenced.setdefault((transactional_id(exchange), *producer), exchange)

    def finish(self) -> None:
        for producer, fenced in self._fenced.items():
            if producer not in self._went_on and self.knowledge.had_time(fenced):
                self.obeys()


def _producers(exchange: Exchange, knowledge: Knowledge) -> set[tuple[int, int]]:
    if exchange.api == "Produce":
        found = {(b.producer_id, b.producer_epoch) for b in batches(exchange, knowledge)}
    else:
        found = {producer_of(exchange)}
    return {each for each in found if each[0] >= 0}


class AbortAfterError(Rule):
    rule_id = "abort-after-abortable-error"
    sentence = "A transaction with an error that needs an abort is not committed."
    source = "KIP-98; KIP-691; TransactionManager.transitionToAbortableError"
    applies_to = "EndTxn after such an error, all versions"
    apis = _ALL
    ABORTABLE: Final = codes(
        "TRANSACTION_ABORTABLE", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID",
        "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "INVALID_RECORD",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT", "STALE_MEMBER_EPOCH",
    )  # fmt: skip

    def begin(self) -> None:
        self._must_abort: dict[str, tuple[Exchange, int]] = {}

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "EndTxn":
            return
        found = self._must_abort.get(transactional_id(exchange))
        if found is None:
            return
        failed, code = found
        if exchange.fields.get("committed"):
            self.violates(f"a commit after {code_name(code)} in {failed.api}", exchange, failed)
        else:
            self.obeys()

    def answered(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if exchange.api in _ENDS:
            if exchange.is_answered and not exchange.error:
                self._must_abort.pop(name, None)
            return
        found = sorted(self.ABORTABLE & error_codes(exchange))
        if found and name:
            self._must_abort[name] = exchange, found[0]


class EndOfBegun(Rule):
    rule_id = "end-of-begun-transaction"
    sentence = "EndTxn ends a transaction that has partitions or offsets."
    source = "KIP-98; TransactionManager.beginCompletingTransaction sends none for an empty one"
    applies_to = "EndTxn up to version 4"
    apis = _ALL

    def begin(self) -> None:
        self._has_work: dict[tuple[int, int], bool] = {}

    def answered(self, exchange: Exchange) -> None:
        given = given_producer(exchange)
        if given is not None and exchange.api == "InitProducerId":
            self._has_work[given] = False
        elif exchange.api == "EndTxn" and exchange.is_answered and not exchange.error:
            self._has_work[producer_of(exchange)] = False

    def asked(self, exchange: Exchange) -> None:
        if exchange.api != "EndTxn":
            for producer in _producers(exchange, self.knowledge):
                if exchange.api != "InitProducerId":
                    self._has_work[producer] = True
        elif exchange.version < END_BUMPS_SINCE:
            has_work = self._has_work.get(producer_of(exchange))
            if has_work:
                self.obeys()
            elif has_work is False:
                self.violates("the transaction has neither partitions nor offsets", exchange)


class OffsetsAddedFirst(Rule):
    rule_id = "offsets-added-first"
    sentence = "A group is added to the transaction before its offsets are sent."
    source = "KIP-98; TransactionManager.sendOffsetsToTransaction"
    applies_to = "TxnOffsetCommit up to version 4"
    apis = frozenset({"AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "InitProducerId"})

    def begin(self) -> None:
        self._added: dict[str, set[str]] = {}

    def answered(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if not exchange.is_answered or exchange.error:
            return
        if exchange.api in _ENDS:
            self._added[name] = set()
        elif exchange.api == "AddOffsetsToTxn":
            self._added.setdefault(name, set()).add(exchange.fields["group_id"])

    def asked(self, exchange: Exchange) -> None:
        added = self._added.get(transactional_id(exchange))
        old = exchange.version < _TXN_OFFSETS_IMPLICIT_SINCE
        if exchange.api != "TxnOffsetCommit" or not old or added is None:
            return
        group = exchange.fields["group_id"]
        text = f"the group {group} is not in the transaction"
        self.judge(group in added, text, exchange)


class OffsetsWithMember(Rule):
    rule_id = "offsets-with-member"
    sentence = "Offsets in a transaction come with the member and the generation of their group."
    source = "KIP-447; TxnOffsetCommitRequest.json"
    applies_to = "TxnOffsetCommit since version 3, for groups with members"
    apis = frozenset({"TxnOffsetCommit", "JoinGroup", "ConsumerGroupHeartbeat"})

    def begin(self) -> None:
        self._with_members: dict[str, Exchange] = {}

    def asked(self, exchange: Exchange) -> None:
        group = exchange.fields.get("group_id", "")
        if exchange.api != "TxnOffsetCommit":
            self._with_members.setdefault(group, exchange)
            return
        joined = self._with_members.get(group)
        if joined is None or exchange.version < _TXN_OFFSETS_MEMBER_SINCE:
            return
        text = f"no member and generation for the group {group}, which has members"
        has_member = bool(exchange.fields.get("member_id"))
        has_both = has_member and generation_of(exchange.fields) >= 0
        self.judge(has_both, text, exchange, joined)


class OffsetsRetried(Rule):
    rule_id = "commit-after-offsets"
    sentence = "A transaction is committed only if its offsets were accepted."
    source = "KIP-98; TransactionManager.TxnOffsetCommitHandler"
    applies_to = "EndTxn that commits, after TxnOffsetCommit"
    apis = frozenset({"TxnOffsetCommit", "EndTxn", "InitProducerId"})

    def begin(self) -> None:
        self._open: dict[str, dict[str, Exchange]] = {}
        self._had_offsets: set[str] = set()

    def asked(self, exchange: Exchange) -> None:
        name = transactional_id(exchange)
        if exchange.api == "TxnOffsetCommit":
            self._open.setdefault(name, {})[exchange.fields["group_id"]] = exchange
            self._had_offsets.add(name)
            return
        opened = self._open.pop(name, {})
        if (
            exchange.api == "EndTxn"
            and exchange.fields.get("committed")
            and (name in self._had_offsets)
        ):
            for group, sent in opened.items():
                self.violates(f"the offsets of {group} were not accepted", exchange, sent)
            if not opened:
                self.obeys()
        self._had_offsets.discard(name)

    def answered(self, exchange: Exchange) -> None:
        accepted = exchange.is_answered and not exchange.refused
        if exchange.api == "TxnOffsetCommit" and accepted and not any(codes_in(exchange.response)):
            name = transactional_id(exchange)
            self._open.get(name, {}).pop(exchange.fields["group_id"], None)


TRANSACTION_RULES: Final = (
    AddedFirst, NotAddedInV2, FinalizedV2, OneVersion, EndAfterAnswers, CommitAfterAcks,
    SilentAfterFencing, AbortAfterError, EndOfBegun, OffsetsAddedFirst, OffsetsWithMember,
    OffsetsRetried,
)  # fmt: skip

"""Bugs to plant, each of which the simulation must find.

Each replaces functions of the coordinator, the logs or the channel inside `Plants.planted`.
`within` is the number of seeds, one of which must fail.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from ottla.broker.handlers.data import produce
from ottla.broker.handlers.data.produce import _Membership, _NotOnDisk
from ottla.broker.runtime.markers import marker_channel
from ottla.broker.runtime.shards.shard import Shard
from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions import checks
from ottla.coordinator.transactions import coordinator as machine_module
from ottla.coordinator.transactions import records as transaction_records
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import State, Transaction, TransactionRecord
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.errors import Code, Refused
from ottla.storage import log as log_module
from ottla.storage.log import PartitionLog
from ottla.storage.producer_state import producer_snapshot
from ottla.storage.producer_state.aborted import AbortedTransactions
from ottla.storage.producer_state.producers import ProducerStates
from ottla.storage.recovery import recovery

from . import channel, cluster
from .planting import Patch, Plants

MUTATIONS: Final = Plants()
_bug = MUTATIONS.bug


_ANYTHING_MAY_FOLLOW: Final = dict.fromkeys(State, frozenset(State))


# Owners of a transactional id


@_bug(within=400)
def _a_fenced_transaction_keeps_its_epoch() -> list[Patch]:
    def fenced(self: Transactions, known: Transaction, *, now_ms: int) -> Transaction:
        return known.prepared(commit=False, now_ms=now_ms)

    return [(Transactions, "_fenced", fenced)]


@_bug(within=400)
def _a_new_producer_gets_the_epoch_of_the_last() -> list[Patch]:
    right = Transactions._successor

    def successor(self: Transactions, known: Transaction, expected: Any) -> Any:
        producer, last_epoch = right(self, known, expected)
        return (known.producer if expected is None else producer), last_epoch

    return [(Transactions, "_successor", successor)]


@_bug(within=400)
def _every_epoch_is_the_owners() -> list[Patch]:
    right = checks.check_owner

    def check(known: Transaction, producer: Producer) -> None:
        right(known, producer._replace(producer_epoch=known.producer_epoch))

    return [(machine_module, "check_owner", check)]


@_bug(within=400)
def _epochs_do_not_rise_at_the_end() -> list[Patch]:
    right = Transaction.prepared_and_bumped

    def prepared(self: Transaction, **arguments: Any) -> Transaction:
        return right(self, **arguments)._replace(producer_epoch=self.producer_epoch)

    return [(Transaction, "prepared_and_bumped", prepared)]


@_bug(within=400)
def _the_old_id_stays_when_epochs_are_used_up() -> list[Patch]:
    right = Transaction.completed

    def completed(self: Transaction, *, now_ms: int) -> Transaction:
        return right(self, now_ms=now_ms)._replace(producer_id=self.producer_id)

    return [(Transaction, "completed", completed)]


@_bug(within=400)
def _a_retry_after_a_rotation_is_given_the_old_id() -> list[Patch]:
    right = Transactions.end_and_bump

    def end(self: Transactions, name: str, producer: Producer, **arguments: Any) -> Any:
        outcome = right(self, name, producer, **arguments)
        if not outcome.records and outcome.reply.producer_id != producer.producer_id:
            return outcome._replace(reply=Producer(producer.producer_id, 0))
        return outcome

    return [(Transactions, "end_and_bump", end)]


# Transactions in two phases


@_bug(within=400)
def _a_prepared_transaction_is_not_kept() -> list[Patch]:
    right = Transactions.init_producer_id

    def init(self: Transactions, name: str, **arguments: Any) -> Any:
        return right(self, name, **{**arguments, "keep_prepared": False})

    return [(Transactions, "init_producer_id", init)]


@_bug(within=400)
def _transactions_in_two_phases_time_out() -> list[Patch]:
    return [(Transaction, "deadline_ms", property(lambda self: self.started_ms + 500))]


@_bug(within=400)
def _markers_of_a_kept_transaction_have_the_new_epoch() -> list[Patch]:
    right = Transaction.prepared_of_kept

    def prepared(self: Transaction, successor: Producer, **arguments: Any) -> Transaction:
        wrong = right(self, successor, **arguments)
        return wrong._replace(producer_id=successor.producer_id, producer_epoch=0)

    return [(Transaction, "prepared_of_kept", prepared)]


# The end of a transaction


@_bug(within=400)
def _who_comes_during_the_markers_is_not_asked_to_wait() -> list[Patch]:
    right = checks.check_not_prepared
    return [
        (
            machine_module,
            "check_not_prepared",
            lambda known: right(known) if known.next_producer_id == -1 else None,
        )
    ]


@_bug(within=100)
def _commits_without_preparing() -> list[Patch]:
    def wrong(right: Any) -> Any:
        def end(self: Transactions, name: str, producer: Producer, **arguments: Any) -> Any:
            outcome = right(self, name, producer, **arguments)
            completed = tuple(each.completed(now_ms=0) for each in outcome.records)
            return outcome._replace(records=completed)

        return end

    return [
        (Transactions, "end", wrong(Transactions.end)),
        (Transactions, "end_and_bump", wrong(Transactions.end_and_bump)),
        (machine_module, "MAY_FOLLOW", _ANYTHING_MAY_FOLLOW),
    ]


@_bug(within=400)
def _a_prepared_commit_is_aborted_by_the_next_producer() -> list[Patch]:
    right = Transactions.init_producer_id

    def init(self: Transactions, name: str, *, now_ms: int, **arguments: Any) -> Any:
        known = self._by_id.get(name)
        if known is not None and known.state is State.PREPARE_COMMIT:
            aborted = self._fenced(known, now_ms=now_ms)
            return Outcome(Code.CONCURRENT_TRANSACTIONS, (aborted,), self._markers(aborted))
        return right(self, name, now_ms=now_ms, **arguments)

    return [
        (Transactions, "init_producer_id", init),
        (machine_module, "MAY_FOLLOW", _ANYTHING_MAY_FOLLOW),
    ]


@_bug(within=400)
def _the_commit_of_an_aborted_transaction_is_answered_like_a_retry() -> list[Patch]:
    def wrong(right: Any) -> Any:
        def end(self: Transactions, name: str, producer: Producer, **arguments: Any) -> Any:
            try:
                return right(self, name, producer, **arguments)
            except Refused as refused:
                if refused.code is not Code.INVALID_TXN_STATE:
                    raise
                return Outcome(self._by_id[name].producer)

        return end

    return [
        (Transactions, "end", wrong(Transactions.end)),
        (Transactions, "end_and_bump", wrong(Transactions.end_and_bump)),
    ]


@_bug(within=100)
def _nothing_times_out() -> list[Patch]:
    right = Transactions.tick

    def tick(self: Transactions, now: Moment) -> Any:
        for outcome in right(self, now):
            yield outcome._replace(records=(), effects=())

    return [(Transactions, "tick", tick)]


@_bug(within=200, first=200)
def _a_fenced_marker_counts_as_written() -> list[Patch]:
    settles = marker_channel.COUNTS_AS_WRITTEN | {Code.TRANSACTION_COORDINATOR_FENCED}
    return [(marker_channel, "COUNTS_AS_WRITTEN", settles)]


@_bug(within=200, first=300)
def _a_marker_of_an_old_epoch_counts_as_written() -> list[Patch]:
    settles = marker_channel.COUNTS_AS_WRITTEN | {Code.INVALID_PRODUCER_EPOCH}
    return [(marker_channel, "COUNTS_AS_WRITTEN", settles)]


@_bug(within=200)
def _a_marker_with_a_retriable_error_is_not_sent_again() -> list[Patch]:
    return [(marker_channel, "RETRIES", frozenset())]


@_bug(within=400)
def _ids_expire_while_they_are_prepared() -> list[Patch]:
    right = Transactions.replay

    def replay(self: Transactions, record: TransactionRecord) -> None:
        right(self, record)
        if isinstance(record, Transaction) and record.state is State.PREPARE_COMMIT:
            name, due_ms = record.transactional_id, record.updated_ms + self._expiration_ms
            del self._prepared[name]
            check_ms = machine_module._next_check_ms(due_ms, self._expiration_check_ms)
            self._expirations.set(name, check_ms)

    return [
        (Transactions, "replay", replay),
        (machine_module, "MAY_FOLLOW", _ANYTHING_MAY_FOLLOW),
    ]


# Checks of writes


@_bug(within=800)
def _writes_to_partitions_that_were_not_added_are_accepted() -> list[Patch]:
    return [(Transactions, "missing_partitions", lambda *arguments: frozenset())]


@_bug(within=400)
def _partitions_are_added_to_prepared_transactions() -> list[Patch]:
    right = Transactions.add_partitions

    def add(self: Transactions, name: str, producer: Producer, partitions: Any, **rest: Any) -> Any:
        if self._by_id[name].state is State.PREPARE_COMMIT:
            return Outcome(None)
        return right(self, name, producer, partitions, **rest)

    return [(Transactions, "add_partitions", add)]


@_bug(within=400)
def _the_order_of_sequences_is_not_checked() -> list[Patch]:
    return [(ProducerStates, "_check_order", lambda self, entry, header, following: None)]


@_bug(within=400)
def _duplicates_are_appended() -> list[Patch]:
    def check(self: ProducerStates, header: Any, *, from_client: bool) -> None:
        return None

    return [(ProducerStates, "check", check)]


@_bug(within=1000)
def _records_are_written_before_the_added_partition_is_on_disk() -> list[Patch]:
    right = _Membership.check

    def check(self: _Membership, log: Any, header: Any) -> None:
        with suppress(_NotOnDisk):
            right(self, log, header)

    return [(_Membership, "check", check)]


@_bug(within=400)
def _replies_of_coordinators_leave_before_they_are_on_disk() -> list[Patch]:
    async def flushed(self: Any) -> None:
        return None

    return [(Shard, "_flushed", flushed)]


@_bug(within=400)
def _produces_are_answered_before_they_are_on_disk() -> list[Patch]:
    async def flushed(node: Any, unflushed: Any) -> None:
        return None

    return [(produce, "_wait_for_flushes", flushed)]


@_bug(within=800)
def _markers_are_sent_before_the_decision_is_on_disk() -> list[Patch]:
    right = Shard._commit

    def commit(self: Any, outcome: Any, now_ms: int, **how: Any) -> None:
        right(self, outcome._replace(effects=()), now_ms, **how)
        self._carry_out_all(outcome.effects)

    return [(Shard, "_commit", commit)]


# Markers


@_bug(within=100)
def _one_partition_gets_no_marker() -> list[Patch]:
    return [(channel, "partitions_of", lambda effect: sorted(effect.transaction.partitions)[1:])]


@_bug(within=400)
def _offsets_get_no_marker() -> list[Patch]:
    def partitions_of(effect: Any) -> Any:
        return sorted(p for p in effect.transaction.partitions if p[0] != CONSUMER_OFFSETS)

    return [(channel, "partitions_of", partitions_of)]


@_bug(within=400)
def _complete_with_the_first_marker() -> list[Patch]:
    return [(channel, "is_complete", lambda left: True)]


@_bug(within=400)
def _a_marker_that_gets_no_answer_is_not_sent_again() -> list[Patch]:
    return [(channel, "is_settled", lambda result: True)]


@_bug(within=400)
def _a_restart_forgets_the_markers() -> list[Patch]:
    return [(Transactions, "unfinished", lambda self: ())]


@_bug(within=2000)
def _markers_of_old_coordinators_are_accepted() -> list[Patch]:
    right = ProducerStates.check_marker

    def check(self: ProducerStates, header: Any, marker: Any) -> None:
        try:
            right(self, header, marker)
        except Refused as refused:
            if refused.code is not Code.TRANSACTION_COORDINATOR_FENCED:
                raise

    return [(ProducerStates, "check_marker", check)]


@_bug(within=2000)
def _markers_of_old_epochs_are_written() -> list[Patch]:
    return [(ProducerStates, "check_marker", lambda self, header, marker: None)]


# Restarts


@_bug(within=400)
def _the_log_of_transactions_loses_a_partition() -> list[Patch]:
    right = transaction_records.decode

    def decode(key: bytes, value: bytes | None) -> Any:
        record = right(key, value)
        if isinstance(record, Transaction):
            return record._replace(partitions=frozenset(sorted(record.partitions)[1:]))
        return record

    return [(cluster, "decode", decode)]


@_bug(within=400)
def _the_log_of_transactions_loses_the_next_id() -> list[Patch]:
    right = transaction_records.decode

    def decode(key: bytes, value: bytes | None) -> Any:
        record = right(key, value)
        if isinstance(record, Transaction):
            return record._replace(next_producer_id=-1)
        return record

    return [(cluster, "decode", decode)]


@_bug(within=400)
def _a_snapshot_forgets_open_transactions() -> list[Patch]:
    right = producer_snapshot.decode

    def decode(content: bytes) -> Any:
        entries = right(content)
        for entry in entries or ():
            entry.transaction_first_offset = -1
        return entries

    return [(producer_snapshot, "decode", decode)]


@_bug(within=400)
def _a_restart_forgets_aborted_transactions() -> list[Patch]:
    right = recovery.aborted_by

    def aborted_by(ended: Any, producers: Any) -> Any:
        return right(ended, producers)._replace(first_offset=ended.last_offset)

    return [(recovery, "aborted_by", aborted_by)]


@_bug(within=400)
def _a_restart_of_groups_does_not_read_markers() -> list[Patch]:
    right = Shard._replay_batch

    def replay(self: Any, data: Any, position: int, header: Any) -> None:
        if not header.is_control:
            right(self, data, position, header)

    return [(Shard, "_replay_batch", replay)]


# Reads


@_bug(within=100)
def _the_last_stable_offset_ignores_open_transactions() -> list[Patch]:
    return [(PartitionLog, "last_stable_offset", property(lambda self: self.high_watermark))]


@_bug(within=100)
def _the_index_of_aborted_transactions_is_empty() -> list[Patch]:
    return [(AbortedTransactions, "between", lambda self, first_offset, end_offset: [])]


@_bug(within=400)
def _the_index_of_aborted_transactions_ends_too_early() -> list[Patch]:
    right = AbortedTransactions.between

    def between(self: AbortedTransactions, first_offset: int, end_offset: int) -> Any:
        return right(self, first_offset, end_offset)[:1]

    return [(AbortedTransactions, "between", between)]


@_bug(within=400)
def _the_index_of_aborted_transactions_begins_too_late() -> list[Patch]:
    right = recovery.aborted_by

    def aborted_by(ended: Any, producers: Any) -> Any:
        return right(ended, producers)._replace(first_offset=ended.first_offset + 1)

    return [(log_module, "aborted_by", aborted_by)]


@_bug(within=400)
def _aborted_offsets_count() -> list[Patch]:
    right = Groups.replay_marker

    def replay(self: Groups, producer: Producer, *, commit: bool) -> None:
        right(self, producer, commit=True)

    return [(Groups, "replay_marker", replay)]


@_bug(within=400)
def _offsets_count_before_their_transaction_ends() -> list[Patch]:
    right = Groups.commit_in_transaction

    def commit(self: Groups, *arguments: Any, **rest: Any) -> Any:
        return right(self, *arguments, **rest)._replace(producer=None)

    return [(Groups, "commit_in_transaction", commit)]

"""The trace of a run as a ledger for the oracle: what each process did, with unique values.

A value is the record's place, because an application sends a record again after an abort. The
broker's events show what it has applied, also where an answer was lost. Each operation has its own
process, because a client has several requests under way; a transaction belongs to the process that
took its transactional id.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from ...client.record_reader import ReadRecord
from ...trace.events import Decision, Event, Fields, RecordsAppended, Request
from ...trace.exchanges import Exchange, Exchanges
from ...trace.messages import errors_in, structs, topic_name, topic_names
from ...verdict.oracle.history import (
    ABORT,
    ASSIGN,
    BEGIN,
    COMMIT,
    INIT,
    OK,
    SEND,
    HistoryLine,
    Value,
)
from ...verdict.oracle.oracle import LogRecord, Oracle
from .checks import Violation

_Pairs = list[tuple[int, Value]]
_Offsets = dict[str, int]


def judge_ledger(events: Sequence[Event], output: Iterable[ReadRecord]) -> list[Violation]:
    """What the oracle finds in a run.

    Args:
        events: of the trace.
        output: all records of the output, with their fates.
    """
    oracle = Oracle()
    for operation in operations_of(events):
        oracle.see(operation)
    logs: dict[str, list[ReadRecord]] = {}
    for record in output:
        logs.setdefault(f"{record.topic}-{record.partition}", []).append(record)
    for place, records in logs.items():
        ordered = sorted(records, key=lambda each: each.offset)
        rows = [LogRecord(each.offset, _value(place, each.offset), each.fate) for each in ordered]
        oracle.see_log(place, 0, rows, ordered[-1].offset + 1)
    return [
        Violation(each.anomaly, f"{each.place} at {each.offset}: {each.text}")
        for each in oracle.finish().anomalies
    ]


def operations_of(events: Sequence[Event]) -> Iterator[HistoryLine]:
    """What the clients of a trace did, with the place of each record (`orders-0@5`) as its value.

    Args:
        events: of a trace of Ottla, which has what the broker changed.
    """
    return _Ledger(events).operations()


def _value(place: str, offset: int) -> Value:
    return f"{place}@{offset}"


def _producer(exchange: Exchange) -> tuple[int, int]:
    """Id and epoch of the producer of a Produce."""
    for batch in structs(exchange.fields, "batches"):
        if "producer_id" in batch:
            return batch["producer_id"], batch["producer_epoch"]
    return -1, -1


def _is_decided(exchange: Exchange) -> bool:
    """Whether a coordinator has written what a request asks for."""
    return any(isinstance(each, Decision) for each in exchange.changes)


class _Ledger:
    """Makes operations of exchanges.

    Attributes:
        owners: the process of a producer id and epoch.
        open: by process: the name of the transaction under way, and the offsets sent to it.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._names = topic_names(events)
        self._owners: dict[tuple[int, int], str] = {}
        self._open: dict[str, str] = {}
        self._offsets: dict[str, tuple[str, _Offsets]] = {}

    def operations(self) -> Iterator[HistoryLine]:
        """In the order of requests and answers."""
        together = Exchanges()
        belonging = [(event, together.add(event)) for event in self._events]
        for event, exchange in belonging:
            if exchange is None:
                continue
            if isinstance(event, Request):
                yield from self._begin(exchange)
            elif event is exchange.answer:
                yield from self._end(exchange)

    def _begin(self, exchange: Exchange) -> Iterator[HistoryLine]:
        seq, api, fields = exchange.seq, exchange.api, exchange.fields
        process = f"request-{seq}"
        if api == "Produce":
            records = self._appended(exchange)
            if records:
                txn = yield from self._transaction(_producer(exchange), seq)
                yield HistoryLine(seq, process, BEGIN, SEND, txn, records)
        elif api == "TxnOffsetCommit":
            if _is_decided(exchange):
                yield from self._sent_offsets(fields, seq)
        elif api == "EndTxn":
            yield from self._ends(fields, process, seq, BEGIN)
        elif api == "OffsetCommit" and _is_decided(exchange):
            offsets = self._places(fields)
            group = str(fields.get("group_id"))
            yield HistoryLine(seq, process, BEGIN, COMMIT, offsets=offsets, group=group)
        elif api == "OffsetFetch":
            yield HistoryLine(seq, process, BEGIN, ASSIGN)

    def _end(self, exchange: Exchange) -> Iterator[HistoryLine]:
        seq, api, fields, response = (
            exchange.answer_seq, exchange.api, exchange.fields, exchange.response,
        )  # fmt: skip
        if response is None or exchange.unanswered:
            return
        process = f"request-{exchange.seq}"
        if api == "OffsetFetch":
            yield from self._assigned(fields, response, process, seq)
        elif errors_in(response):
            return
        elif api == "InitProducerId" and fields.get("transactional_id"):
            owner = f"producer-{seq}"
            self._owners[response["producer_id"], response["producer_epoch"]] = owner
            name = str(fields["transactional_id"])
            yield HistoryLine(seq, owner, OK, INIT, transactional_id=name)
        elif api == "Produce":
            records = self._appended(exchange)
            if records:
                txn = self._open.get(self._owner(_producer(exchange)), "")
                yield HistoryLine(seq, process, OK, SEND, txn, records)
        elif api == "EndTxn":
            yield from self._ends(fields, process, seq, OK)
            self._follow(fields, response)
        elif api == "OffsetCommit" and _is_decided(exchange):
            group = str(fields.get("group_id"))
            offsets = self._places(fields)
            yield HistoryLine(seq, process, OK, COMMIT, offsets=offsets, group=group)

    def _owner(self, producer: tuple[int, int]) -> str:
        return self._owners.get(producer, "")

    def _transaction(
        self, producer: tuple[int, int], seq: int
    ) -> Generator[HistoryLine, None, str]:
        """The name of a producer's transaction; a new one is made known with its owner."""
        owner = self._owner(producer)
        if not owner:
            return ""
        if owner not in self._open:
            self._open[owner] = f"{owner}-{seq}"
            yield HistoryLine(seq, owner, BEGIN, SEND, self._open[owner])
        return self._open[owner]

    def _sent_offsets(self, fields: Fields, seq: int) -> Iterator[HistoryLine]:
        producer = fields["producer_id"], fields["producer_epoch"]
        txn = yield from self._transaction(producer, seq)
        if txn:
            _, known = self._offsets.setdefault(txn, (str(fields["group_id"]), {}))
            known.update(self._places(fields))

    def _ends(self, fields: Fields, process: str, seq: int, kind: str) -> Iterator[HistoryLine]:
        owner = self._owner((fields["producer_id"], fields["producer_epoch"]))
        txn = self._open.get(owner, "")
        if not txn:
            return
        group, offsets = self._offsets.get(txn, ("", {}))
        if fields.get("committed"):
            yield HistoryLine(seq, process, kind, COMMIT, txn, offsets=offsets, group=group)
        else:
            yield HistoryLine(seq, process, kind, ABORT, txn)

    def _follow(self, fields: Fields, response: Fields) -> None:
        """The transaction has ended; its producer may have another epoch now (KIP-890)."""
        owner = self._owner((fields["producer_id"], fields["producer_epoch"]))
        self._open.pop(owner, None)
        epoch = response.get("producer_epoch", -1)
        if owner and epoch is not None and epoch >= 0 and response.get("producer_id", -1) >= 0:
            self._owners[response["producer_id"], epoch] = owner

    def _appended(self, exchange: Exchange) -> dict[str, _Pairs]:
        """The places of the records that a Produce has put into logs."""
        counts: dict[str, int] = {}
        for batch in structs(exchange.fields, "batches"):
            topic = self._names.get(batch["topic"], batch["topic"])
            place = f"{topic}-{batch['partition']}"
            counts[place] = counts.get(place, 0) + batch.get("records", 0)
        found: dict[str, _Pairs] = {}
        for change in exchange.changes:
            if isinstance(change, RecordsAppended):
                place = f"{change.topic}-{change.partition}"
                if place in counts:
                    offsets = range(change.log_end_offset - counts[place], change.log_end_offset)
                    found[place] = [(offset, _value(place, offset)) for offset in offsets]
        return found

    def _places(self, fields: Fields) -> _Offsets:
        return {
            f"{topic_name(topic, self._names)}-{each['partition_index']}": each["committed_offset"]
            for topic in structs(fields, "topics")
            for each in structs(topic, "partitions")
        }

    def _assigned(
        self, fields: Fields, response: Fields, process: str, seq: int
    ) -> Iterator[HistoryLine]:
        if not fields.get("require_stable") or errors_in(response):
            return
        for group in structs(response, "groups"):
            offsets = {
                place: offset for place, offset in self._places(group).items() if offset >= 0
            }
            if offsets:
                name = str(group["group_id"])
                yield HistoryLine(seq, process, OK, ASSIGN, offsets=offsets, group=name)

"""Makes the events of small traces: transactions, groups and copies, as a broker writes them."""

from __future__ import annotations

from typing import Any

from ottla.trace.events import (
    Answer,
    Decision,
    Event,
    Fault,
    GroupTransition,
    MarkerAppended,
    RecordsAppended,
    Request,
)


class Trace:
    """A trace that grows, whose clock moves by 1 ms with each event.

    Attributes:
        events: so far.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now_ms = 1_000_000

    def wait(self, span_ms: int) -> None:
        """Time passes without an event."""
        self._now_ms += span_ms

    def add(self, event: Event) -> int:
        """Number an event; return the number."""
        event.seq = len(self.events) + 1
        event.at_ms = self._now_ms
        self._now_ms += 1
        self.events.append(event)
        return event.seq

    def ask(self, client: str, api: str, **fields: Any) -> int:
        """A request; its number."""
        request = Request(
            api=api, version=1, client_id=client, connection=f"1.1.1.1:9092-2.2.2.2:{client}-1",
            fields=fields,
        )  # fmt: skip
        return self.add(request)

    def answer(self, cause: int, *, error: str | None = None, **response: Any) -> int:
        """An answer to a request."""
        request = self.events[cause - 1]
        assert isinstance(request, Request)
        return self.add(
            Answer(
                cause=cause, api=request.api, took_us=1000, error=error,
                response=None if error else response,
            )
        )  # fmt: skip

    def call(self, client: str, api: str, fields: dict[str, Any], **response: Any) -> int:
        """A request that is answered at once; its number."""
        number = self.ask(client, api, **fields)
        self.answer(number, **response)
        return number

    def decide(self, cause: int, owner: str, before: str, after: str, *partitions: Any) -> int:
        """A transaction has a new state."""
        record = {
            "type": "Transaction", "transactional_id": owner, "producer_id": 7,
            "producer_epoch": 0, "before": before, "after": after,
            "partitions": [list(each) for each in partitions],
        }  # fmt: skip
        return self.add(
            Decision(
                cause=cause, topic="__transaction_state", partition=3, count=1, records=[record]
            )
        )

    def mark(self, cause: int, topic: str, partition: int, *, commit: bool) -> int:
        """A marker of the transaction's producer."""
        return self.add(
            MarkerAppended(
                cause=cause, topic=topic, partition=partition, producer={"producer_id": 7},
                commit=commit,
            )
        )  # fmt: skip

    def append(self, cause: int, topic: str, partition: int, end: int) -> int:
        """Records are in a log."""
        return self.add(
            RecordsAppended(cause=cause, topic=topic, partition=partition, log_end_offset=end)
        )

    def fail(self, cause: int, kind: str) -> int:
        """A fault acts on a request."""
        return self.add(Fault(cause=cause, id=1, action={"kind": kind}))

    def move_group(self, cause: int, group: str, before: str, after: str) -> int:
        """A group has another state."""
        return self.add(GroupTransition(cause=cause, group_id=group, before=before, after=after))


def fetch(trace: Trace, client: str, topic: str, first: int, last: int) -> int:
    """A Fetch of a client that returns records of partition 0."""
    batch = {
        "topic": topic, "partition": 0, "base_offset": first, "last_offset": last,
        "records": last - first + 1, "is_control": False,
    }  # fmt: skip
    partitions = {"topics": [{"topic": topic, "partitions": [{"partition": 0}]}]}
    return trace.call(client, "Fetch", partitions, batches=[batch])


def produce(trace: Trace, owner: str, topic: str, base_offset: int) -> int:
    """A Produce of a transaction, of one record to partition 0."""
    batch = {"topic": topic, "partition": 0, "records": 1, "producer_id": 7}
    number = trace.ask(
        "writer", "Produce", transactional_id=owner, batches=[batch],
        topic_data=[{"name": topic, "partition_data": [{"index": 0}]}],
    )  # fmt: skip
    trace.append(number, topic, 0, base_offset + 1)
    partition = {"index": 0, "error_code": 0, "base_offset": base_offset}
    trace.answer(number, responses=[{"name": topic, "partition_responses": [partition]}])
    return number


def commit_offset(
    trace: Trace, owner: str, group: str, topic: str, offset: int, **further: object
) -> int:
    """A TxnOffsetCommit of partition 0, with further fields."""
    partition = {"partition_index": 0, "committed_offset": offset}
    fields = {
        "transactional_id": owner, "group_id": group,
        "topics": [{"name": topic, "partitions": [partition]}], **further,
    }  # fmt: skip
    return trace.call("writer", "TxnOffsetCommit", fields)


def copied() -> Trace:
    """One record is read, copied in a transaction, and its offset committed; then the fault."""
    trace = Trace()
    trace.call("reader", "OffsetFetch", {"group_id": "g"})
    fetch(trace, "reader", "orders", 0, 3)
    add = {"v3_and_below_transactional_id": "x", "v3_and_below_topics": []}
    number = trace.ask("writer", "AddPartitionsToTxn", **add)
    trace.decide(number, "x", "Empty", "Ongoing", ("invoices", 0))
    trace.answer(number)
    produce(trace, "x", "invoices", 10)
    commit_offset(trace, "x", "g", "orders", 4)
    end_transaction(trace, "x", commit=True)
    return trace


def end_transaction(trace: Trace, owner: str, *, commit: bool) -> int:
    """An EndTxn with its decisions and the marker in partition 0 of invoices."""
    word = "Commit" if commit else "Abort"
    number = trace.ask("writer", "EndTxn", transactional_id=owner, committed=commit)
    trace.decide(number, owner, "Ongoing", f"Prepare{word}", ("invoices", 0))
    trace.mark(number, "invoices", 0, commit=commit)
    trace.decide(number, owner, f"Prepare{word}", f"Complete{word}")
    trace.answer(number)
    return number

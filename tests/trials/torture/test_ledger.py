"""The trace of a run becomes a ledger that the oracle judges."""

from __future__ import annotations

from typing import Any

from ottla.client.fates import Fate
from ottla.client.record_reader import ReadRecord
from ottla.trace.events import Event, event_of
from ottla.trials.torture.ledger import judge_ledger


class Trace:
    """Events, with their numbers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: str, **fields: Any) -> int:
        line = {"seq": len(self.events) + 1, "at_ms": 0, "kind": kind, **fields}
        self.events.append(event_of(line))
        return len(self.events)

    def asks(self, api: str, response: dict[str, Any] | None, **fields: Any) -> None:
        cause = self.add("request", api=api, version=3, request=fields)
        for batch in fields.get("batches", ()):
            place = {"topic": batch["topic"], "partition": batch["partition"]}
            end = self.end = getattr(self, "end", 0) + batch["records"]
            self.add("records_appended", cause=cause, log_end_offset=end, **place)
        if response is not None:
            self.add("answer", cause=cause, api=api, took_us=1, response=response)

    def init(self, epoch: int) -> None:
        made = {"producer_id": 1, "producer_epoch": epoch}
        self.asks("InitProducerId", made, transactional_id="shop")

    def produce(self, epoch: int, *, is_answered: bool = True) -> None:
        batch = {
            "topic": "out", "partition": 0, "records": 1, "producer_id": 1, "producer_epoch": epoch,
        }  # fmt: skip
        self.asks("Produce", {"responses": []} if is_answered else None, batches=[batch])

    def commit(self, epoch: int) -> None:
        self.asks("EndTxn", {}, producer_id=1, producer_epoch=epoch, committed=True)


def record(offset: int, fate: Fate) -> ReadRecord:
    return ReadRecord("out", 0, offset, 0, None, b"a", (), fate, 1, 0)


def kinds(trace: Trace, *output: ReadRecord) -> list[str]:
    return [each.kind for each in judge_ledger(trace.events, output)]


def test_a_committed_transaction_that_the_log_has_is_right() -> None:
    trace = Trace()
    trace.init(0)
    trace.produce(0)
    trace.commit(0)
    assert kinds(trace, record(0, Fate.COMMITTED)) == []


def test_a_committed_record_that_the_log_has_aborted_is_lost() -> None:
    trace = Trace()
    trace.init(0)
    trace.produce(0)
    trace.produce(0)
    trace.commit(0)
    found = kinds(trace, record(0, Fate.COMMITTED), record(1, Fate.ABORTED))
    assert found == ["torn-transaction"]


def test_an_answer_that_is_lost_leaves_the_record_in_doubt() -> None:
    trace = Trace()
    trace.init(0)
    trace.produce(0, is_answered=False)
    assert kinds(trace, record(0, Fate.ABORTED)) == []


def test_a_write_after_fencing_has_the_name_of_the_oracle() -> None:
    trace = Trace()
    trace.init(0)
    trace.init(1)
    trace.produce(0)
    assert "zombie-write" in kinds(trace, record(0, Fate.ABORTED))

"""The transactions of a batch, one for each task, and their form in the write-ahead log.

Pure: no clock, no network. A `DecidedBatch` is the content of the write-ahead log for one query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

DIGEST_BYTES: Final = 16
_DIGEST_MODULUS: Final = 1 << 8 * DIGEST_BYTES
TASKS_IN_A_RECORD: Final = 500
"""At 300 to 1,000 bytes for each task, a record is below message.max.bytes (1 MiB)."""

Headers = Sequence[tuple[str, bytes | None]]


class Span(NamedTuple):
    """The records of one task in one partition lie between these offsets, both included."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int


class TransactionKey(NamedTuple):
    """A transaction: its transactional id, and the producer id and epoch that wrote it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Task:
    """The rows that one task wrote, in a transaction of its own.

    Attributes:
        transaction: ends the transaction (EndTxn), from any process.
        task: the index of the task in its stage: Spark's partition id.
        rows: number of records.
        digest: the sum of the digests of the rows (`row_digest`); independent of their order.
        spans: where the records are.
        is_committed: the write-ahead log says that the transaction is committed.
    """

    transaction: TransactionKey
    task: int
    rows: int
    digest: int
    spans: tuple[Span, ...] = ()
    is_committed: bool = False


class Content(NamedTuple):
    """What a write consists of, whatever tasks wrote it: the same rows have the same content.

    Attributes:
        digest: the sum of the digests of the rows.
        topics: in alphabetical order.
    """

    rows: int
    digest: int
    topics: tuple[str, ...]

    def __str__(self) -> str:
        topics = ", ".join(self.topics) or "no topic"
        return f"{self.rows} rows in {topics} (digest {self.digest:032x})"


@dataclass(frozen=True, slots=True)
class DecidedBatch:
    """A batch that the driver decided to commit.

    Attributes:
        query_id: of the streaming query, or the id of a batch write.
        batch_id: Spark's number of the micro-batch; 0 for a batch write.
        tasks: the transactions that make up the batch; all of them are or will be committed.
        is_done: all of them are committed.
        round: 1 for the first decision; each repair of a batch that was lost in part adds one.
        topic_ids: of the topics when the batch was decided, where they are known.
    """

    query_id: str
    batch_id: int
    tasks: tuple[Task, ...]
    is_done: bool = False
    round: int = 1
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> Content:
        """What the batch consists of, whatever its tasks are."""
        return content_of(self.tasks)

    def done(self) -> DecidedBatch:
        """The batch with all tasks committed."""
        return replace(self, tasks=committed(self.tasks), is_done=True)


def committed(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The same tasks, marked as committed."""
    return tuple(replace(each, is_committed=True) for each in tasks)


def content_of(tasks: Iterable[Task]) -> Content:
    """The rows that tasks wrote."""
    listed = tuple(tasks)
    topics = sorted({span.topic for each in listed for span in each.spans})
    return Content(
        sum(each.rows for each in listed),
        sum_of(each.digest for each in listed),
        tuple(topics),
    )


def row_digest(topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """A number that identifies the content of a row.

    The partition is no part of it: a row without one may go to another partition in a replay.
    """
    parts = [topic.encode(), key, value]
    for name, content in headers:
        parts += (name.encode(), content)
    hashed = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        hashed.update(b"\xff" * 8 if part is None else len(part).to_bytes(8, "big"))
        hashed.update(part or b"")
    return int.from_bytes(hashed.digest(), "big")


def sum_of(digests: Iterable[int]) -> int:
    """The digest of rows from their digests: a sum, so the order does not matter."""
    return sum(digests) % _DIGEST_MODULUS


def records_of(batch: DecidedBatch) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each record of a batch in the write-ahead log.

    The records belong into one transaction. Records of a larger batch before, which this one does
    not overwrite, name their own batch, so that a reader ignores them.
    """
    pieces = [
        batch.tasks[at : at + TASKS_IN_A_RECORD]
        for at in range(0, len(batch.tasks), TASKS_IN_A_RECORD)
    ] or [()]
    for number, tasks in enumerate(pieces):
        value = {
            "version": 1,
            "query_id": batch.query_id,
            "batch_id": batch.batch_id,
            "round": batch.round,
            "state": "done" if batch.is_done else "decided",
            "piece": number,
            "pieces": len(pieces),
            "topic_ids": dict(batch.topic_ids),
            "tasks": [_as_json(each) for each in tasks],
        }
        yield f"{batch.query_id}/{number}".encode(), json.dumps(value).encode()


def batch_of(query_id: str, records: Iterable[tuple[bytes, bytes | None]]) -> DecidedBatch | None:
    """The batch of a query from the records of the write-ahead log, in the order of their offsets.

    Raises:
        ValueError: a piece of the batch is missing, or a later version of the sink wrote it.
    """
    last: dict[bytes, Mapping[str, Any]] = {}
    newest: Mapping[str, Any] | None = None
    for key, value in records:
        name, _, piece = key.rpartition(b"/")
        if name != query_id.encode() or not piece.isdigit():
            continue
        last.pop(key, None)
        if value is None:
            newest = newest if last else None
            continue
        found = json.loads(value)
        if found["version"] != 1:
            raise ValueError(f"the write-ahead log has version {found['version']} of {query_id}")
        if found["query_id"] != query_id:
            raise ValueError(f"the write-ahead log has {found['query_id']!r} under {key!r}")
        newest = last[key] = found
    if newest is None:
        return None
    names = ("batch_id", "round", "state", "pieces")
    pieces = [each for each in last.values() if all(each[name] == newest[name] for name in names)]
    if len(pieces) != newest["pieces"]:
        raise ValueError(f"the write-ahead log lacks a part of {query_id}")
    pieces.sort(key=lambda each: int(each["piece"]))
    return DecidedBatch(
        query_id,
        newest["batch_id"],
        tuple(_task(each) for piece in pieces for each in piece["tasks"]),
        is_done=newest["state"] == "done",
        round=newest["round"],
        topic_ids=newest.get("topic_ids", {}),  # versions before it have none
    )


def _as_json(task: Task) -> dict[str, Any]:
    return {
        **task.transaction._asdict(),
        "task": task.task,
        "rows": task.rows,
        "digest": f"{task.digest:x}",
        "spans": task.spans,
        "state": "committed" if task.is_committed else "decided",
    }


def _task(fields: Mapping[str, Any]) -> Task:
    return Task(
        TransactionKey(fields["transactional_id"], fields["producer_id"], fields["producer_epoch"]),
        fields["task"],
        fields["rows"],
        int(fields["digest"], 16),
        tuple(Span(*each) for each in fields["spans"]),
        is_committed=fields["state"] == "committed",
    )

"""Produces records and transactions with `Client`.

`produce` sends records outside of a transaction. `OpenTransaction` is one transaction:

    with Client.to("127.0.0.1:9092") as client:
        transaction = OpenTransaction.begin(client, "orders-1")
        transaction.produce("orders", [OutgoingRecord(b"value", key=b"key")])
        transaction.end(commit=True)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from ..protocol.api_keys import ApiKey
from ..protocol.batch import Compression
from ..protocol.errors import Code
from .cluster_client import Client, ErrorAnswer, NoAnswer, check
from .record_batch import OutgoingRecord, encoded, partition_of
from .retries import COORDINATOR_MOVES, LEADER_MOVES, PATIENCE_S, retried

_RETRY_S: Final = 0.02
_CREATION_S: Final = 2.0
_LOST_ANSWER_S: Final = 30.0
_ALL: Final = -1  # acks
_BATCH_BYTES: Final = 512 << 10
"""A batch of several records is not larger: brokers and topics allow 1 MiB by default."""
_RECORD_BYTES: Final = 32  # lengths, deltas and attributes of a record; they take less
_BUSY: Final = (
    COORDINATOR_MOVES | LEADER_MOVES | {Code.CONCURRENT_TRANSACTIONS, Code.NOT_ENOUGH_REPLICAS}
)


class Stored(NamedTuple):
    """Where a record was stored."""

    topic: str
    partition: int
    offset: int


@dataclass(slots=True)
class _Sequences:
    """The identity of an idempotent producer, and its next sequence number by partition."""

    producer_id: int
    producer_epoch: int
    transactional_id: str | None = None
    next_of: dict[tuple[str, int], int] = field(default_factory=dict)


def produce(
    client: Client,
    topic: str,
    records: Sequence[OutgoingRecord],
    *,
    acks: int = _ALL,
    compression: Compression = Compression.NONE,
) -> list[Stored]:
    """Produce records; return their places in the order of `records`.

    The records of a partition are one batch, or as many as their sizes need.

    Args:
        acks: -1, 0 or 1. With 0 no answer comes and all offsets are -1.

    Raises:
        ErrorAnswer: a leader refuses; UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist and
            the broker does not create it.
        NoAnswer: a broker cannot be reached.
    """
    places: list[Stored | None] = [None] * len(records)
    for partition, indexes in _by_partition(client, topic, records).items():

        def send(part: Sequence[OutgoingRecord], partition: int = partition) -> int:
            batch = encoded(part, now_ms=_now_ms(), compression=compression)
            return _sent(client, topic, partition, batch, acks=acks)

        offsets = _in_batches([records[index] for index in indexes], send)
        for index, offset in zip(indexes, offsets, strict=True):
            places[index] = Stored(topic, partition, offset)
    return [place for place in places if place is not None]


class OpenTransaction:
    """A transaction of a transactional id, from its first record to its end.

    `begin` fences earlier producers of that id and ends their open transaction, as a Java
    producer's `initTransactions` does.
    """

    def __init__(self, client: Client, sequences: _Sequences) -> None:
        assert sequences.transactional_id is not None
        self._client = client
        self._sequences = sequences
        self._added: set[tuple[str, int]] = set()
        self.transactional_id = sequences.transactional_id

    @classmethod
    def begin(cls, client: Client, transactional_id: str, *, timeout_ms: int = 60_000) -> Self:
        """Initialize the producer id. Raises ErrorAnswer, NoAnswer."""
        body = {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": timeout_ms,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answer = _coordinated(client, transactional_id, ApiKey.INIT_PRODUCER_ID, body)
        return cls(client, _Sequences(answer.producer_id, answer.producer_epoch, transactional_id))

    @property
    def producer_id(self) -> int:
        return self._sequences.producer_id

    @property
    def producer_epoch(self) -> int:
        return self._sequences.producer_epoch

    def produce(
        self,
        topic: str,
        records: Sequence[OutgoingRecord],
        *,
        compression: Compression = Compression.NONE,
    ) -> list[Stored]:
        """Produce records in the transaction; as `produce` of this module. Raises ErrorAnswer."""
        places: list[Stored | None] = [None] * len(records)
        known = self._sequences
        for partition, indexes in _by_partition(self._client, topic, records).items():
            self._add(topic, partition)

            def send(part: Sequence[OutgoingRecord], partition: int = partition) -> int:
                sequence = known.next_of.get((topic, partition), 0)
                batch = encoded(
                    part,
                    now_ms=_now_ms(),
                    producer=(known.producer_id, known.producer_epoch, sequence),
                    transactional=True,
                    compression=compression,
                )
                first = _sent(
                    self._client, topic, partition, batch, transactional_id=self.transactional_id
                )
                known.next_of[topic, partition] = sequence + len(part)
                return first

            offsets = _in_batches([records[index] for index in indexes], send)
            for index, offset in zip(indexes, offsets, strict=True):
                places[index] = Stored(topic, partition, offset)
        return [place for place in places if place is not None]

    def end(self, *, commit: bool) -> None:
        """Commit or abort; without records there is nothing to end. Raises ErrorAnswer."""
        if not self._added:
            return
        body = self._identity() | {"committed": commit}
        self._ask_coordinator(ApiKey.END_TXN, body)
        self._added.clear()

    def _ask_coordinator(self, api_key: ApiKey, body: Any) -> None:
        """Ask the coordinator, and again if an answer is lost: it does nothing twice.

        Raises:
            NoAnswer: it does not answer any more; whether the transaction has ended is not known.
        """
        deadline = time.monotonic() + _LOST_ANSWER_S
        while True:
            try:
                _coordinated(self._client, self.transactional_id, api_key, body)
                return
            except NoAnswer as lost:
                if time.monotonic() > deadline:
                    name = self.transactional_id
                    text = f"{lost}; `ottla txn describe {name}` says how its transaction ended"
                    raise NoAnswer(text) from None
            time.sleep(_RETRY_S)

    def _identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    def _add(self, topic: str, partition: int) -> None:
        if (topic, partition) in self._added:
            return
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.producer_epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": [partition]}],
        }
        _coordinated(self._client, self.transactional_id, ApiKey.ADD_PARTITIONS_TO_TXN, body)
        self._added.add((topic, partition))


def partitions_of(client: Client, topic: str) -> int:
    """The number of partitions; it waits for a topic that the broker creates now.

    Raises:
        ErrorAnswer: UNKNOWN_TOPIC_OR_PARTITION, among others.
    """
    start = time.monotonic()
    while True:
        (found,) = client.metadata([topic], may_create=True)
        is_new = found.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION  # until it is created
        patience_s = _CREATION_S if is_new else PATIENCE_S
        if not (is_new or found.error_code in _BUSY) or time.monotonic() > start + patience_s:
            check(found.error_code, topic)
            return len(found.partitions)
        time.sleep(_RETRY_S)


def _by_partition(
    client: Client, topic: str, records: Sequence[OutgoingRecord]
) -> dict[int, list[int]]:
    """Indexes of the records by their partition."""
    count = partitions_of(client, topic)
    chosen: dict[int, list[int]] = {}
    turn = time.time_ns()  # calls with one record each reach all partitions as well
    for index, record in enumerate(records):
        if record.partition is not None:
            partition = record.partition
        elif record.key is not None:
            partition = partition_of(record.key, count)
        else:
            partition, turn = turn % count, turn + 1
        if not 0 <= partition < count:
            raise ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")
        chosen.setdefault(partition, []).append(index)
    return chosen


def _in_batches(
    records: Sequence[OutgoingRecord], send: Callable[[Sequence[OutgoingRecord]], int]
) -> Iterator[int]:
    """Send the records of a partition; their offsets, -1 without an answer.

    A batch that is too large for its topic is halved, as Java's producer does (Sender,
    `splitAndReenqueue`).

    Args:
        send: sends one batch, and returns its first offset.

    Raises:
        ErrorAnswer: as `send`; MESSAGE_TOO_LARGE for a single record.
    """
    for part in _parts(records):
        try:
            first = send(part)
        except ErrorAnswer as refused:
            if refused.code != Code.MESSAGE_TOO_LARGE or len(part) == 1:
                raise
            half = len(part) // 2
            yield from _in_batches(part[:half], send)
            yield from _in_batches(part[half:], send)
        else:
            yield from (first + delta if first >= 0 else -1 for delta in range(len(part)))


def _parts(records: Sequence[OutgoingRecord]) -> Iterator[Sequence[OutgoingRecord]]:
    """The records of one batch each."""
    begin, size = 0, 0
    for at, record in enumerate(records):
        needed = _RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
        needed += sum(len(name) + len(content or b"") for name, content in record.headers)
        if at > begin and size + needed > _BATCH_BYTES:
            yield records[begin:at]
            begin, size = at, 0
        size += needed
    if begin < len(records):
        yield records[begin:]


@retried(_BUSY)
def _sent(
    client: Client,
    topic: str,
    partition: int,
    batch: bytearray,
    *,
    acks: int = _ALL,
    transactional_id: str | None = None,
) -> int:
    """Send one batch to the leader; return its first offset, -1 without an answer."""
    where = {"index": partition, "records": batch}
    body = {
        "transactional_id": transactional_id,
        "acks": acks,
        "timeout_ms": int(PATIENCE_S * 1000),
        "topic_data": [{"name": topic, "partition_data": [where]}],
    }
    leader = client.leader(topic, partition)
    if acks == 0:
        client.send(ApiKey.PRODUCE, body, node_id=leader)
        return -1
    answer = client.ask(ApiKey.PRODUCE, body, node_id=leader)
    stored = answer.responses[0].partition_responses[0]
    check(stored.error_code, f"{topic}-{partition}", stored.error_message)
    return int(stored.base_offset)


@retried(_BUSY)
def _coordinated(client: Client, transactional_id: str, api_key: ApiKey, body: Any) -> Any:
    """Ask the coordinator of the transactional id. Raises ErrorAnswer."""
    node_id = client.transaction_coordinator(transactional_id)
    answer = client.ask(api_key, body, node_id=node_id)
    if api_key == ApiKey.ADD_PARTITIONS_TO_TXN:
        (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
        check(result.partition_error_code, transactional_id)
    else:
        check(answer.error_code, transactional_id)
    return answer


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

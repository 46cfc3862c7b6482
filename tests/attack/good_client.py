"""The client that works while the broker is attacked, in a process of its own.

It sends one request at a time: it produces a batch, fetches it and commits its offset. Every tenth
time it commits or aborts a transaction over two partitions. It keeps the latency of each answer. At
the end it reads all acknowledged records: none may be lost or duplicated, and no transaction may be
partly visible.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any

from tests.wire.batches import Batch, batch, batches_in, marker
from tests.wire.client import Address, Answer, Body, Closed, Connection, NoAnswer, error_name

RECORDS_IN_A_BATCH, RECORDS_IN_A_TRANSACTION = 3, 4
TRANSACTION_EVERY, COMMIT_EVERY = 10, 5
PAUSE_S, RETRY_S = 0.004, 0.02
ANSWER_TIMEOUT_S, GIVES_UP_S = 30.0, 60.0
# Errors that also occur without an attack, and that the client retries.
USUAL = frozenset(
    {"CONCURRENT_TRANSACTIONS", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"}
)
FENCED = frozenset({"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"})
OVER = frozenset({"INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"})  # the transaction has timed out


@dataclass
class Window:
    """Latencies and errors between two reports to the campaign.

    Attributes:
        latencies_ms: for each answer its latency, and the part of it in which this process and
            the broker's main thread waited for a CPU.
        errors: numbers of error codes and lost connections, by name.
    """

    latencies_ms: list[tuple[float, float]] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


class GaveUp(Exception):
    """A request got only errors for too long."""


def waited_ms(pid: int | None) -> float:
    """How long the main thread of a process has waited for a CPU so far."""
    if pid is None:
        return 0.0
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[1]) / 1e6
    except (OSError, IndexError):
        return 0.0


class _Names:
    """Names of this client's own: a running broker may have those of earlier clients."""

    def __init__(self) -> None:
        mine = os.urandom(4).hex()
        self.plain, self.twin = f"good-plain-{mine}", f"good-twin-{mine}"
        self.group, self.transactional_id = f"good-group-{mine}", f"good-producer-{mine}"


@dataclass
class _Ledger:
    """The acknowledged records and offsets."""

    produced: int = 0
    committed_offset: int = -1
    transactions: dict[int, str] = field(default_factory=dict)


class GoodClient:
    """Works until the campaign sends "stop".

    Args:
        address: of the broker.
        broker_pid: its process, whose waits for a CPU are subtracted; None: unknown.
        pipe: the campaign sends "report", "verify" and "stop" through it.
    """

    def __init__(self, address: Address, broker_pid: int | None, pipe: Pipe) -> None:
        self._address = address
        self._broker_pid = broker_pid
        self._pipe = pipe
        self._asked: deque[str] = deque()
        self._window = Window()
        self._connection: Connection | None = None
        self._names = _Names()
        self._ledger = _Ledger()
        self._position = 0
        self._sequence = 0
        self._producer = (-1, -1)
        self._transactional = (-1, -1)
        self._next_sequences = [0, 0]
        self._stops = False

    def run(self) -> None:
        """Work, and answer the campaign's messages, until "stop"."""
        self._set_up()
        self._pipe.send("ready")
        count = 0
        while not self._stops:
            count += 1
            self._listen()
            while self._asked:
                self._verify_and_report()
            self._work(count)
            time.sleep(PAUSE_S)

    def _set_up(self) -> None:
        for topic, partitions in ((self._names.plain, 1), (self._names.twin, 2)):
            self._create(topic, partitions)
        self._find_coordinator(0, self._names.group)
        self._producer = self._init(None)
        self._transactional = self._init(self._names.transactional_id)
        self._window = Window()

    def _create(self, topic: str, partitions: int) -> None:
        new = {"name": topic, "num_partitions": partitions, "replication_factor": 1}
        body = {"topics": [{**new, "assignments": [], "configs": []}], "timeout_ms": 10_000}

        def code(answer: Answer) -> int:
            return int(answer["topics"][0]["error_code"])

        with suppress(Refusal):
            self._ask("CreateTopics", 5, body, code)

    def _init(self, transactional_id: str | None) -> tuple[int, int]:
        body = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
        if transactional_id is not None:
            self._find_coordinator(1, transactional_id)
        body |= {"producer_id": -1, "producer_epoch": -1}
        answer = self._ask("InitProducerId", 4, body, lambda a: a["error_code"])
        return answer["producer_id"], answer["producer_epoch"]

    def _find_coordinator(self, key_type: int, key: str) -> None:
        """The first FindCoordinator creates the internal topic."""
        body = {"key_type": key_type, "coordinator_keys": [key]}
        self._ask("FindCoordinator", 4, body, lambda a: int(a["coordinators"][0]["error_code"]))

    # -- the campaign

    def _listen(self) -> None:
        while self._pipe.poll():
            asked = self._pipe.recv()
            if asked == "report":
                self._pipe.send(self._window)
                self._window = Window()
            elif asked == "stop":
                self._stops = True
            else:
                self._asked.append(asked)

    def _verify_and_report(self) -> None:
        self._asked.popleft()
        self._pipe.send(list(self._wrong()))

    # -- requests

    def _ask(self, api: str, version: int, body: Body, code: Callable[[Answer], int]) -> Answer:
        """Send a request until its answer has no error.

        Raises:
            Refusal: an error that is not retriable.
            GaveUp: only errors for too long, or the campaign wants to end.
        """
        gives_up_s = time.monotonic() + GIVES_UP_S
        while not self._stops:
            error = "NONE"
            began_s, waited = time.monotonic(), self._waited_ms()
            try:
                answer = self._connected().call(api, version, body, timeout_s=ANSWER_TIMEOUT_S)
            except (Closed, NoAnswer, OSError, AssertionError) as lost:
                error = type(lost).__name__
                self._drop()
            self._window.latencies_ms.append(
                ((time.monotonic() - began_s) * 1000, self._waited_ms() - waited)
            )
            if error == "NONE":
                error = error_name(code(answer))
                if error in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"):
                    return answer
                if error in FENCED | OVER | {"TOPIC_ALREADY_EXISTS", "OFFSET_OUT_OF_RANGE"}:
                    raise Refusal(error)
            if error not in USUAL:
                self._window.errors[f"{api}: {error}"] += 1
            self._listen()
            if time.monotonic() > gives_up_s:
                raise GaveUp(f"{api}: {error} for {GIVES_UP_S:.0f} s")
            time.sleep(RETRY_S)
        raise GaveUp("the campaign ends")

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection(self._address, timeout_s=ANSWER_TIMEOUT_S)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _waited_ms(self) -> float:
        return waited_ms(self._broker_pid) + waited_ms(os.getpid())

    # -- work

    def _work(self, count: int) -> None:
        self._produce()
        self._fetch()
        if count % COMMIT_EVERY == 0:
            self._commit()
        if count % TRANSACTION_EVERY == 0:
            self._transact(count // TRANSACTION_EVERY)

    def _produce(self) -> None:
        first = self._ledger.produced
        producer_id, epoch = self._producer
        records = batch(
            [b"%d" % number for number in range(first, first + RECORDS_IN_A_BATCH)],
            producer_id=producer_id,
            epoch=epoch,
            sequence=self._sequence,
        )
        self._ask("Produce", 9, _produce(self._names.plain, 0, records), _produced_code)
        self._sequence += RECORDS_IN_A_BATCH
        self._ledger.produced += RECORDS_IN_A_BATCH

    def _fetch(self) -> None:
        answer = self._ask("Fetch", 12, _fetch(self._names.plain, 0, self._position), _fetched_code)
        for found in batches_in(answer["responses"][0]["partitions"][0]["records"]):
            self._position = found.last_offset + 1

    def _commit(self) -> None:
        partition: dict[str, Any] = {"partition_index": 0}
        partition["committed_offset"] = self._position
        partition |= {"committed_leader_epoch": -1, "committed_metadata": ""}
        body = {
            "group_id": self._names.group,
            "topics": [{"name": self._names.plain, "partitions": [partition]}],
        }
        self._ask("OffsetCommit", 8, body, lambda a: a["topics"][0]["partitions"][0]["error_code"])
        self._ledger.committed_offset = self._position

    def _transact(self, number: int) -> None:
        """Run one transaction; its outcome is unknown if its producer was fenced."""
        commit = number % 2 == 0
        try:
            self._transaction(number, commit=commit)
            self._ledger.transactions[number] = "committed" if commit else "aborted"
        except Refusal as refusal:
            self._window.errors[f"transaction: {refusal}"] += 1
            self._ledger.transactions[number] = "unknown"
            self._transactional = self._init(self._names.transactional_id)
            self._next_sequences = [0, 0]

    def _transaction(self, number: int, *, commit: bool) -> None:
        producer_id, epoch = self._transactional
        ours = {
            "v3_and_below_transactional_id": self._names.transactional_id,
            "v3_and_below_producer_id": producer_id,
            "v3_and_below_producer_epoch": epoch,
            "v3_and_below_topics": [{"name": self._names.twin, "partitions": [0, 1]}],
        }
        self._ask("AddPartitionsToTxn", 3, ours, _added_code)
        for partition in (0, 1):
            records = batch(
                [b"%d:%d" % (number, each) for each in range(RECORDS_IN_A_TRANSACTION)],
                producer_id=producer_id,
                epoch=epoch,
                sequence=self._next_sequences[partition],
                transactional=True,
            )
            body = _produce(self._names.twin, partition, records, self._names.transactional_id)
            self._ask("Produce", 9, body, _produced_code)
            self._next_sequences[partition] += RECORDS_IN_A_TRANSACTION
        end = {
            "transactional_id": self._names.transactional_id,
            "producer_id": producer_id,
            "producer_epoch": epoch,
            "committed": commit,
        }
        self._ask("EndTxn", 3, end, lambda a: int(a["error_code"]))

    # -- checks at the end

    def _wrong(self) -> Iterator[str]:
        """Acknowledged records and offsets that are lost or wrong."""
        seen = [int(value) for value in self._values(self._names.plain, 0)]
        if seen[: self._ledger.produced] != list(range(self._ledger.produced)):
            missing = sorted(set(range(self._ledger.produced)) - set(seen))
            doubled = [value for value, times in Counter(seen).items() if times > 1]
            yield f"lost {missing[:5]}, doubled {doubled[:5]}, of {self._ledger.produced}"
        committed = self._committed_offset()
        if committed < self._ledger.committed_offset:
            yield f"the group is at {committed}, told was {self._ledger.committed_offset}"
        yield from self._wrong_transactions()

    def _wrong_transactions(self) -> Iterator[str]:
        visible = [Counter(self._values(self._names.twin, partition)) for partition in (0, 1)]
        for number, became in self._ledger.transactions.items():
            times = [
                seen[b"%d:%d" % (number, each)]
                for seen in visible
                for each in range(RECORDS_IN_A_TRANSACTION)
            ]
            right = {"committed": ({1},), "aborted": ({0},)}.get(became, ({0}, {1}))
            if set(times) not in right:
                yield f"transaction {number}, {became}: its records are there {times} times"

    def _committed_offset(self) -> int:
        body = {
            "groups": [
                {
                    "group_id": self._names.group,
                    "topics": [{"name": self._names.plain, "partition_indexes": [0]}],
                }
            ]
        }
        answer = self._ask("OffsetFetch", 8, body, lambda a: a["groups"][0]["error_code"])
        topics = answer["groups"][0]["topics"]
        return int(topics[0]["partitions"][0]["committed_offset"]) if topics else -1

    def _values(self, topic: str, partition: int) -> list[bytes]:
        """All values that a read_committed consumer gets."""
        found: list[bytes] = []
        position, answers = 0, 0
        while answers < 10_000:
            answers += 1
            body = _fetch(topic, partition, position, isolation_level=1)
            part = self._ask("Fetch", 12, body, _fetched_code)["responses"][0]["partitions"][0]
            batches = batches_in(part["records"])
            if not batches:
                break
            found += _committed(batches, part["aborted_transactions"] or [])
            position = batches[-1].last_offset + 1
        return found


class Refusal(Exception):
    """The name of the error code."""


def _committed(batches: list[Batch], aborted_transactions: list[Answer]) -> Iterator[bytes]:
    pending = sorted((each["first_offset"], each["producer_id"]) for each in aborted_transactions)
    aborted: set[int] = set()
    for each in batches:
        while pending and pending[0][0] <= each.last_offset:
            aborted.add(pending.pop(0)[1])
        if each.is_control:
            if marker(each)["type"] == "ABORT":
                aborted.discard(each.producer_id)
        elif not (each.is_transactional and each.producer_id in aborted):
            yield from (record.value or b"" for record in each.records)


def _produce(
    topic: str, partition: int, records: bytes, transactional_id: str | None = None
) -> Body:
    part = {"index": partition, "records": records}
    return {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": 30_000,
        "topic_data": [{"name": topic, "partition_data": [part]}],
    }


def _produced_code(answer: Answer) -> int:
    return int(answer["responses"][0]["partition_responses"][0]["error_code"])


def _fetch(topic: str, partition: int, offset: int, *, isolation_level: int = 0) -> Body:
    part: dict[str, Any] = {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": 1 << 20,
    }
    return {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "isolation_level": isolation_level,
        "topics": [{"topic": topic, "partitions": [part]}],
    }


def _fetched_code(answer: Answer) -> int:
    return int(answer["error_code"] or answer["responses"][0]["partitions"][0]["error_code"])


def _added_code(answer: Answer) -> int:
    parts = answer["results_by_topic_v3_and_below"][0]["results_by_partition"]
    return next(
        (int(part["partition_error_code"]) for part in parts if part["partition_error_code"]), 0
    )

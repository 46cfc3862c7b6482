"""Orders, written in transactions by a confluent-kafka producer, and the ledger of their fate.

The ledger contains only the producer's knowledge: the orders it sent, the acknowledged ones, and
how each transaction ended. If the producer never got the result, the transaction is UNKNOWN; the
audit looks it up in the log and checks that all its orders exist or none.
"""

from __future__ import annotations

import enum
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

REGIONS = ("north", "east", "south", "west")
SCHEMA = "id LONG, transaction INT, region STRING, amount_cents LONG"
ANSWER_TIMEOUT_S = 60.0


class OrderFate(enum.Enum):
    """How a transaction ended, as known to its producer."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Moment(enum.Enum):
    """The moments of a transaction at which the demo may kill the broker."""

    HALF_WRITTEN = "half of it is acknowledged, it is open"
    COMMITTING = "its commit is about to be sent"


@dataclass(slots=True)
class Entry:
    """One transaction: the ids of its orders, [first_id, end_id), and its fate."""

    number: int
    first_id: int
    end_id: int
    fate: OrderFate = OrderFate.OPEN

    def ids(self) -> range:
        """The ids of the orders sent."""
        return range(self.first_id, self.end_id)


@dataclass(slots=True)
class Ledger:
    """All produced orders. Only the producer's thread writes; others read."""

    entries: list[Entry] = field(default_factory=list)
    acknowledged: set[int] = field(default_factory=set)
    restarts: int = 0  # producers that replaced a failed one

    def ids(self, *fates: OrderFate) -> set[int]:
        """The ids of the orders in transactions of these fates."""
        return {order for entry in self.entries if entry.fate in fates for order in entry.ids()}

    def count(self, *fates: OrderFate) -> int:
        """The number of orders in transactions of these fates."""
        return sum(len(entry.ids()) for entry in list(self.entries) if entry.fate in fates)


@dataclass(frozen=True, slots=True)
class Order:
    """One order; its content depends on the id alone."""

    id: int
    transaction: int

    @property
    def region(self) -> str:
        """The region of the order."""
        return REGIONS[random.Random(self.id).randrange(len(REGIONS))]

    @property
    def amount_cents(self) -> int:
        """The price."""
        return 100 + self.id * 7919 % 9900

    def value(self) -> bytes:
        """The record's value: JSON of SCHEMA."""
        return json.dumps(
            {
                "id": self.id,
                "transaction": self.transaction,
                "region": self.region,
                "amount_cents": self.amount_cents,
            }
        ).encode()


def create_topics(bootstrap: str, partitions: Mapping[str, int]) -> None:
    """Create topics with these numbers of partitions, one replica each. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [NewTopic(topic, count, 1) for topic, count in partitions.items()]
    for created in admin.create_topics(topics, operation_timeout=30).values():
        created.result(timeout=30)


def write_orders(
    ledger: Ledger,
    *,
    bootstrap: str,
    topic: str,
    transactions: int,
    orders_each: int = 100,
    pause_s: float = 0.0,
    disturb: Callable[[int, Moment], None] = lambda _number, _moment: None,
) -> None:
    """Write that many transactions, abort every tenth, and record the results in the ledger.

    `disturb` is called at the moments of each transaction, with its number. Raises KafkaException
    if the broker is away for longer than a minute.
    """
    writer = _Writer(ledger, bootstrap, topic, disturb)
    for number, first_id in enumerate(range(0, transactions * orders_each, orders_each)):
        entry = Entry(number, first_id, first_id)
        ledger.entries.append(entry)
        writer.write(entry, first_id + orders_each)
        if pause_s:
            time.sleep(pause_s)


class _Writer:
    """A transactional producer; it is replaced if its transaction fails fatally."""

    def __init__(
        self, ledger: Ledger, bootstrap: str, topic: str, disturb: Callable[[int, Moment], None]
    ) -> None:
        self._ledger = ledger
        self._topic = topic
        self._disturb = disturb
        self._settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"{topic}-writer",
            "transaction.timeout.ms": 60_000,
            "linger.ms": 5,
            "partitioner": "murmur2_random",  # as Java's producers
            # A broker restarts in less than a second: retry often.
            "reconnect.backoff.max.ms": 500,
            # By default a client without any broker forgets them all and begins again with
            # `bootstrap.servers`; a call that waits for the coordinator then waits for ever.
            "metadata.recovery.strategy": "none",
            "log_level": 0,
        }
        self._producer = self._new_producer()

    def _new_producer(self) -> Producer:
        producer = Producer(self._settings)
        for _ in _until_answered("init_transactions"):
            try:
                producer.init_transactions(ANSWER_TIMEOUT_S)
                break
            except KafkaException as failure:
                if not _error(failure).retriable():
                    raise
        return producer

    def write(self, entry: Entry, end_id: int) -> None:
        """Write the entry's orders up to `end_id` and end its transaction."""
        commit = entry.number % 10 != 9
        try:
            self._produce(entry, end_id)
            if commit:
                self._disturb(entry.number, Moment.COMMITTING)
            entry.fate = self._end(commit=commit)
        except KafkaException as failure:
            entry.fate = self._rescue(failure)

    def _produce(self, entry: Entry, end_id: int) -> None:
        self._producer.begin_transaction()
        half = (entry.first_id + end_id) // 2
        for order_id in range(entry.first_id, end_id):
            if order_id == half:
                self._producer.flush(ANSWER_TIMEOUT_S)
                self._disturb(entry.number, Moment.HALF_WRITTEN)
            order = Order(order_id, entry.number)
            self._producer.produce(
                self._topic,
                order.value(),
                order.region,
                on_delivery=self._delivery_callback(order_id),
            )
            entry.end_id = order_id + 1
            self._producer.poll(0)
        # Also before an abort, which drops unsent records: the ledger counts records that were
        # written and then aborted.
        self._producer.flush(ANSWER_TIMEOUT_S)

    def _delivery_callback(self, order_id: int) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, _message: Message) -> None:
            if error is None:
                self._ledger.acknowledged.add(order_id)

        return note

    def _end(self, *, commit: bool) -> OrderFate:
        """Commit or abort; retry as long as the client calls that safe."""
        end = self._producer.commit_transaction if commit else self._producer.abort_transaction
        for _ in _until_answered("the end of a transaction"):
            try:
                end(ANSWER_TIMEOUT_S)
                break
            except KafkaException as failure:
                if not _error(failure).retriable():
                    raise
        return OrderFate.COMMITTED if commit else OrderFate.ABORTED

    def _rescue(self, failure: KafkaException) -> OrderFate:
        """After an error: abort if the client requires it, else replace the producer."""
        if _error(failure).txn_requires_abort():
            try:
                return self._end(commit=False)
            except KafkaException:
                pass
        # The new producer has the same transactional id: the broker ends the open transaction
        # before the new one may write. Its fate is then decided, but unknown here.
        self._ledger.restarts += 1
        self._producer = self._new_producer()
        return OrderFate.UNKNOWN


def _error(failure: KafkaException) -> KafkaError:
    error: KafkaError = failure.args[0]
    return error


def _until_answered(what: str) -> Iterator[None]:
    """Rounds of a retry loop; raises TimeoutError when they take too long."""
    deadline = time.monotonic() + 2 * ANSWER_TIMEOUT_S
    while time.monotonic() < deadline:
        yield
    raise TimeoutError(f"no answer to {what} in {2 * ANSWER_TIMEOUT_S:.0f} s")

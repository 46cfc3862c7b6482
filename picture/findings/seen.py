"""What findings are made of: the requests of a trace and its transactions, looked up in advance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ...trace.events import NO_FIELDS, Fields, RecordsAppended
from ...trace.exchanges import Exchange
from ...trace.messages import Names, structs, topic_name
from ...trace.owners import client_of
from ..rows import Row, requests_of
from ..transactions import PicturedTransaction, Transactions

Partition = tuple[str, int]


# The stages from a cause to its effect, which order the findings.
BEFORE: Final = 0
"""What others did: a rule of faults, the clock, the controller, an administrator."""
STEP: Final = 1
"""What a client did, or the broker with it."""
EFFECT: Final = 2
"""What came of it."""
MEANINGS: Final = {
    "INVALID_PRODUCER_EPOCH": "its transactional id has a newer epoch",
    "PRODUCER_FENCED": "a newer producer has its transactional id",
    "FENCED_INSTANCE_ID": "another member has its group.instance.id",
    "UNKNOWN_MEMBER_ID": "it is no member any more",
    "ILLEGAL_GENERATION": "its group has another generation",
    "FENCED_MEMBER_EPOCH": "its epoch is not that of its member",
    "NOT_LEADER_OR_FOLLOWER": "the node does not lead the partition",
    "OFFSET_OUT_OF_RANGE": "the log does not have the offset",
}
"""What some error codes say about their client."""


class Finding(NamedTuple):
    """A sentence about a trace.

    Attributes:
        weight: 0 for what explains most; then 1, 2 and so on.
        seq: the number of the event that shows it.
        text: the sentence.
        stage: BEFORE, STEP or EFFECT.
        is_likely_cause: whether it explains a failure most likely.
    """

    weight: int
    seq: int
    text: str
    stage: int = STEP
    is_likely_cause: bool = False


class Call(NamedTuple):
    """A request of a client.

    Attributes:
        row: its number.
        client: the client id, or an address.
    """

    row: int
    client: str
    exchange: Exchange

    @property
    def seq(self) -> int:
        """The number of the request."""
        return self.exchange.seq


class Written(NamedTuple):
    """What a Produce has stored in a partition. `transaction` is None outside of transactions."""

    first: int
    last: int
    transaction: PicturedTransaction | None


@dataclass(slots=True)
class Seen:
    """A trace, as the modules of this folder look at it.

    Attributes:
        calls: all requests, in their order.
        by_api: the requests of each API.
        written: what was stored in each partition, as far as offsets are known.
        told: the numbers of refused requests that a finding tells of, so that no other one does.
    """

    rows: Sequence[Row]
    names: Names
    transactions: Transactions
    calls: list[Call] = field(default_factory=list)
    by_api: dict[str, list[Call]] = field(default_factory=dict)
    written: dict[Partition, list[Written]] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)

    def of(self, *apis: str) -> Iterator[Call]:
        """The requests of some APIs, in their order."""
        found = [call for api in apis for call in self.by_api.get(api, ())]
        return iter(sorted(found, key=lambda call: call.seq) if len(apis) > 1 else found)

    def errors(self, call: Call) -> list[str]:
        """The names of the error codes in a request's answer."""
        row = self.rows[call.row]
        return row.errors if row.answer_row < 0 else self.rows[row.answer_row].errors

    def client_of_row(self, number: int) -> str:
        """The client of a row's request; empty for none."""
        request = self.rows[number].request
        return "" if request is None else client_of(request)

    def transaction_of(self, number: int) -> PicturedTransaction | None:
        """The transaction that a row belongs to."""
        found = self.transactions.of_rows.get(number, 0)
        return self.transactions.all[found - 1] if found else None


def seen_in(rows: Sequence[Row], names: Names, transactions: Transactions) -> Seen:
    """Look at the rows of a trace."""
    seen = Seen(rows, names, transactions)
    for number, exchange in requests_of(rows):
        call = Call(number, client_of(exchange.request), exchange)
        seen.calls.append(call)
        seen.by_api.setdefault(exchange.api, []).append(call)
    for call in seen.of("Produce"):
        for partition, first, last in stored_by(call, names):
            written = Written(first, last, seen.transaction_of(call.row))
            seen.written.setdefault(partition, []).append(written)
    return seen


def stored_by(call: Call, names: Names) -> Iterator[tuple[Partition, int, int]]:
    """Partition, first and last offset of what a Produce has stored, also without an answer."""
    counts: dict[Partition, int] = {}
    for batch in structs(call.exchange.fields, "batches"):
        place = place_of(batch, names)
        counts[place] = counts.get(place, 0) + int(batch.get("records") or 0)
    for event in call.exchange.changes:
        if isinstance(event, RecordsAppended):
            count = counts.get((event.topic, event.partition), 0)
            if count:
                first = event.log_end_offset - count
                yield (event.topic, event.partition), first, event.log_end_offset - 1


def place_of(batch: Fields, names: Names) -> Partition:
    """The partition of a batch."""
    topic = str(batch.get("topic", ""))
    return names.get(topic, topic), int(batch.get("partition", -1))


def places_in(
    fields: Mapping[str, object] | None, names: Names, topics: str = "topics",
    partitions: str = "partitions",
) -> Iterator[tuple[Partition, Fields]]:  # fmt: skip
    """The partitions of a message with their structs."""
    for topic in structs(fields or NO_FIELDS, topics):
        for each in structs(topic, partitions):
            number = each.get("partition_index", each.get("partition", each.get("index", -1)))
            yield (topic_name(topic, names), int(number)), each


def said(place: Partition) -> str:
    """A partition as people write it."""
    return f"{place[0]}-{place[1]}"


def times(count: int) -> str:
    """How often: empty for once."""
    return "" if count == 1 else f" {count} times"


def joined(texts: Iterable[str]) -> str:
    """Each text once, as a list of words."""
    found = list(dict.fromkeys(texts))
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)

"""Reads requests and answers of a trace: batches, partitions and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..protocol.errors import Code
from ..trace.events import Fields
from ..trace.exchanges import Exchange
from ..trace.messages import codes_in, structs
from .knowledge import Knowledge

MOST_SEQUENCE: Final = 0x7FFFFFFF
IMPLICIT_PARTITIONS_SINCE: Final = 12
"""Produce from this version on adds its partitions to the transaction (KIP-890)."""
END_BUMPS_SINCE: Final = 5
"""EndTxn from this version on raises the epoch (KIP-890)."""
Place = tuple[str, int]
"""A topic and a partition."""


class SentBatch(NamedTuple):
    """A batch of format v2 in a Produce request."""

    place: Place
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int
    crc: int
    is_transactional: bool

    @property
    def last_sequence(self) -> int:
        last = self.base_sequence + self.records - 1
        return last if last <= MOST_SEQUENCE else last - MOST_SEQUENCE - 1

    @property
    def next_sequence(self) -> int:
        return 0 if self.last_sequence == MOST_SEQUENCE else self.last_sequence + 1


def codes(*names: str) -> frozenset[int]:
    """The numbers of error codes by their names."""
    return frozenset(int(Code[name]) for name in names)


def batches(exchange: Exchange, knowledge: Knowledge) -> Iterator[SentBatch]:
    """The batches of a Produce request."""
    for each in structs(exchange.fields, "batches"):
        if "crc" in each:
            yield SentBatch(
                (knowledge.topic(each["topic"]), each["partition"]),
                each["producer_id"],
                each["producer_epoch"],
                each["base_sequence"],
                each["records"],
                each["crc"],
                each["is_transactional"],
            )


def topic_of(topic: Fields, knowledge: Knowledge) -> str:
    """The name of the topic of a struct by its name or its id."""
    return knowledge.topic(topic.get("topic") or topic.get("name") or topic.get("topic_id"))


def partitions_in(
    message: Fields | None, knowledge: Knowledge, topics: str = "topics"
) -> Iterator[tuple[str, Fields]]:
    """The partitions in a list of topics, each with the name of its topic."""
    for topic in structs(message, topics):
        name = topic_of(topic, knowledge)
        for field in ("partitions", "partition_responses"):
            for partition in structs(topic, field):
                yield name, partition


def produce_errors(exchange: Exchange, knowledge: Knowledge) -> Iterator[tuple[Place, int]]:
    """The error code of each partition in the answer to a Produce request; 0 for none."""
    if exchange.refused:
        for batch in structs(exchange.fields, "batches"):
            yield (knowledge.topic(batch["topic"]), batch["partition"]), exchange.refused
    for topic, partition in partitions_in(exchange.response, knowledge, "responses"):
        yield (topic, partition["index"]), partition["error_code"]


def fetch_errors(exchange: Exchange, knowledge: Knowledge) -> Iterator[tuple[Place, int]]:
    """The error code of each partition in the answer to a Fetch request; 0 for none."""
    for topic, partition in partitions_in(exchange.response, knowledge, "responses"):
        yield (topic, partition["partition_index"]), partition["error_code"]


def data_errors(exchange: Exchange, knowledge: Knowledge) -> Iterator[tuple[Place, int]]:
    """The error code of each partition in the answer to a Produce or Fetch request."""
    read = produce_errors if exchange.api == "Produce" else fetch_errors
    return read(exchange, knowledge)


def fetched_places(exchange: Exchange, knowledge: Knowledge) -> Iterator[tuple[Place, int]]:
    """The partitions that a Fetch request names, each with its offset."""
    for topic, partition in partitions_in(exchange.fields, knowledge):
        yield (topic, partition["partition"]), partition["fetch_offset"]


def places(exchange: Exchange, knowledge: Knowledge) -> set[Place]:
    """The partitions that a Produce or Fetch request names."""
    if exchange.api == "Fetch":
        return {place for place, _ in fetched_places(exchange, knowledge)}
    return {
        (knowledge.topic(each["topic"]), each["partition"])
        for each in structs(exchange.fields, "batches")
    }


def error_codes(exchange: Exchange) -> set[int]:
    """Every error code in the answer to a request."""
    found = set(codes_in(exchange.response))
    if exchange.refused:
        found.add(exchange.refused)
    return found


def transactional_id(exchange: Exchange) -> str:
    """The transactional id that a request names; empty for none."""
    fields = _of_transaction(exchange.fields)
    found = fields.get("transactional_id") or fields.get("v3_and_below_transactional_id")
    return str(found or "")


def producer_of(exchange: Exchange) -> tuple[int, int]:
    """Producer id and epoch of a request of a transaction; -1 for none."""
    fields = _of_transaction(exchange.fields)
    if "v3_and_below_producer_id" in fields:
        return fields["v3_and_below_producer_id"], fields["v3_and_below_producer_epoch"]
    return fields.get("producer_id", -1), fields.get("producer_epoch", -1)


def _of_transaction(fields: Fields) -> Fields:
    """AddPartitionsToTxn has a list of transactions since version 4, and a client sends one."""
    return next(structs(fields, "transactions"), fields)

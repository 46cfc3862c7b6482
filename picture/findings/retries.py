"""Findings: what a producer sent again without idempotence, and what it did not send again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ...protocol.errors import code_name
from ...trace.events import Fields
from ...trace.messages import structs
from ...trace.phrases import few
from .seen import (
    EFFECT,
    MEANINGS,
    Call,
    Finding,
    Partition,
    Seen,
    place_of,
    places_in,
    said,
    stored_by,
    times,
)

STORED_TWICE: Final = 0
GIVEN_UP: Final = 0
_RETRIABLE: Final = frozenset({
    "KAFKA_STORAGE_ERROR", "LEADER_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT",
    "UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION",
})  # fmt: skip
"""What a Produce is refused with and sent again for (Kafka's RetriableException)."""


def stored_twice(seen: Seen) -> Iterator[Finding]:
    """A batch that a producer without idempotence sent again, as its answer did not come."""
    lost: dict[tuple[Partition, int], tuple[Call, int]] = {}
    for call in seen.of("Produce"):
        offsets = {place: first for place, first, _ in stored_by(call, seen.names)}
        for batch in structs(call.exchange.fields, "batches"):
            place, crc = place_of(batch, seen.names), batch.get("crc")
            if batch.get("producer_id") != -1 or crc is None or place not in offsets:
                continue
            before = lost.get((place, crc))
            if before is not None:
                yield Finding(
                    STORED_TWICE, call.seq,
                    f"{said(place)} has the same batch twice, at {before[1]} and {offsets[place]}:"
                    f" {before[0].client} got no answer to its Produce #{before[0].seq} and sent it"
                    " again, without idempotence (no producer id: enable.idempotence is off)",
                    EFFECT,
                )  # fmt: skip
            if not call.exchange.is_answered:
                lost[place, crc] = call, offsets[place]


def given_up(seen: Seen) -> Iterator[Finding]:
    """Producers that did not send records again after an error that asks for it."""
    refused: dict[tuple[str, str], list[Call]] = {}
    unsent: dict[tuple[str, str], int] = {}  # the first request whose records never came again
    sent = Counter((call.client, each) for call, batch in _batches(seen)
                   for each in _marks(batch, seen))  # fmt: skip
    last = {(call.client, place_of(batch, seen.names)): call.seq for call, batch in _batches(seen)}
    accepted: dict[str, int] = {}
    for call in seen.of("Produce"):
        codes = _codes(call, seen)
        if call.exchange.is_answered and not codes:
            accepted[call.client] = call.seq
        for code in _RETRIABLE.intersection(codes.values()):
            refused.setdefault((call.client, code), []).append(call)
        for batch in structs(call.exchange.fields, "batches"):
            place, marks = place_of(batch, seen.names), [*_marks(batch, seen)]
            code = codes.get(place, "")
            # A client sends what it tries again before what comes later in the partition.
            is_over = last[call.client, place] > call.exchange.answer_seq
            is_once = bool(marks) and all(sent[call.client, each] == 1 for each in marks)
            if code in _RETRIABLE and is_over and is_once:
                unsent.setdefault((call.client, code), call.seq)
    for (client, code), seq in unsent.items():
        calls = refused[client, code]
        seen.told.update(call.seq for call in calls)
        was_accepted = accepted.get(client, 0) > calls[-1].seq
        later = "" if was_accepted else f", and no later Produce of {client} was accepted"
        why = f" ({MEANINGS[code]})" if code in MEANINGS else ""
        yield Finding(
            GIVEN_UP, seq,
            f"{client} did not send refused records again, so its retries are off (retries=0) or"
            f" their time was over: its Produce was refused{times(len(calls))} with {code}{why},"
            f" an error to retry ({few(f'#{each.seq}' for each in calls)}){later}",
        )  # fmt: skip


def _batches(seen: Seen) -> Iterator[tuple[Call, Fields]]:
    """The batches of all Produces."""
    for call in seen.of("Produce"):
        for batch in structs(call.exchange.fields, "batches"):
            yield call, batch


def _marks(batch: Fields, seen: Seen) -> Iterator[tuple[object, ...]]:
    """By what a batch is known again, also if its records come in another one.

    Returns:
        Nothing if it could be sent again unnoticed: the trace has no records, and it no sequence.
    """
    place, records = place_of(batch, seen.names), structs(batch, "first_records")
    producer_id = batch.get("producer_id", -1)
    first = next(iter(records), None)
    if first is not None:
        yield place, "record", str(first.get("key")), str(first.get("value"))
    if producer_id != -1:
        yield (
            place,
            "sequence",
            producer_id,
            batch.get("producer_epoch"),
            batch.get("base_sequence"),
        )
    if (first is not None or producer_id != -1) and batch.get("crc") is not None:
        yield place, "crc", batch["crc"]


def _codes(call: Call, seen: Seen) -> dict[Partition, str]:
    """The errors of a Produce by partition."""
    exchange = call.exchange
    if exchange.answer is not None and exchange.answer.error:
        return {place_of(each, seen.names): exchange.answer.error
                for each in structs(exchange.fields, "batches")}  # fmt: skip
    return {
        place: code_name(each["error_code"])
        for place, each in places_in(
            exchange.response, seen.names, "responses", "partition_responses"
        )
        if each.get("error_code")
    }

"""The timeline of a violation: what the application and the broker did, and where it went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ...trace.events import Event, Fault, Fields, MarkerAppended, OffsetsMaterialized
from ...trace.exchanges import Exchange, exchanges
from ...trace.messages import Names, structs, topic_names
from ...trace.view import line_of
from .checks import Place, Violation
from .run import Told
from .watch import copy_of

MOST_LINES: Final = 40
_APIS: Final = frozenset(
    {
        "Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit",
        "EndTxn", "OffsetCommit", "LeaveGroup", "ShareAcknowledge",
    }
)  # fmt: skip
_STEP: Final = "step"


class Line(NamedTuple):
    """A line.

    Attributes:
        style: `told`, `fault`, `error` or empty.
        weight: lines of greater weight stay when there are too many.
    """

    text: str
    style: str
    weight: int


def timeline(
    events: Sequence[Event], story: Sequence[Told], violation: Violation, *, most: int = MOST_LINES
) -> list[Line]:
    """The lines that explain a violation.

    Args:
        most: at most so many lines.
    """
    names = topic_names(events)
    rows: list[tuple[int, Line]] = [(each.seq, _told(each)) for each in story]
    for exchange in exchanges(events):
        if copy_of(exchange.request):
            notes = list(_notes(exchange, violation, names))
            if notes or exchange.api in _APIS:
                rows.append((exchange.seq, _show(exchange, names, notes)))
    rows.sort(key=lambda row: row[0])
    return _shortened([line for _, line in rows], most)


def _told(told: Told) -> Line:
    weight = 3 if told.text.startswith(_STEP) else 2
    return Line(f"{'':6} == {told.text}", "told", weight)


def _show(exchange: Exchange, names: Names, notes: Sequence[str]) -> Line:
    told = Exchange(exchange.request)
    if exchange.answer is not None:
        told.set_answer(exchange.answer)
    told.changes = [each for each in exchange.changes if isinstance(each, _CHANGES)]
    text, style = line_of(told, names, f"copy {copy_of(exchange.request)}")
    weight = 3 if notes else 1 if exchange.api in ("EndTxn", "InitProducerId") or style else 0
    return Line(text + "".join(f"  <-- {note}" for note in notes), style, weight)


_CHANGES: Final = (Fault, MarkerAppended, OffsetsMaterialized)


def _notes(exchange: Exchange, violation: Violation, names: Names) -> Iterator[str]:
    """What a request has to do with the records of a violation."""
    for place in violation.input[:1]:
        if exchange.api == "Fetch":
            if any(_holds(batch, place, names) for batch in structs(exchange.response, "batches")):
                yield f"reads {place}"
        elif exchange.api in ("ShareFetch", "ShareAcknowledge"):
            yield from _of_share_group(exchange, place, names)
        elif exchange.api in ("TxnOffsetCommit", "OffsetCommit"):
            for offset in _committed(exchange, place, names):
                if offset > place.offset:
                    yield f"commits offset {offset}, beyond {place}"
    if exchange.api == "Produce":
        for place in violation.output:
            if _is_written(exchange, place, names):
                yield f"writes {place}"


def _of_share_group(exchange: Exchange, place: Place, names: Names) -> Iterator[str]:
    """Whether a request acknowledges a record, and whether its answer brings it."""
    for partition in _partitions_of(exchange.fields, "topics", place, names):
        for each in structs(partition, "acknowledgement_batches"):
            if each["first_offset"] <= place.offset <= each["last_offset"]:
                yield f"acknowledges {place}"
    for partition in _partitions_of(exchange.response, "responses", place, names):
        for each in structs(partition, "acquired_records"):
            if each["first_offset"] <= place.offset <= each["last_offset"]:
                yield f"acquires {place}"


def _partitions_of(
    fields: Fields | None, name: str, place: Place, names: Names
) -> Iterator[Fields]:
    for topic in structs(fields, name):
        if _is_topic(topic, place, names):
            for each in structs(topic, "partitions"):
                if each.get("partition_index") == place.partition:
                    yield each


def _is_topic(fields: Fields, place: Place, names: Names) -> bool:
    given = [str(fields[name]) for name in ("name", "topic", "topic_id") if fields.get(name)]
    return any(names.get(each, each) == place.topic for each in given)


def _holds(batch: Fields, place: Place, names: Names) -> bool:
    return (
        "base_offset" in batch
        and _is_topic(batch, place, names)
        and batch["partition"] == place.partition
        and batch["base_offset"] <= place.offset <= batch["last_offset"]
    )


def _committed(exchange: Exchange, place: Place, names: Names) -> Iterator[int]:
    for topic in structs(exchange.fields, "topics"):
        if _is_topic(topic, place, names):
            for each in structs(topic, "partitions"):
                if each.get("partition_index") == place.partition:
                    yield int(each["committed_offset"])


def _is_written(exchange: Exchange, place: Place, names: Names) -> bool:
    counts = {
        each["partition"]: each["records"]
        for each in structs(exchange.fields, "batches")
        if _is_topic(each, place, names) and "records" in each
    }
    for topic in structs(exchange.response, "responses"):
        if not _is_topic(topic, place, names):
            continue
        for each in structs(topic, "partition_responses"):
            base, count = each.get("base_offset", -1), counts.get(each.get("index"), 0)
            if each.get("index") == place.partition and base <= place.offset < base + count:
                return True
    return False


def _shortened(lines: Sequence[Line], most: int) -> list[Line]:
    """The lines of the greatest weight, with a mark where others were."""
    kept: set[int] = set()
    for weight in (3, 2, 1, 0):
        of_weight = [at for at, line in enumerate(lines) if line.weight == weight]
        # The ends tell more than the middle: how it begins, and where it went wrong.
        of_weight.sort(key=lambda at: -at)
        kept.update(of_weight[: max(0, most - len(kept))])
    found: list[Line] = []
    left_out = 0
    for at, line in enumerate(lines):
        if at in kept:
            if left_out:
                found.append(Line(f"{'':6} ... {left_out} more", "", 0))
            found.append(line)
            left_out = 0
        else:
            left_out += 1
    return found

"""Findings: where readers begin, what they skip, and records of no committed transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...protocol.errors import Code
from ...trace.messages import structs
from .seen import BEFORE, Call, Finding, Partition, Seen, place_of, places_in, said

UNCOMMITTED: Final = 1
SKIPS: Final = 1
DELETED: Final = 3
_READ_UNCOMMITTED: Final = 0
_LATEST: Final = -1
_RESETS: Final = {_LATEST: "latest", -2: "earliest"}


def uncommitted(seen: Seen) -> Iterator[Finding]:
    """Reads with read_uncommitted that got records of aborted or open transactions."""
    told = set()
    for call in seen.of("Fetch"):
        if call.exchange.fields.get("isolation_level") != _READ_UNCOMMITTED:
            continue
        for batch in structs(call.exchange.response, "batches"):
            if not batch.get("is_transactional") or batch.get("is_control"):
                continue
            place, first = place_of(batch, seen.names), batch.get("base_offset", -1)
            for each in seen.written.get(place, ()):
                found = each.transaction
                if (
                    found is None
                    or found.outcome == "commit"
                    or not each.first <= first <= each.last
                ):
                    continue
                if (call.client, place, found.number) not in told:
                    told.add((call.client, place, found.number))
                    fate = "was aborted" if found.outcome == "abort" else "is open"
                    yield Finding(
                        UNCOMMITTED, call.seq,
                        f"{call.client} reads {said(place)} with isolation.level=read_uncommitted,"
                        f" and gets {_range(each.first, each.last)} of T{found.number}"
                        f" ({found.transactional_id}), which {fate}",
                    )  # fmt: skip


def _range(first: int, last: int) -> str:
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


class _Listed(NamedTuple):
    """What ListOffsets has told: the timestamp that was asked for, and its offset."""

    seq: int
    timestamp: int
    offset: int

    @property
    def reset(self) -> str:
        """The value of auto.offset.reset by which a client asks so."""
        return _RESETS.get(self.timestamp, "by_duration")


class _Reader:
    """What is known of a client's reads of a partition.

    Attributes:
        listed: the last offset that ListOffsets has told; None before that.
        refused: the Fetch with OFFSET_OUT_OF_RANGE before; None without one.
        refused_at: the offset that it asked for; -1 for none.
        has_none: whether OffsetFetch told that no offset is committed.
    """

    def __init__(self) -> None:
        self.listed: _Listed | None = None
        self.refused: Call | None = None
        self.refused_at = -1
        self.has_none = False
        self.is_new = True


def beginnings(seen: Seen) -> Iterator[Finding]:
    """Readers that begin, or go on, at the end of a log which has records before."""
    readers: dict[tuple[str, Partition], _Reader] = {}
    starts: dict[Partition, int] = {}
    for call in seen.of("Fetch", "ListOffsets", "OffsetFetch", "DeleteRecords"):
        exchange = call.exchange
        match exchange.api:
            case "DeleteRecords":
                for place, each in places_in(exchange.response, seen.names):
                    starts[place] = max(starts.get(place, 0), each.get("low_watermark", 0))
            case "OffsetFetch":
                for place, none in _committed(call, seen):
                    readers.setdefault((call.client, place), _Reader()).has_none = none
            case "ListOffsets":
                asked = {
                    place: each.get("timestamp")
                    for place, each in places_in(exchange.fields, seen.names)
                }
                for place, each in places_in(exchange.response, seen.names):
                    timestamp = asked.get(place)
                    if isinstance(timestamp, int):
                        reader = readers.setdefault((call.client, place), _Reader())
                        reader.listed = _Listed(call.seq, timestamp, each.get("offset", -1))
            case _:
                yield from _begin(call, seen, readers, starts)


def _committed(call: Call, seen: Seen) -> Iterator[tuple[Partition, bool]]:
    """Partitions, and whether they have no committed offset."""
    response = call.exchange.response or {}
    for group in [*structs(response, "groups")] or [response]:
        for place, each in places_in(group, seen.names):
            yield place, each.get("committed_offset") == -1


def _begin(
    call: Call, seen: Seen, readers: dict[tuple[str, Partition], _Reader],
    starts: dict[Partition, int],
) -> Iterator[Finding]:  # fmt: skip
    """What a Fetch says of its client; the ListOffsets before it shows why it begins there."""
    for place, each in places_in(call.exchange.fields, seen.names):
        reader = readers.setdefault((call.client, place), _Reader())
        offset = each.get("fetch_offset", -1)
        listed = reader.listed if reader.listed and reader.listed.offset == offset else None
        if reader.refused is not None and offset != reader.refused_at:
            start = max(starts.get(place, 0), min(reader.refused_at, offset))
            skipped = f", and skips {_range(start, offset - 1)}" if offset > start else ""
            says = "its auto.offset.reset says" if listed is None else (
                f"auto.offset.reset={listed.reset} says (#{listed.seq})"
            )  # fmt: skip
            seen.told.add(reader.refused.seq)
            yield Finding(
                SKIPS, listed.seq if listed else call.seq,
                f"{call.client} asked {said(place)} for offset {reader.refused_at}, which the log"
                f" does not have (OFFSET_OUT_OF_RANGE, #{reader.refused.seq}). It goes on at"
                f" {offset}, as {says}{skipped}",
            )  # fmt: skip
            reader.refused = None
        elif reader.is_new and 0 < offset > starts.get(place, 0) and _is_end(listed):
            assert listed is not None
            none = "has no committed offset and " if reader.has_none else ""
            yield Finding(
                SKIPS, listed.seq,
                f"{call.client} {none}begins {said(place)} at its end, offset {offset}"
                " (auto.offset.reset=latest): it does not read what was written before",
            )  # fmt: skip
        reader.is_new = False
    for place, each in places_in(call.exchange.response, seen.names, "responses"):
        if each.get("error_code") == Code.OFFSET_OUT_OF_RANGE:
            asked = dict(places_in(call.exchange.fields, seen.names)).get(place, {})
            reader = readers.setdefault((call.client, place), _Reader())
            reader.refused, reader.refused_at = call, asked.get("fetch_offset", -1)
            reader.listed = None


def _is_end(listed: _Listed | None) -> bool:
    return listed is not None and listed.timestamp == _LATEST


def deleted(seen: Seen) -> Iterator[Finding]:
    """What DeleteRecords has cut off."""
    for call in seen.of("DeleteRecords"):
        for place, each in places_in(call.exchange.response, seen.names):
            if not each.get("error_code"):
                yield Finding(
                    DELETED, call.seq,
                    f"{call.client} deleted the records of {said(place)} before offset"
                    f" {each.get('low_watermark')} (DeleteRecords)", BEFORE,
                )  # fmt: skip

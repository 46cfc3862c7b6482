"""A trace in the JSON format of Perfetto and of Chrome's tracing, for ui.perfetto.dev.

Requests are slices of their client. Those of one client that overlap are in tracks of their own,
since slices of a track may only be in each other. States, and open transactions in partitions, are
slices of their lane; faults, markers and steps of the clock are moments; arcs are flows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Final

from ..trace.events import Event, fields_of
from ..trace.exchanges import Exchange
from ..trace.messages import topic_names
from ..trace.owners import client_of
from .copies import arcs_of
from .groups import Groups
from .lanes import CLIENT, GROUP, PARTITION, TRANSACTION, Lane
from .rows import ABORT, CLOCK, COMMIT, FAULT, Row, Rows, requests_of, told_in
from .transactions import Transactions
from .usual_errors import note_usual_errors

Line = dict[str, Any]
_PROCESSES: Final = {CLIENT: 1, TRANSACTION: 2, GROUP: 3, PARTITION: 4}
_NAMES: Final = ("clients", "transactional ids", "groups", "partitions")
_MOMENTS: Final = {
    FAULT: "fault", COMMIT: "commit marker", ABORT: "abort marker", CLOCK: "clock",
}  # fmt: skip
SHORTEST_US: Final = 1


def perfetto_of(events: Iterable[Event]) -> Line:
    """The object of the file.

    Args:
        events: of the whole trace.

    Returns:
        `traceEvents` with times in microseconds, as the format wants them.
    """
    whole = list(events)
    names = topic_names(whole)
    rows = Rows(names).add_all(whole)
    note_usual_errors(rows)
    transactions, groups = Transactions(whole), Groups()
    transactions.add_all(rows)
    groups.add_all(rows)
    tracks = _Tracks()
    places: dict[int, Line] = {}
    found: list[Line] = []
    for number, exchange in requests_of(rows):
        places[number] = _slice_of(rows, number, exchange, tracks)
        found.append(places[number])
    for band in [*transactions.bands, *groups.bands]:
        if band.lane.kind in _PROCESSES:
            at_us = _us(rows[band.first])
            until_us = max(_us(rows[band.last]), at_us + SHORTEST_US)
            place = tracks.of(band.lane, at_us, until_us)
            found.append(
                {"ph": "X", "name": band.label, "ts": at_us, "dur": until_us - at_us, **place}
            )
    found += _moments(rows, places)
    for number, arc in enumerate(arcs_of(rows, names), 1):
        found += _flow(number, arc.kind, places.get(arc.first), places.get(arc.last))
    return {"traceEvents": [*tracks.names(), *found], "displayTimeUnit": "ms"}


class _Tracks:
    """Gives each lane a track, and a further one to what overlaps in it."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Lane, int], int] = {}
        self._ends_us: dict[Lane, list[int]] = defaultdict(list)
        # Numbers of tracks by lane: taken, with the ends of their last slices, and free again.
        self._taken: dict[Lane, list[tuple[int, int]]] = defaultdict(list)
        self._free: dict[Lane, list[int]] = defaultdict(list)

    def of(self, lane: Lane, at_us: int, until_us: int) -> Line:
        """The process and thread, as the format calls them, of a slice."""
        slot = self._slot(lane, at_us)
        self._ends_us[lane][slot] = until_us
        heappush(self._taken[lane], (until_us, slot))
        number = self._numbers.setdefault((lane, slot), len(self._numbers) + 1)
        return {"pid": _PROCESSES[lane.kind], "tid": number}

    def _slot(self, lane: Lane, at_us: int) -> int:
        """The first track of a lane that is free at a time, which may be before the last one's."""
        ends, taken, free = self._ends_us[lane], self._taken[lane], self._free[lane]
        while taken and taken[0][0] <= at_us:
            heappush(free, heappop(taken)[1])
        while free:
            slot = heappop(free)
            if ends[slot] <= at_us:
                return slot
            heappush(taken, (ends[slot], slot))
        ends.append(0)
        return len(ends) - 1

    def names(self) -> Iterator[Line]:
        """The events that name the tracks."""
        for pid, name in enumerate(_NAMES, 1):
            yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for (lane, slot), number in self._numbers.items():
            name = f"{lane.name} ({slot + 1})" if slot else lane.name
            place = {"pid": _PROCESSES[lane.kind], "tid": number}
            yield {"ph": "M", "name": "thread_name", **place, "args": {"name": name}}


def _us(row: Row) -> int:
    return row.event.at_ms * 1000


def _slice_of(rows: Sequence[Row], number: int, exchange: Exchange, tracks: _Tracks) -> Line:
    row = rows[number]
    is_error = row.is_trouble or told_in(rows, number).is_trouble
    answer = exchange.answer
    took_us = max((answer.took_us or 0) if answer is not None else 0, SHORTEST_US)
    at_us = _us(row)
    lane = Lane(CLIENT, client_of(exchange.request))
    arguments = {"seq": exchange.seq, "says": row.text, "request": exchange.fields}
    if exchange.response is not None:
        arguments["answer"] = exchange.response
    return {
        "ph": "X", "name": exchange.api, "cat": "error" if is_error else "request",
        "ts": at_us, "dur": took_us, **tracks.of(lane, at_us, at_us + took_us), "args": arguments,
    }  # fmt: skip


def _moments(rows: Sequence[Row], places: dict[int, Line]) -> Iterator[Line]:
    """Faults, markers and steps of the clock, in the track of their request or for all."""
    for row in rows:
        if row.mark not in _MOMENTS:
            continue
        line: Line = {
            "ph": "i", "name": row.text, "cat": _MOMENTS[row.mark], "ts": _us(row),
            "args": fields_of(row.event),
        }  # fmt: skip
        request = places.get(row.request_row)
        if request is None:
            yield line | {"s": "g", "pid": 1, "tid": 0}
        else:
            yield line | {"s": "t", "pid": request["pid"], "tid": request["tid"]}


def _flow(number: int, kind: str, first: Line | None, last: Line | None) -> Iterator[Line]:
    """An arrow from one slice to another."""
    if first is None or last is None:
        return
    for phase, at in (("s", first), ("f", last)):
        line: Line = {"ph": phase, "id": number, "name": kind, "cat": "records", "ts": at["ts"]}
        yield line | {"pid": at["pid"], "tid": at["tid"]} | ({"bp": "e"} if phase == "f" else {})

"""The transactions of a trace in lanes: a column for each transactional id, time going down.

A row is a request with its answer (`EndTxn commit -> ok`), a new state (`= PrepareCommit`), a
marker (`* commit in orders-0`) or a fault (`! drop_answer`). If other rows come between, the answer
has a row of its own (`-> ok (EndTxn)`). Time that passes without a row is shown as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .events import Answer, Decision, Event, Fault, MarkerAppended, Request
from .exchanges import Exchanges
from .messages import Names, topic_names
from .owners import ids_of_producers, transactional_id_of
from .view import answered, asked_in, start_of

GAP_MS: Final = 1000
NARROWEST: Final = 16
_TIME: Final = 22  # the width of the column of times
_BETWEEN: Final = 2
_UNITS: Final = (("h", 3_600_000), ("min", 60_000))


class Row(NamedTuple):
    """What happened to a transactional id."""

    event: Event
    transactional_id: str
    text: str


def lanes(events: Iterable[Event], width: int | None = None) -> Iterator[str]:
    """The lines.

    Args:
        width: of the terminal, to which cells are cut; None: nothing is cut.
    """
    rows = list(_rows(list(events)))
    ids = list(dict.fromkeys(row.transactional_id for row in rows))
    columns = _width(rows, ids, width)
    yield _laid_out("", dict(zip(ids, ids, strict=True)), ids, columns)
    before_ms: int | None = None
    for row in rows:
        at_ms = row.event.at_ms
        if before_ms is not None and at_ms - before_ms >= GAP_MS:
            gap = f"{'':7}{'. ' + _span(at_ms - before_ms):{_TIME - 7}}"
            yield _laid_out(gap, {}, ids, columns, empty=".")
        before_ms = at_ms
        yield _laid_out(start_of(row.event), {row.transactional_id: row.text}, ids, columns)


def _span(span_ms: int) -> str:
    for unit, size_ms in _UNITS:
        if span_ms >= size_ms:
            return f"{span_ms / size_ms:.1f} {unit}"
    return f"{span_ms / 1000:.1f} s"


def _width(rows: Sequence[Row], ids: Sequence[str], width: int | None) -> int:
    """The width of a column, with the space behind it."""
    longest = max([NARROWEST, *(len(row.text) for row in rows), *map(len, ids)]) + _BETWEEN
    if width is None or not ids:
        return longest
    return min(longest, max(NARROWEST, (width - _TIME) // len(ids)))


def _laid_out(
    time: str, cells: Mapping[str, str], ids: Sequence[str], width: int, *, empty: str = "|"
) -> str:
    columns = [_cut(cells.get(each, empty), width - _BETWEEN) for each in ids]
    return (f"{time:{_TIME}}" + "".join(f"{each:{width}}" for each in columns)).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _rows(events: list[Event]) -> Iterator[Row]:
    """The rows in their order; an answer that follows its request at once shares its row."""
    names = topic_names(events)
    producers = ids_of_producers(events)
    together = Exchanges()
    owners: dict[int, str] = {}  # the transactional ids of requests that wait
    last: tuple[int, Row] | None = None  # a request that may get its answer, with its number
    for event in events:
        exchange = together.add(event)
        if isinstance(event, Answer):
            owner = owners.pop(event.cause, None)
            if exchange is None or owner is None:
                continue
            fate = answered(exchange, names)
            if last is not None and last[0] == exchange.seq:
                yield last[1]._replace(text=f"{last[1].text} -> {fate}")
                last = None
                continue
            found = [Row(event, owner, f"-> {fate} ({exchange.api})")]
        else:
            found = list(_of_event(event, names, producers, owners))
        if found and last is not None:
            yield last[1]
            last = None
        if isinstance(event, Request) and len(found) == 1:
            owners[event.seq] = found[0].transactional_id
            last = event.seq, found[0]
        else:
            yield from found
    if last is not None:
        yield last[1]


def _of_event(
    event: Event, names: Names, producers: Mapping[int, str], owners: Mapping[int, str]
) -> Iterator[Row]:
    """The rows of an event that is no answer."""
    if isinstance(event, Request):
        yield from _of_request(event, names, producers)
    elif isinstance(event, Decision):
        for record in event.transactions:
            yield Row(event, record["transactional_id"], f"= {record['after']}")
    elif isinstance(event, MarkerAppended):
        owner = producers.get(event.producer.get("producer_id", -1))
        if owner is not None:
            what = "commit" if event.commit else "abort"
            yield Row(event, owner, f"* {what} in {event.topic}-{event.partition}")
    elif isinstance(event, Fault) and event.cause in owners:
        yield Row(event, owners[event.cause], f"! {event.action['kind']}")


def _of_request(event: Request, names: Names, producers: Mapping[int, str]) -> Iterator[Row]:
    request = event.fields
    if event.api == "WriteTxnMarkers":
        for marker in request.get("markers") or ():
            if isinstance(marker, dict) and marker.get("producer_id") in producers:
                what = "commit" if marker.get("transaction_result") else "abort"
                yield Row(event, producers[marker["producer_id"]], f"WriteTxnMarkers {what}")
        return
    owner = transactional_id_of(event)
    if owner is not None:
        said = asked_in(event, names).removeprefix(owner).strip()
        yield Row(event, owner, f"{event.api} {said}".rstrip())

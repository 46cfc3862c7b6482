"""Makes what the page draws: columns of rows, lanes, bands of states, transactions and arcs.

The page only draws: everything that has to understand events is here. All values are JSON, with
columns in place of objects, because a page may have 100,000 events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..trace.events import NO_FIELDS, Event
from ..trace.exchanges import Exchange
from ..trace.fetched import fetched
from ..trace.messages import Names, structs, topic_name, topic_names
from ..trace.rows import places
from .copies import arcs_of
from .failure import said_by
from .findings.find import findings_of
from .findings.seen import Finding
from .groups import Groups
from .lanes import CLIENT, Lane, Lanes, Places, indexes, log_of
from .rows import Row, Rows, api_and_client, requests_of
from .transactions import Transactions
from .usual_errors import note_usual_errors

Model = dict[str, Any]
VERSION: Final = 1
MOST_EVENTS: Final = 100_000
"""A page has at most so many events: the last ones."""
MOST_OFFSETS: Final = 20
"""The ranges of offsets by which a row is found."""
_WITH_OFFSETS: Final = {
    "Produce": ("responses", "partition_responses"),
    "DeleteRecords": ("topics", "partitions"),
}
_COMMITS: Final = frozenset({"OffsetCommit", "TxnOffsetCommit"})
# A name may have dots, and a sentence may end with it.
_AS_WORD: Final = r"(?<![\w.-]){}(?![\w-]|\.\w)"


def model_of(
    events: Iterable[Event], *, title: str, failure: str | None = None, most: int = MOST_EVENTS
) -> Model:
    """What the page draws of a trace.

    Args:
        events: of the whole trace.
        title: the page's.
        failure: the text of a failed assertion, for the head of the page.
        most: of the events are drawn, the last ones.

    Returns:
        Values of JSON alone; `web/shared/model.ts` describes them.
    """
    whole = list(events)
    shown = whole[-most:]
    names = topic_names(whole)
    rows = Rows(names).add_all(shown)
    transactions = Transactions(whole)
    transactions.add_all(rows)
    groups = Groups()
    groups.add_all(rows)
    usual = note_usual_errors(rows)
    findings = findings_of(rows, names, transactions, told_by=failure)
    lanes = Lanes()
    columns = _columns(rows, lanes, Places(whole, names), names)
    columns["transaction"] = [transactions.of_rows.get(number, 0) for number in range(len(rows))]
    return {
        "version": VERSION,
        "title": title,
        "failure": failure,
        "total": len(whole),
        "left_out": len(whole) - len(shown),
        "start_ms": shown[0].at_ms if shown else 0,
        "findings": [[each.seq, each.text, each.is_likely_cause] for each in findings],
        "named": _named_clients(lanes, findings),
        "said": said_by(failure),
        "usual": usual,
        "earlier": _earlier(rows, names),
        "rows": columns,
        "transactions": [
            [each.transactional_id, each.first, each.last, each.outcome, each.began_before]
            for each in transactions.all
        ],
        "bands": [
            [lanes.number(each.lane), *each[1:]] for each in [*transactions.bands, *groups.bands]
        ],
        "arcs": list(map(list, arcs_of(rows, names))),
        "lanes": list(map(list, lanes.all)),
    }


def _columns(rows: Sequence[Row], lanes: Lanes, of_events: Places, names: Names) -> Model:
    """A list for each field of the rows."""
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            "seq", "last", "events", "at", "mark", "text", "error", "lanes", "api", "client",
            "request", "answer", "errors", "topics", "offsets",
        )
    }  # fmt: skip
    start_ms = rows[0].event.at_ms if rows else 0
    for row in rows:
        api, client = api_and_client(row)
        values = {
            "seq": row.event.seq, "last": row.last_seq, "events": row.count,
            "at": row.event.at_ms - start_ms, "mark": row.mark, "text": row.text,
            "error": int(row.is_trouble),
            "lanes": _numbers(row, rows, lanes, of_events),
            "api": api, "client": client, "request": row.request_row, "answer": row.answer_row,
            "errors": row.errors, "topics": _topics(row, names),
            "offsets": _offsets(row, lanes, names),
        }  # fmt: skip
        for name, value in values.items():
            found[name].append(value)
    return found


def _named_clients(lanes: Lanes, findings: Iterable[Finding]) -> list[int]:
    """The lanes of the clients that findings name, which are never folded."""
    texts = [each.text for each in findings]
    return [
        number
        for number, lane in enumerate(lanes.all)
        if lane.kind == CLIENT
        and any(
            lane.name in text and re.search(_AS_WORD.format(re.escape(lane.name)), text)
            for text in texts
        )
    ]


def _numbers(row: Row, rows: Sequence[Row], lanes: Lanes, of_events: Places) -> list[int]:
    """The numbers of the lanes of a row."""
    if row.exchange is not None:
        found = of_events.of_exchange(row.exchange)
    else:
        request = None if row.request_row < 0 else rows[row.request_row].request
        found = of_events.of(row.event, request)
    return [lanes.number(lane) for lane in dict.fromkeys(found)]


def _topics(row: Row, names: Names) -> list[str]:
    """The topics that the request of a row names, by which it is found."""
    if row.exchange is None:
        return []
    found = places(row.exchange.fields, names)
    return list(dict.fromkeys(topic for topic, _ in found))[:MOST_OFFSETS]


def _offsets(row: Row, lanes: Lanes, names: Names) -> list[list[int]]:
    """Lane, first and last offset of what a row reads, writes or commits."""
    exchange = row.exchange
    if exchange is None:
        return []
    found = [*_of_batches(exchange, names), *_of_partitions(exchange, names)]
    return [[lanes.number(lane), first, last] for lane, first, last in found[:MOST_OFFSETS]]


def _earlier(rows: Sequence[Row], names: Names) -> dict[int, list[int]]:
    """The offsets of each batch of a Fetch's answer before the one that was asked for.

    Returns:
        By the row of the request, only if there are any; negative for a batch with gaps, of which
        the first records may be any of its.
    """
    found = {}
    for number, exchange in requests_of(rows):
        if exchange.api == "Fetch":
            batches = fetched(exchange.fields, exchange.response, names)
            counts = [-each.earlier if each.has_gaps else each.earlier for each in batches]
            if any(counts):
                found[number] = counts
    return found


def _of_batches(exchange: Exchange, names: Names) -> Iterable[tuple[Lane, int, int]]:
    for each in fetched(exchange.fields, exchange.response, names):
        yield log_of(*each.place), each.first, each.last


def _of_partitions(exchange: Exchange, names: Names) -> Iterable[tuple[Lane, int, int]]:
    if exchange.api in _COMMITS:
        for topic in structs(exchange.fields, "topics"):
            for each in structs(topic, "partitions"):
                lane = log_of(topic_name(topic, names), each.get("partition_index", -1))
                yield lane, each.get("committed_offset", -1), each.get("committed_offset", -1)
        return
    topics, partitions = _WITH_OFFSETS.get(exchange.api, ("", ""))
    for topic in structs(exchange.response or NO_FIELDS, topics):
        for each in structs(topic, partitions):
            first = each.get("base_offset", each.get("low_watermark", -1))
            for index in indexes({"one": [each]}, "one"):
                lane = log_of(topic_name(topic, names), index)
                count = _records_in(exchange.fields, topic_name(topic, names), index, names)
                if isinstance(first, int) and first >= 0:
                    yield lane, first, first + max(count, 1) - 1


def _records_in(request: Mapping[str, Any], topic: str, partition: int, names: Names) -> int:
    """The number of records of a Produce for a partition."""
    return sum(
        each.get("records", 0)
        for each in structs(request, "batches")
        if names.get(str(each.get("topic")), each.get("topic")) == topic
        and each.get("partition") == partition
    )

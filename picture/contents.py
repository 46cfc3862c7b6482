"""What the first records of a request or an answer have, in a few words for its row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ..trace.events import Fields
from ..trace.fetched import fetched
from ..trace.messages import Names, structs

MOST_SHOWN: Final = 2
MOST_CHARACTERS: Final = 30
"""Of a key or a value; the fields of the event have more."""


def produced_content(request: Fields) -> str:
    """The first keys and values of a Produce, such as `“a broom”, “k”=“v”`; empty if unknown."""
    return _first(
        record
        for batch in structs(request, "batches")
        for record in structs(batch, "first_records")
    )


def fetched_content(request: Fields, response: Fields | None, names: Names) -> str:
    """The first keys and values of an answer to Fetch, from the offset that was asked for.

    A trace has no offsets of the records of a batch. So of a batch with gaps that begins earlier
    none is shown.
    """
    return _first(
        record
        for each in fetched(request, response, names)
        if not (each.earlier and each.has_gaps)
        for record in islice(structs(each.batch, "first_records"), each.earlier, None)
    )


def _first(records: Iterator[Fields]) -> str:
    """The first of some records, and whether there are more."""
    told = [_told(record) for record in islice(records, MOST_SHOWN + 1)]
    shown = ", ".join(told[:MOST_SHOWN])
    return f"{shown}, …" if len(told) > MOST_SHOWN else shown


def _told(record: Fields) -> str:
    key, value = record.get("key"), _cut(record.get("value"))
    return value if key is None else f"{_cut(key)}={value}"


def _cut(value: object) -> str:
    if value is None:
        return "null"
    text = " ".join(str(value).split())
    return f"“{text}”" if len(text) <= MOST_CHARACTERS else f"“{text[:MOST_CHARACTERS]}…”"

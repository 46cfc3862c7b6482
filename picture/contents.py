"""What the first records of a request or an answer have, in a few words for its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..trace.events import Fields
from ..trace.messages import structs

MOST_SHOWN: Final = 2
MOST_CHARACTERS: Final = 30
"""Of a key or a value; the fields of the event have more."""


def content_of(fields: Fields | None) -> str:
    """The first keys and values, such as `“a broom”, “k”=“v”`; empty if none is known."""
    told = list(_records(fields))
    shown = ", ".join(told[:MOST_SHOWN])
    return f"{shown}, …" if len(told) > MOST_SHOWN else shown


def _records(fields: Fields | None) -> Iterator[str]:
    for batch in structs(fields, "batches"):
        for record in structs(batch, "first_records"):
            key, value = record.get("key"), _cut(record.get("value"))
            yield value if key is None else f"{_cut(key)}={value}"


def _cut(value: object) -> str:
    if value is None:
        return "null"
    text = " ".join(str(value).split())
    return f"“{text}”" if len(text) <= MOST_CHARACTERS else f"“{text[:MOST_CHARACTERS]}…”"

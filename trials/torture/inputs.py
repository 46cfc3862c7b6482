"""The records of the input: committed ones with unique values, and aborted ones between them."""

from __future__ import annotations

from typing import NamedTuple

from ...testing.data import RowFields
from .schedule import Data


class InputBatch(NamedTuple):
    """Records that are produced together.

    Attributes:
        is_aborted: they are in a transaction that is aborted.
    """

    rows: list[RowFields]
    is_aborted: bool = False


def portions_of(data: Data) -> list[list[InputBatch]]:
    """The batches of each portion; aborted ones are before or behind the committed ones."""
    aborted = [_row("aborted", number, data) for number in range(data.aborted)]
    records = [_row("record", number, data) for number in range(data.records)]
    found = []
    for portion in range(data.portions):
        begin = portion * data.records // data.portions
        end = (portion + 1) * data.records // data.portions
        mine = aborted[portion :: data.portions]
        batches = [
            InputBatch(mine[::2], is_aborted=True),
            InputBatch(records[begin:end]),
            InputBatch(mine[1::2], is_aborted=True),
        ]
        found.append([each for each in batches if each.rows])
    return found


def late_records(data: Data) -> list[InputBatch]:
    """One more record for each partition: who has left some out goes past them now."""
    return [InputBatch([_row("late", number, data) for number in range(data.partitions)])]


def _row(name: str, number: int, data: Data) -> RowFields:
    return {
        "key": f"{name}-key-{number}",
        "value": f"{name}-{number}",
        "partition": number % data.partitions,
    }

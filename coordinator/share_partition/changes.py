"""Changes of records that wait for the share coordinator."""

from __future__ import annotations

from typing import NamedTuple

from ..share_state.states import StateBatch
from ..volatile import Volatile
from .states import DeadLetterReason, RecordState


class Changed(NamedTuple):
    """A range of records that a change has taken to one state."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int
    reason: DeadLetterReason | None = None


class Change(Volatile):
    """Records that go to a new state as soon as the share coordinator has stored it.

    Attributes:
        parts: in the order in which they were made.
        is_final: whether the records have their new state already, stored or not.
    """

    __slots__ = ("is_final", "parts")

    def __init__(self, *, is_final: bool = False) -> None:
        self.parts: list[Changed] = []
        self.is_final = is_final

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def record_count(self) -> int:
        """How many records it changes."""
        return sum(part.last_offset - part.first_offset + 1 for part in self.parts)

    def state_batches(self) -> list[StateBatch]:
        """What the share coordinator stores: by offset, neighbours that are alike as one."""
        batches: list[StateBatch] = []
        for part in sorted(self.parts):
            state, count = int(part.state), part.delivery_count
            if batches:
                last = batches[-1]
                if (last.last_offset + 1, last.delivery_state, last.delivery_count) == (
                    part.first_offset, state, count,
                ):  # fmt: skip
                    batches[-1] = last._replace(last_offset=part.last_offset)
                    continue
            batches.append(StateBatch(part.first_offset, part.last_offset, state, count))
        return batches

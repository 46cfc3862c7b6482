"""Makes and encodes the records of a large decision in slices, before their one append.

A decision is one batch of a log. Making and encoding 10,000 records takes 50 to 150 ms, their
append and replay about 10 ms. The caller checks before the append that the state of the decision
has not changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome
from ....metadata.records import MetadataRecord, encode_all
from ....protocol.batch import Framed
from ....protocol.errors import Refused
from ...scheduling.turns import Turns
from .machines import Machine
from .shard import Shard

M = TypeVar("M", bound=Machine)
Reply = TypeVar("Reply")
Change = TypeVar("Change")
Results = TypeVar("Results")
Change_contra = TypeVar("Change_contra", contravariant=True)
Results_co = TypeVar("Results_co", covariant=True)

LARGE: Final = 200
"""Larger decisions of coordinators are encoded ahead; so many take about 1 ms."""
ATTEMPTS: Final = 3
"""Decisions in slices before one is made at once: other requests may change the state each time."""


class Decision(Protocol[Change_contra, Results_co]):
    """A decision of the metadata on many changes, which it gets one by one."""

    @property
    def results(self) -> Results_co:
        """The results for clients so far."""

    @property
    def is_outdated(self) -> bool:
        """Whether its state has changed since it began."""

    def add(self, change: Change_contra, /) -> None:
        """Decide on a change."""

    def records(self) -> Iterable[MetadataRecord]:
        """The records of the valid changes so far."""


async def decide_ahead(
    begin: Callable[[], Decision[Change, Results]], changes: Sequence[Change], turns: Turns
) -> tuple[Results, Sequence[MetadataRecord], Framed | None]:
    """Decide on all changes in slices, on one state.

    Args:
        begin: a new decision.
        turns: of the request.

    Returns:
        The results, the records, and their encoding if it was made ahead.
    """
    for _ in range(ATTEMPTS):
        decision = begin()
        async for change in turns.each(changes):
            decision.add(change)
        if decision.is_outdated:
            continue
        records, framed = await encode_ahead(decision.records(), turns)
        if not decision.is_outdated:
            return decision.results, records, framed
    # Other requests change the state all the time: decide without a pause.
    decision = begin()
    for change in changes:
        decision.add(change)
    return decision.results, [*decision.records()], None


async def encode_ahead(
    records: Iterable[MetadataRecord], turns: Turns
) -> tuple[list[MetadataRecord], Framed]:
    """The records, and their encoding.

    Args:
        records: may be made one by one, from values that do not change.
        turns: of the request.
    """
    made, framed = list[MetadataRecord](), Framed()
    async for record, value in turns.each(encode_all(records)):
        made.append(record)
        framed.add((None, value))
    return made, framed


async def frame_ahead(shard: Shard[M], records: Iterable[object], turns: Turns) -> Framed:
    """The encoding of a coordinator's records, for `Outcome.framed`."""
    framed = Framed()
    async for record in turns.each(records):
        framed.add(shard.encode(record))
    return framed


async def run_in_slices(
    shard: Shard[M], decide: Callable[[M, Moment], Outcome[Reply]], turns: Turns
) -> Reply:
    """`Shard.run` for a decision of many records, which are encoded in slices before it.

    Args:
        decide: changes nothing. It is called twice: the second outcome counts. If its records
            differ from those of the first, they are encoded at once.

    Raises:
        Refused: nothing has changed.
    """
    try:
        records = shard.foreseen(decide).records
    except Refused:
        return await shard.run(decide)  # refused again, or decided on a state that is loaded now
    framed = await frame_ahead(shard, records, turns)
    await turns.pause()

    def again(machine: M, now: Moment) -> Outcome[Reply]:
        outcome = decide(machine, now)
        return outcome._replace(framed=framed) if outcome.records == records else outcome

    return await shard.run(again)

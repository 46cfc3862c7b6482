"""Makes and encodes the records of a large decision in slices, before their one append.

A decision is one batch of a log. Making and encoding 10,000 records takes 50 to 150 ms, their
append and replay about 10 ms. The caller checks before the append that the state of the decision
has not changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ...coordinator.moment import Moment
from ...coordinator.outcome import Outcome
from ...metadata.records import MetadataRecord, encode_all
from ...protocol.batch import Framed
from ...protocol.errors import Refused
from ..scheduling.turns import Turns
from .machines import Machine
from .shard import Shard

M = TypeVar("M", bound=Machine)
Reply = TypeVar("Reply")

LARGE: Final = 200
"""Larger decisions of coordinators are encoded ahead; so many take about 1 ms."""
ATTEMPTS: Final = 3
"""Decisions in slices before one is made at once: other requests may change the state each time."""


async def encoded_ahead(
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


async def framed_ahead(shard: Shard[M], records: Iterable[object], turns: Turns) -> Framed:
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
    framed = await framed_ahead(shard, records, turns)
    await turns.pause()

    def again(machine: M, now: Moment) -> Outcome[Reply]:
        outcome = decide(machine, now)
        return outcome._replace(framed=framed) if outcome.records == records else outcome

    return await shard.run(again)

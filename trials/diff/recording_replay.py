"""Sends the requests of a report or of a trace to both sides, in their order."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...console.options import CannotRun
from .before import Side, known_before, notes_on
from .comparison import Known, compared
from .exchanges import Exchanger, Gone, Translations
from .ids import Ids, Translation
from .journal import Journal
from .messages import Request
from .mirror_run import Compared, MirrorPlan, both_sides, facts_of
from .recorded import Recorded, Recording, of_report, of_trace
from .sides import KAFKA, OTTLA, SideConnection
from .waits import WAITING, WAITS, Wait, limit_ms

_ALONE_S: Final = 1.0
_PATIENCE_S: Final = 30.0
_NOTHING: Final = Known(frozenset(), set())


def run_report(plan: MirrorPlan, path: Path) -> Compared:
    """Send the requests of a report. Raises CannotRun."""
    return _run(plan, of_report(path), ("replayed", f"the report {path.name}"))


def run_trace(plan: MirrorPlan, path: Path) -> Compared:
    """Send the requests of a trace. Raises CannotRun."""
    return _run(plan, of_trace(path), ("replayed", f"the trace {path.name}"))


def _run(plan: MirrorPlan, recording: Recording, row: tuple[str, str]) -> Compared:
    if not recording.requests:
        why = "; ".join(recording.left_out) or "it is empty"
        raise CannotRun(f"diff: there is no request to send again: {why}")
    journal = Journal()
    with both_sides(plan, journal) as sides:
        for note in notes_on(sides):
            journal.note(note)
        for why, times in recording.left_out.items():
            journal.notes[f"Not sent: {why}"] = times
        asyncio.run(_Replay(sides, journal).run(recording.requests))
        facts = facts_of(sides, plan._replace(answering=KAFKA), [row])
    return Compared(journal, facts)


def alone_s(request: Request) -> float:
    """For how long a request that may wait is sent alone, in seconds.

    A Fetch with a short limit ends by itself. On slow machines it takes longer than its limit: with
    the next request beside it, one side could answer with the records of a later Produce.
    """
    ends_soon = WAITS[request.api] is Wait.RECORDS and limit_ms(request) / 1000 < _ALONE_S
    return _PATIENCE_S if ends_soon else _ALONE_S


class _Replay:
    """The part that needs an event loop."""

    def __init__(self, sides: tuple[Side, Side], journal: Journal) -> None:
        addresses = (sides[0].address, sides[1].address)
        self._exchanger = Exchanger(addresses, Ids(), known_before(sides), journal)
        self._ids = (Ids(), Ids())  # of a side and of the recording
        ours, theirs = (Translation(each.to_left, lambda _, value: value) for each in self._ids)
        self._translations: Translations = (ours, theirs)
        self._connections: dict[int, list[SideConnection]] = {}
        self._waiting: dict[int, asyncio.Task[None]] = {}

    async def run(self, requests: list[Recorded]) -> None:
        try:
            for recorded in requests:
                before = self._waiting.pop(recorded.connection, None)
                if before is not None:
                    await before
                task = asyncio.create_task(self._send(recorded))
                if recorded.request.api in WAITING:
                    # It may wait for the requests of others that come later.
                    await asyncio.wait({task}, timeout=alone_s(recorded.request))
                    self._waiting[recorded.connection] = task
                else:
                    await task
            for task in self._waiting.values():
                await task
        finally:
            for task in self._waiting.values():
                task.cancel()
            self._exchanger.close()
            for sides in self._connections.values():
                for side in sides:
                    side.close()

    async def _send(self, recorded: Recorded) -> None:
        number, request = recorded.connection, recorded.request
        sides = self._connections.setdefault(number, self._exchanger.connections())
        outcomes = None
        with suppress(Gone):
            outcomes = await self._exchanger.exchange(
                number, sides, request, self._translations, asyncio.Event()
            )
        if outcomes is None or recorded.answer is None:
            return
        for side in (OTTLA, KAFKA):
            answer = outcomes[side].answer
            if answer is not None:  # the pairs of ids count, and not what differs
                compared(request, (answer, recorded.answer), self._ids[side], _NOTHING)

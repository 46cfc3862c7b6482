"""A request to both sides: sent in one order, asked again where a side is not ready, compared.

The order of requests is the same on both sides: the next one goes out when both have answered,
except for requests that wait for others (`WAITING` in `waits.py`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any, Final
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.requests import request_frame
from .comparison import FieldDifference, Known, compared, errors_of, is_fetch
from .fetched import Fetched
from .ids import Ids, Translation
from .journal import ComparedRequest, Journal, names_in
from .messages import Fields, Request, read_request, with_correlation_id
from .rules import SETTLING, TRANSIENT
from .share_fetches import ShareFetches
from .sides import KAFKA, OTTLA, SILENT, Address, SideConnection, SideOutcome
from .waits import SURE_S, WAITING, WAITS, Wait, different_moments, limit_ms

Outcomes = tuple[SideOutcome, SideOutcome]
Translations = tuple[Translation | None, Translation | None]
Connections = Sequence[SideConnection]
Times = tuple[float, float]
Timed = asyncio.Task[tuple[SideOutcome, float]]

_PAUSE_S: Final = 0.05
_READY_S: Final = 6.0
_SETTLED_S: Final = 1.0
_LEAST_SETTLED_S: Final = 0.1
_PREPARED: Final = frozenset({"PrepareCommit", "PrepareAbort"})


class Gone(Exception):
    """The client has gone while a request waited."""


class Exchanger:
    """Sends requests to both sides and compares what they do.

    Args:
        translations: of a client's requests, for Ottla and for Kafka; None: the client has the ids
            of that side.
        later_s: how much later than the other a side may answer.
        neither_s: how long both sides may take, in addition to the limit of a request.
        acquired_s: how long a side is asked for the records that the other has acquired.
    """

    def __init__(
        self,
        addresses: tuple[Address, Address],
        ids: Ids,
        known: Known,
        journal: Journal,
        *,
        later_s: float = 15.0,
        neither_s: float = 60.0,
        acquired_s: float = 3.0,
    ) -> None:
        self.addresses = addresses
        self.ids = ids
        self.journal = journal
        self._known = known
        self._later_s = later_s
        self._neither_s = neither_s
        self._moments: Counter[tuple[str, ...]] = Counter()
        self._fetched = Fetched(ids)
        self._share_fetches = ShareFetches(ids, acquired_s)
        self._order = asyncio.Lock()
        self._settled_s = _SETTLED_S
        self._observers = [SideConnection(address) for address in addresses]
        self.written: set[str | UUID] = set()
        self.groups: set[str] = set()
        self.transactional_ids: set[str] = set()

    def connections(self) -> list[SideConnection]:
        """New connections to both sides, of one client's connection."""
        return [SideConnection(address) for address in self.addresses]

    def close(self) -> None:
        """Close the connections of its own."""
        for each in self._observers:
            each.close()

    async def exchange(
        self,
        connection: int,
        connections: Connections,
        request: Request,
        translations: Translations,
        gone: asyncio.Event,
        *,
        settles: bool = False,
    ) -> Outcomes | None:
        """Send a request to both sides; None if it has no answer.

        Args:
            connection: its number.
            gone: set when the client has closed its connection.
            settles: it reads a state that is final as soon as both sides know it.

        Raises:
            Gone: it was set before the answers.
        """
        waits = request.api in WAITING and not settles
        async with self._order:
            number = self.journal.number()
            self._known.asked.update(n for n in names_in(request.fields) if isinstance(n, str))
            translated = [
                request.frame if each is None else each.of(request) for each in translations
            ]
            frames = self._share_fetches.frames(request, translated)
            for side, frame in zip(connections, frames, strict=True):
                await side.send(frame)  # what could not be sent has no answer
            if not request.has_answer:
                return None
            if not waits:
                outcomes, after_s = await self._receive(connections, request, frames, gone)
                ready = await self._ready(connections, request, frames, outcomes)
                await self._after(request, ready)
        if waits:
            outcomes, after_s = await self._receive(connections, request, frames, gone)
            ready = await self._share_fetches.complete(request, connections, frames, outcomes)
            if WAITS[request.api] is Wait.MEMBERS:
                ready = await self._ready(connections, request, frames, outcomes)
        moments = self._different_moments(request, outcomes, after_s) if ready == outcomes else []
        outcomes = ready
        found = self._differences(request, outcomes, is_final=settles)
        settles = settles or request.api in SETTLING
        if found and settles and not self.journal.is_known(request, found):
            outcomes, found = await self._settle(connections, request, frames, outcomes)
        # A recorded request has the ids of neither side; a report has those of Kafka then.
        asked = request if None in translations else read_request(frames[KAFKA])
        self.journal.add(ComparedRequest(number, connection, asked, outcomes), found + moments)
        return outcomes

    async def _receive(
        self, connections: Connections, request: Request, frames: list[bytes], gone: asyncio.Event
    ) -> tuple[Outcomes, Times]:
        """Both answers, and the time that each took. Raises Gone.

        A side that is much later than the other counts as silent, and so do both after a minute
        more than the request allows.
        """
        tasks = [asyncio.create_task(_time(each.receive(request))) for each in connections]
        left = asyncio.create_task(gone.wait())
        wait_for_client = request.api in WAITING
        limit_s = limit_ms(request) / 1000
        ready_s = asyncio.get_running_loop().time() + _READY_S
        try:
            while True:
                first = [*tasks, left] if wait_for_client else tasks
                await asyncio.wait(
                    first,
                    timeout=self._neither_s + limit_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if wait_for_client and left.done() and not all(task.done() for task in tasks):
                    raise Gone
                if asyncio.get_running_loop().time() > ready_s:
                    break
                if not await self._asks_again(connections, request, frames, tasks):
                    break
            if any(task.done() for task in tasks):
                later_s = self._later_s + (request.fields or {}).get("max_wait_ms", 0) / 1000
                await asyncio.wait(tasks, timeout=later_s)
        finally:
            left.cancel()
            for task, side in zip(tasks, connections, strict=True):
                if not task.done():
                    task.cancel()
                    side.close()
        results = [task.result() if task.done() else (SILENT, 0.0) for task in tasks]
        (ours, ours_s), (theirs, theirs_s) = results
        return (ours, theirs), (ours_s, theirs_s)

    async def _asks_again(
        self, connections: Connections, request: Request, frames: list[bytes], tasks: list[Timed]
    ) -> bool:
        """Whether a side is asked again that is not ready, while the other waits for members."""
        done = [side for side in (OTTLA, KAFKA) if tasks[side].done()]
        if WAITS.get(request.api) is not Wait.MEMBERS or len(done) != 1:
            return False
        (side,) = done
        answer = tasks[side].result()[0].answer
        codes = set(errors_of(answer)) & TRANSIENT if answer is not None else set()
        if not codes:
            return False
        await asyncio.wait([tasks[1 - side]], timeout=_PAUSE_S)
        if tasks[1 - side].done():
            return False
        self._note_again(side, request, codes)
        tasks[side] = asyncio.create_task(_time(connections[side].ask(request, frames[side])))
        return True

    def _note_again(self, side: int, request: Request, codes: set[str]) -> None:
        name = self.journal.names[side]
        self.journal.note(f"{name} was asked again: {request.api}, {', '.join(sorted(codes))}")

    def _different_moments(
        self, request: Request, outcomes: Outcomes, after_s: Times
    ) -> list[FieldDifference]:
        """The difference if both sides say the same at different moments.

        A short one may be a pause of one broker: the first is a note.
        """
        answers = [each.answer for each in outcomes if each.answer is not None]
        if len(answers) < 2 or set(errors_of(answers[0])) != set(errors_of(answers[1])):
            return []
        texts = different_moments(request, after_s)
        if texts is None:
            return []
        self._moments[request.api, *texts] += 1
        if abs(after_s[0] - after_s[1]) < SURE_S and self._moments[request.api, *texts] == 1:
            ours, theirs = self.journal.names
            said = f"{ours} answered {texts[0]}, {theirs} {texts[1]}"
            self.journal.note(f"{request.api}: {said}; it counts if it comes again")
            return []
        return [FieldDifference("(moment)", "(moment)", *texts)]

    def _differences(
        self, request: Request, outcomes: Outcomes, *, is_final: bool = False
    ) -> list[FieldDifference]:
        ours, theirs = (each.answer for each in outcomes)
        if ours is None or theirs is None:
            if ours is theirs and outcomes[0].ended == outcomes[1].ended:
                return []
            texts = [each.ended or "answers" for each in outcomes]
            return [FieldDifference("(answer)", "(answer)", *texts)]
        if is_fetch(request) and ours.fields is not None and theirs.fields is not None:
            return self._fetched.compared(request, (ours, theirs), is_final=is_final)
        if request.api_key is ApiKey.SHARE_FETCH:
            ours, theirs = self._share_fetches.comparable((ours, theirs))
        return compared(request, (ours, theirs), self.ids, self._known)

    async def _ready(
        self,
        connections: Connections,
        request: Request,
        frames: list[bytes],
        outcomes: Outcomes,
    ) -> Outcomes:
        """The answers of both sides after none alone says that it is not ready."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + _READY_S
        both = list(outcomes)
        while loop.time() < end_s and request.api != "Heartbeat":
            side = _not_ready(request, both)
            if side is None:
                break
            codes = set(errors_of(both[side].answer)) & TRANSIENT  # type: ignore[arg-type]  # it has one
            self._note_again(side, request, codes)
            await asyncio.sleep(_PAUSE_S)
            both[side] = await connections[side].ask(request, frames[side])
        return both[OTTLA], both[KAFKA]

    async def _settle(
        self,
        connections: Connections,
        request: Request,
        frames: list[bytes],
        outcomes: Outcomes,
    ) -> tuple[Outcomes, list[FieldDifference]]:
        """The answers after both sides agree, or after a while."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._settled_s
        found = self._differences(request, outcomes, is_final=True)
        while found and loop.time() < end_s:
            if None in (each.answer for each in outcomes):
                break
            await asyncio.sleep(_PAUSE_S)
            asked = [c.ask(request, f) for c, f in zip(connections, frames, strict=True)]
            ours, theirs = await asyncio.gather(*asked)
            outcomes = ours, theirs
            found = self._differences(request, outcomes, is_final=True)
            if not found:
                self.journal.note(f"{request.api}: the sides agreed when they were asked again")
                break
        else:  # real differences often come together
            self._settled_s = max(self._settled_s / 2, _LEAST_SETTLED_S)
        return outcomes, found

    async def _after(self, request: Request, outcomes: Outcomes) -> None:
        """Wait for what a request leaves to do, so that the next ones find both sides alike."""
        fields = request.fields
        if fields is None:  # it could not be read
            return
        if request.api_key is ApiKey.PRODUCE:
            self._remember(fields)
        if request.api_key is ApiKey.DELETE_TOPICS:  # a name may come again, with other records
            self._fetched.forget()
        if request.api in ("OffsetCommit", "TxnOffsetCommit"):
            self.groups.add(fields["group_id"])
        if request.api_key is not ApiKey.END_TXN or not fields.get("transactional_id"):
            return
        if any("NONE" not in errors_of(each.answer) for each in outcomes if each.answer):
            return
        self.transactional_ids.add(fields["transactional_id"])
        # Kafka answers before the markers are in the logs, and gives them the next free offsets.
        body = {"transactional_ids": [fields["transactional_id"]]}
        frame = bytes(request_frame(ApiKey.DESCRIBE_TRANSACTIONS, 0, 1, "ottla-diff", body))[4:]
        describe = read_request(frame)
        loop = asyncio.get_running_loop()
        end_s = loop.time() + _READY_S
        for side in self._observers:
            while loop.time() < end_s:
                found = await side.ask(describe, with_correlation_id(frame, 1))
                states = ((found.answer and found.answer.fields) or {}).get(
                    "transaction_states", []
                )
                if not any(each["transaction_state"] in _PREPARED for each in states):
                    break
                await asyncio.sleep(_PAUSE_S / 10)

    def _remember(self, fields: Fields) -> None:
        for topic in fields.get("topic_data", ()):
            name = topic.get("name")
            if name:
                self.written.add(name)
            elif topic.get("topic_id"):
                self.written.add(topic["topic_id"])


async def _time(receiving: Coroutine[Any, Any, SideOutcome]) -> tuple[SideOutcome, float]:
    """An answer, and the time that it took."""
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    return await receiving, loop.time() - begun_s


def _not_ready(request: Request, outcomes: list[SideOutcome]) -> int | None:
    """The side that alone has an error that passes; None for none, or if not all has failed."""
    answers = [each.answer for each in outcomes]
    if answers[0] is None or answers[1] is None:
        return None
    codes = [errors_of(each) for each in answers if each is not None]
    if request.api == "Produce" and any("NONE" in each and set(each) & TRANSIENT for each in codes):
        return None
    for side in (OTTLA, KAFKA):
        if set(codes[side]) & TRANSIENT - set(codes[1 - side]):
            return side
    return None

"""Matches names of topics and transactional ids with regular expressions, in a thread.

A short expression may need 15 ms for one name, and there are thousands of names. RE2 releases the
interpreter's lock while it matches. One thread works at a time, so that the other is left for
requests; the jobs take turns, a piece each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from ....coordinator.consumer.kind import ConsumerKind
from ....coordinator.consumer.regexes import Found, MatchTopics, matching
from ....protocol.errors import Refused
from ...log_output import Log
from ...scheduling.turns import Turns

if TYPE_CHECKING:
    from ....coordinator.groups import Groups
    from ....coordinator.moment import Moment
    from ....coordinator.outcome import Effect, Outcome
    from ...scheduling.workers import Workers
    from .shard import Shard

PIECE_S: Final = 0.01
"""The time that a job works before another one may."""
_log = Log("groups")


class NameMatching:
    """The matching of all nodes of a process.

    Args:
        workers: the threads.
        now_s: measures the pieces; other threads call it.
    """

    def __init__(self, workers: Workers, now_s: Callable[[], float]) -> None:
        self._workers = workers
        self._now_s = now_s
        self._turn = asyncio.Lock()  # is fair
        self._tasks: set[asyncio.Task[None]] = set()

    async def matched(self, regexes: Collection[str], names: Collection[str]) -> Found:
        """The names that match as a whole, by regular expression."""
        job = matching(regexes, names)
        while True:
            async with self._turn:
                found = await self._workers.run(partial(_piece, job, self._now_s))
            if found is not None:
                return found

    def carry_out(self, shard: Shard[Groups], effect: Effect) -> None:
        """Match the topics of a group; then its coordinator decides. Raises TypeError."""
        if not isinstance(effect, MatchTopics):
            raise TypeError(f"unknown effect {effect!r}")
        going = self._match(shard, effect)
        task = asyncio.get_running_loop().create_task(going, name="matching of topics")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Decide nothing any more."""
        for task in self._tasks:
            task.cancel()

    async def _match(self, shard: Shard[Groups], order: MatchTopics) -> None:
        names, may_see = order.names, order.may_see
        found: Found = {}
        try:
            if may_see is not None:
                names = [name async for name in Turns().each(order.names) if may_see(name)]
            found = await self.matched(order.regexes, names)
        except Exception as fault:  # no memory, no thread: the next heartbeat begins again
            _log.error("topics are not matched", group=order.group_id, exc_info=fault)

        def decide(machine: Groups, now: Moment) -> Outcome[None]:
            return machine.kind(ConsumerKind).matched(order, found, now=now)

        with suppress(Refused):  # another node coordinates, or the log takes nothing
            shard.run_now(decide)


def _piece(job: Generator[None, None, Found], now_s: Callable[[], float]) -> Found | None:
    """Work for a while: what is found at the end, or None before it."""
    until_s = now_s() + PIECE_S
    try:
        while True:
            next(job)
            if now_s() >= until_s:
                return None
    except StopIteration as ended:
        found: Found = ended.value
        return found

"""What the parts of a lab share: its rules, its trace, and the requests that run on their own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from ...broker.requests.handler import Body
from ...trace.events import Fault, RuleAdded, RuleRemoved
from ..rules.rule import RuleSpec, shown
from ..rules.rule_table import ActiveRule, Faults
from ..tracing.trace import Tracer

if TYPE_CHECKING:
    from ...broker.clock import Clock
    from ...broker.event_stream import Events


class LabState:
    """The state of a lab.

    Args:
        events: of the cluster.
        clock: the time.

    Attributes:
        faults: the rules.
        tracer: the trace.
        frame: the request that is being dispatched.
        kills: how often each node was killed.
    """

    def __init__(self, events: Events, clock: Clock) -> None:
        self.faults = Faults()
        self.tracer = Tracer(events, clock)
        self._clock = clock
        self.frame: memoryview | None = None
        self._tasks: dict[asyncio.Task[Body | None], int] = {}
        self.kills: Counter[int] = Counter()

    def traced(self, rule: ActiveRule, cause: int = 0, node_id: int | None = None) -> None:
        """Note in the trace that a rule acts."""
        action = shown(rule.spec)["action"]
        name = rule.spec.name
        self.tracer.add(
            Fault(
                cause=cause, id=rule.number, name=name, action=action, node_id=node_id,
                added_by=rule.spec.added_by or None, added_at_ms=rule.added_at_ms,
            )
        )  # fmt: skip

    def add_rule(self, spec: RuleSpec) -> ActiveRule:
        """Add a checked rule, and note it in the trace. Raises WrongRule if there are too many."""
        rule = self.faults.add(spec, self._clock.monotonic_ms())
        rule.added_at_ms = self._clock.now_ms()
        given = shown(spec)
        self.tracer.add(
            RuleAdded(
                id=rule.number, name=spec.name, match=given.get("match", {}),
                action=given["action"], added_by=spec.added_by,
            )
        )  # fmt: skip
        return rule

    def remove_rule(self, number: int) -> ActiveRule:
        """Remove a rule, and note it in the trace. Raises KeyError."""
        rule = self.faults.remove(number)
        self.tracer.add(RuleRemoved(id=number, fired=rule.shown()["fired"]))
        return rule

    def clear_rules(self) -> int:
        """Remove all rules, and note them in the trace; return their number."""
        removed = [RuleRemoved(id=each.number, fired=each.shown()["fired"]) for each in self.faults]
        count = self.faults.clear()
        for event in removed:
            self.tracer.add(event)
        return count

    def node_killed(self, node_id: int) -> None:
        """End what a node still did for clients that are gone: it is dead."""
        self.kills[node_id] += 1
        for task, its_node_id in self._tasks.items():
            if its_node_id == node_id:
                task.cancel()

    def run(
        self, node_id: int, running: Coroutine[object, None, Body | None]
    ) -> asyncio.Task[Body | None]:
        """Run a request to its end, whether its connection is still there or not."""
        task = asyncio.get_running_loop().create_task(running)
        self._tasks[task] = node_id
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Body | None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # is the client's, which may be gone

    async def close(self) -> None:
        """Let all go, because the broker stops: held requests end without an answer."""
        self.faults.clear(ends=True)
        self.tracer.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

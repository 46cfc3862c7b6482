"""The control socket's lines for a lab: `clock`, `advance MS [WHO]` and `given JSON`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ...broker.node_orders import WrongOrder

if TYPE_CHECKING:
    from ...broker.net.sockets import NodeSockets
    from ...broker.node import Node
    from ..manual_clock import ManualClock

MOST_ADVANCE_MS: Final = 100 * 365 * 86_400_000  # a hundred years


class LabOrders:
    """Carries out lines about the clock and given states.

    Args:
        served: the nodes and their sockets.
    """

    def __init__(self, served: Mapping[Node, NodeSockets]) -> None:
        self._cluster = next(iter(served)).cluster
        clock = self._cluster.clock
        self._clock: ManualClock | None = None
        if clock.live is not clock:  # without the import, a start is faster
            self._clock = cast("ManualClock", clock)
        if self._clock is not None:
            self._clock.is_busy = lambda: self._cluster.is_busy

    async def carry_out(self, line: str) -> str | None:
        """Carry out a line; return its result, or None if it is no order of the lab.

        Raises:
            WrongOrder: it cannot be carried out.
        """
        name, _, rest = line.strip().partition(" ")
        match name:
            case "clock" if not rest:
                return str(self._cluster.clock.now_ms())
            case "advance":
                return str(await self._advance(rest.strip()))
            case "given":
                return json.dumps(await self._give(rest))
        return None

    def now_ms(self) -> int:
        """The wall time of the broker."""
        return self._cluster.clock.now_ms()

    async def _give(self, text: str) -> dict[str, Any]:
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        return await self.give(given)

    async def give(self, given: object) -> dict[str, Any]:
        """Give the broker a state; return what it has made. Raises WrongOrder.

        Args:
            given: a JSON object with `state` and its parameters.
        """
        if not isinstance(given, dict) or not isinstance(given.get("state"), str):
            raise WrongOrder('given: a JSON object was expected, as {"state": NAME, ...}')
        from ..given.given import give  # here, because it imports msgspec

        parameters = {name: value for name, value in given.items() if name != "state"}
        return await give(self._cluster, given["state"], **parameters)

    async def _advance(self, text: str) -> int:
        number, _, who = text.partition(" ")
        try:
            wait_ms = int(number)
        except ValueError:
            wait_ms = MOST_ADVANCE_MS + 1
        return await self.advance(wait_ms, who.strip())

    async def advance(self, wait_ms: int, moved_by: str = "") -> int:
        """Let time pass; return the new wall time. Raises WrongOrder.

        Args:
            moved_by: who does it, for the trace; empty if that is not said.
        """
        if abs(wait_ms) > MOST_ADVANCE_MS:
            raise WrongOrder("advance: a number of milliseconds was expected, at most 100 years")
        if self._clock is None:
            raise WrongOrder(
                "time goes by the machine's clock: start with --clock manual, or mark the test with"
                ' @pytest.mark.ottla(clock="manual")'
            )
        if self._clock.now_ms() + wait_ms < 0:
            raise WrongOrder("advance: the wall clock cannot be set back before 1970")
        # A step back becomes a jump of the wall clock, which its watch reports.
        if wait_ms > 0 and self._cluster.events.tell is not None:
            from ...broker.events import ClockAdvanced

            self._cluster.events.tell(ClockAdvanced(wait_ms, moved_by or None))
        await self._clock.advance_ms(wait_ms)
        return self._clock.now_ms()

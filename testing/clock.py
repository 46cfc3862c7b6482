"""The clock of a broker, as tests use it: `broker.clock`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_S: Final = 300.0  # of real time, for an advance


class Clock:
    """The clock of a broker, by which its timeouts, sessions, retention and expiry go.

    With `Ottla(clock="manual")` time stands still, except through `advance`.

    Args:
        order: sends a line to the broker's control, `Ottla.order`.
        on_advance: gets the wall time after each `advance`.
    """

    def __init__(self, order: Callable[..., str], on_advance: Callable[[int], None]) -> None:
        self._order = order
        self._on_advance = on_advance

    def now_ms(self) -> int:
        """The broker's wall time, in milliseconds since 1970."""
        return int(self._order("clock"))

    def advance(
        self, *, ms: int = 0, seconds: float = 0, minutes: float = 0, hours: float = 0,
        days: float = 0,
    ) -> int:  # fmt: skip
        """Let time pass; return the new wall time when all that became due has happened.

        A negative time sets the wall clock back; nothing becomes due. Raises BrokerFailed if the
        broker's time goes by the machine's clock.
        """
        in_hours = hours + 24 * days
        wait_ms = ms + round(1000 * (seconds + 60 * (minutes + 60 * in_hours)))
        from .lab import caller  # here, because it imports the client of HTTP

        who = " ".join(caller().split())  # an order is one line
        now_ms = int(self._order(f"advance {wait_ms} {who}".rstrip(), timeout_s=_LONGEST_S))
        self._on_advance(now_ms)
        return now_ms

"""Limits the rate of new connections of a node, in total and per listener.

Follows Kafka's ConnectionQuotas: above `max.connection.creation.rate` a connection waits until the
rate is low enough, at most one sample of the window, and later ones of its listener wait behind it.
The setting may change at any time; that does not change the wait of a connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..clock import Clock, Timer
from ..log_output import Log
from ..runtime.quotas.quota_rates import Rate, Window
from ..settings.config import BrokerConfig
from .connection import Connection

RATE: Final = "max.connection.creation.rate"
WAITING_AT_MOST: Final = 1000
_UNLIMITED: Final = 0x7FFFFFFF
_log = Log("server")


class CreationRates:
    """Holds new connections back while the rate is too high.

    Args:
        config: the limits, read at each new connection.
        clock: the time.
        admit: called with listener and connection once the connection may go on.
    """

    def __init__(
        self, config: BrokerConfig, clock: Clock, admit: Callable[[str, Connection], None]
    ) -> None:
        self._config = config
        self._clock = clock
        self._admit = admit
        self._window = Window(
            config["quota.window.num"], config["quota.window.size.seconds"] * 1000
        )
        self._rate = Rate(self._window)
        self._rates: dict[str, Rate] = {}
        self._waiting: dict[str, dict[Connection, None]] = {}  # by listener, in order of arrival
        self._turns: dict[str, Timer] = {}  # for the first one of each listener

    def holds(self, listener: str, connection: Connection) -> bool:
        """Whether a new connection is held back; it is admitted later, or closed if too many are.

        Args:
            listener: the name of the listener that accepted it.
        """
        waiting = self._waiting.get(listener, {})
        if not waiting and listener not in self._turns:
            wait_ms = self._wait_ms(listener)
            if wait_ms == 0:
                return False
            self._set_turn(listener, wait_ms)
        if len(waiting) >= WAITING_AT_MOST:
            info = connection.info
            if info.may_complain("refused connections"):
                _log.info(
                    "connection refused", connection=info.id, reason="too many connections wait"
                )
            connection.end()
            return True
        self._waiting.setdefault(listener, waiting)[connection] = None
        connection.hold()
        return True

    def gone(self, connection: Connection) -> None:
        """Remove a connection, which has ended."""
        for waiting in self._waiting.values():
            waiting.pop(connection, None)

    def stop(self) -> None:
        """Admit no further connections."""
        for turn in self._turns.values():
            turn.cancel()
        self._turns.clear()
        self._waiting.clear()

    def _set_turn(self, listener: str, wait_ms: int) -> None:
        self._turns[listener] = self._clock.call_after_ms(wait_ms, self._turn, listener)

    def _turn(self, listener: str) -> None:
        """Admit the first waiting connection, and further ones until the rate is too high again."""
        del self._turns[listener]
        waiting = self._waiting.get(listener, {})
        wait_ms = 0
        try:
            while waiting and wait_ms == 0:
                connection = next(iter(waiting))
                del waiting[connection]
                connection.release()
                self._admit(listener, connection)
                wait_ms = self._wait_ms(listener) if waiting else 0
        finally:  # also after a fault of one of them, which the event loop logs
            if waiting:
                self._set_turn(listener, wait_ms)

    def _wait_ms(self, listener: str) -> int:
        """Count one more connection; return its wait in ms."""
        now_ms = self._clock.monotonic_ms()
        waits = [0]
        limit = self._config[RATE]
        if limit < _UNLIMITED and not self._is_protected(listener):
            waits.append(self._recorded(self._rate, limit, now_ms))
        name = f"listener.name.{listener.lower()}.{RATE}"
        if self._config.is_given(name):
            rate = self._rates.setdefault(listener, Rate(self._window))
            waits.append(self._recorded(rate, int(self._config.text(name) or 0), now_ms))
        return max(waits)

    def _recorded(self, rate: Rate, limit: int, now_ms: int) -> int:
        rate.record(1, now_ms)
        most_ms = self._window.sample_ms
        return min(rate.throttle_ms(limit, now_ms), most_ms) if limit > 0 else most_ms

    def _is_protected(self, listener: str) -> bool:
        """Whether it is the inter-broker listener and not the only one: no total limit for it."""
        between = self._config["inter.broker.listener.name"]
        return between is not None and between.upper() == listener and self._has_others

    @property
    def _has_others(self) -> bool:
        return len(self._config.listeners) > 1

"""The clock of the simulated brokers: the scheduler's time, and steps of the wall clock."""

from __future__ import annotations

from ottla.broker.clock import SystemClock

from .scheduler import Scheduler


class BrokerClock(SystemClock):
    """The brokers' clock.

    Attributes:
        step_ms, has_stepped: sum of the wall clock's steps, and whether it ever stepped.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._latest_step_ms, self.step_ms, self.has_stepped = 0, 0, False

    def step(self, by_ms: int) -> None:
        """Step the wall clock forward or back."""
        self.step_ms += by_ms
        self.has_stepped = True
        self._latest_step_ms = max(self._latest_step_ms, self.step_ms)

    def catch_up(self) -> None:
        """Step the wall clock forward to its highest time so far."""
        self.step_ms = self._latest_step_ms

    def now_ms(self) -> int:
        return self._scheduler.now_ms + self.step_ms

    def monotonic_ms(self) -> int:
        return self._scheduler.now_ms

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()

"""The stream of events: passes each event of the broker once to every observer.

An observer is a function; it sees what happens and does not change it. Without observers `tell` is
None, and the broker makes no event. The metrics of transactions are an observer
(`runtime/metrics/transaction_metrics.py`), and so are the crash points of tests
(`crash_points.py`). The types of events are in `events.py` and `storage/disk/file_events.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .log_output import Log

if TYPE_CHECKING:
    from ..storage.disk.file_events import FileEvent
    from .events import Event, Observer

_log = Log("events")


class Events:
    """The events of the nodes of a process.

    Attributes:
        tell: passes an event to all observers; None without observers, and then no event is made:

            if events.tell is not None:
                events.tell(RecordsAppended(...))
        on_change: called when `tell` has changed.
    """

    __slots__ = ("_observers", "on_change", "tell")

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()
        self.tell: Observer | None = None
        self.on_change: Callable[[], None] | None = None

    def add(self, observer: Observer) -> None:
        """Let an observer have all events from now on; it must neither block nor change them.

        One that raises is removed, with a line in the log.
        """
        self._use((*self._observers, observer))

    def remove(self, observer: Observer) -> None:
        """Let an observer have no more events."""
        self._use(tuple(each for each in self._observers if each != observer))

    def _use(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers
        self.tell = self._tell if observers else None
        if self.on_change is not None:
            self.on_change()

    def _tell(self, event: Event | FileEvent) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except Exception as fault:
                self.remove(observer)
                _log.error("an observer of events fails and is removed", exc_info=fault)

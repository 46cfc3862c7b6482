"""Limits the log lines that clients cause: a few of each kind per minute, then only counts.

Otherwise a TLS client on a plain port would cause 20 identical lines per second, and a client with
malformed requests could fill the disk with log lines.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from .clock import Clock, Timer, is_in_event_loop
from .log_output import Log

LINES: Final = 3  # of one subject in a window
WINDOW_S: Final = 60.0
SUBJECTS: Final = 1000  # that are counted separately in a window
LINES_IN_ALL: Final = 1000  # of all subjects and kinds in a window
COUNTS: Final = 100  # lines with counts, at the end of a window
_OTHERS: Final = "others"
_MOST_CHARACTERS: Final = 100

_log = Log("connection")


class Complaints:
    """Counts the log lines about the clients of a node, or about other subjects.

    Args:
        name: of the subjects, in the line with the count: `host`.
        lines: of one subject and kind in a window.
    """

    def __init__(self, clock: Clock, *, name: str = "host", lines: int = LINES) -> None:
        self._clock = clock
        self._name = name
        self._lines = lines
        self._counts: dict[tuple[str, str], int] = {}
        self._omitted: Counter[tuple[str, str]] = Counter()
        self._written = 0
        self._timer: Timer | None = None

    def may_log(self, subject: str, kind: str) -> bool:
        """Whether a line may be written now; if not, it is counted.

        Args:
            subject: the address of the client, or another name that a client may choose.
            kind: what the line says, one of a few.
        """
        key = (subject[:_MOST_CHARACTERS], kind)
        if key not in self._counts and len(self._counts) >= SUBJECTS:
            key = (_OTHERS, kind)
        count = self._counts.get(key, 0) + 1
        self._counts[key] = count
        if self._timer is None and is_in_event_loop():
            self._timer = self._clock.live.call_after_ms(WINDOW_S * 1000, self.log_rest)
        if count <= self._lines and self._written < LINES_IN_ALL:
            self._written += 1
            return True
        self._omitted[key] += 1
        return False

    def log_rest(self) -> None:
        """Log the numbers of lines that were not written, and begin a new window."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        omitted, self._omitted = self._omitted, Counter()
        self._counts.clear()
        self._written = 0
        others: Counter[str] = Counter()
        for at, ((subject, kind), count) in enumerate(omitted.most_common()):
            if subject == _OTHERS or at >= COUNTS:
                others[kind] += count
            else:
                self._log_count(subject, kind, count)
        for kind, count in others.items():
            self._log_count(_OTHERS, kind, count)

    def _log_count(self, subject: str, kind: str, count: int) -> None:
        _log.warning("similar lines were omitted", **{self._name: subject}, about=kind, count=count)

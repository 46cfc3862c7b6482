"""A finding: one sentence that says what waits for what, its evidence, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .facts import Place

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 3_600_000
_FEW_S: Final = 10
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Why something waits, or where it is.

    Attributes:
        situation: a name for programs, such as `open_transaction`.
        subject: what waits: a partition, a group, a transactional id, a client.
        sentence: for people, with names, offsets and times.
        evidence: the fields of the answers that it follows from.
        advice: what to do.
        is_stuck: whether a client waits longer than usual, or for ever. Otherwise it says where
            things are, or what is under way and ends soon.
    """

    situation: str
    subject: str
    sentence: str
    evidence: str = ""
    advice: str = ""
    is_stuck: bool = True


def span(time_ms: float) -> str:
    """A time for people: `850 ms`, `1.5 s`, `40 s`, `3 min 20 s`, `2 h 5 min`."""
    time_ms = max(0, round(time_ms))
    if time_ms < 1000:
        return f"{time_ms} ms"
    seconds = time_ms / 1000
    if seconds < _FEW_S:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    if time_ms < _MINUTE_MS:
        return f"{int(seconds)} s"
    if time_ms < _HOUR_MS:
        minutes, rest = divmod(int(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(int(seconds) // 60, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def named(place: Place) -> str:
    """A partition as Kafka writes it: TOPIC-INDEX."""
    return f"{place[0]}-{place[1]}"


def listed(names: Iterable[str]) -> str:
    """Some names, and how many are left out."""
    every = list(names)
    rest = len(every) - _SHOWN
    return ", ".join(every[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def places_named(places: Iterable[Place]) -> str:
    """Partitions in words: `partition orders-3`, `partitions orders-0, orders-1`."""
    every = sorted(places)
    return f"partition{'' if len(every) == 1 else 's'} {listed(map(named, every))}"


def counted(number: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

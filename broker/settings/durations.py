"""Periods of time in texts, as Java's Duration.parse reads them: PnDTnHnMn.nS."""

from __future__ import annotations

import re
from typing import Final

from ...protocol.java_integers import number_in

BY_DURATION: Final = "by_duration:"

# Patterns are compiled at their first use, which few brokers come to.
_DURATION: Final = (
    r"([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(?:T(?=.)(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?"
)
_UNITS_S: Final = (86_400, 3_600, 60, 1)
_BITS: Final = 64


def duration_ms(text: str) -> int | None:
    """The period of a text in ms, rounded down; None if the text is no period.

    A number, and the whole period in seconds, are at most a long.
    """
    found = re.fullmatch(_DURATION, text, re.IGNORECASE | re.ASCII)
    if found is None:
        return None
    sign, *numbers, fraction = found.groups()
    if not any(numbers):
        return None
    seconds = 0
    for number, unit_s in zip(numbers, _UNITS_S, strict=True):
        whole = number_in(number or "0", _BITS)
        if whole is None:
            return None
        seconds += whole * unit_s
    if number_in(str(seconds), _BITS) is None:
        return None
    nanoseconds = seconds * 10**9
    if fraction:
        part = int(fraction.ljust(9, "0"))
        nanoseconds += -part if numbers[-1].startswith("-") else part
    return (-nanoseconds if sign == "-" else nanoseconds) // 10**6


def reset_period_ms(reset: str) -> int | None:
    """The period of `by_duration:PERIOD`, which is not negative; None for another text."""
    if not reset.startswith(BY_DURATION):
        return None
    period_ms = duration_ms(reset.removeprefix(BY_DURATION))
    return None if period_ms is None or period_ms < 0 else period_ms

"""Judges a trace by the rules of the protocol, and shows the requests that break them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from ...trace.events import Answer, Event, Request
from ...trace.view import lines_of
from ...verdict.judge import judge
from ...verdict.rules.all_rules import RULES
from ...verdict.rules.rule import Rule, Violation
from .findings import Breach, Finding

_SHOWN: Final = 10
"""The violations of a rule that are kept with their lines."""

Trace = Callable[[], Iterable[Event]]
"""Reads a trace from its beginning; it is read twice, so that it need not fit into memory."""


def rules_named(patterns: Sequence[str]) -> list[type[Rule]]:
    """The rules whose ids match one of some patterns with *; all if there is no pattern."""
    return [each for each in RULES if is_named(each.rule_id, patterns)]


def is_named(rule_id: str, patterns: Sequence[str]) -> bool:
    """Whether a rule's id matches one of some patterns with *, or there is none."""
    return not patterns or any(fnmatchcase(rule_id, each) for each in patterns)


def judge_trace(
    trace: Trace, rules: Sequence[type[Rule]], *, is_judged: Callable[[str], bool] = lambda _: True
) -> list[Finding]:
    """Judge a trace.

    Args:
        is_judged: whether the requests of a client id are judged; those of others are left out.
    """
    judged = judge(_of_clients(trace(), is_judged), rules)
    kept = {each.rule_id: each.violations[:_SHOWN] for each in judged}
    wanted = {frame for found in kept.values() for each in found for frame in each.frames}
    shown = _lines(trace(), wanted) if wanted else {}
    return [
        Finding(
            each.rule_id,
            each.sentence,
            each.source,
            each.obeyed,
            each.violated,
            tuple(_breach(violation, shown) for violation in kept[each.rule_id]),
        )
        for each in judged
    ]


def _of_clients(events: Iterable[Event], is_judged: Callable[[str], bool]) -> Iterator[Event]:
    """The events without requests of other clients, and without their answers."""
    left_out: set[int] = set()
    for event in events:
        if isinstance(event, Request) and not is_judged(event.client_id or ""):
            left_out.add(event.seq)
        elif isinstance(event, Answer) and event.cause in left_out:
            left_out.discard(event.cause)
        else:
            yield event


def _lines(events: Iterable[Event], wanted: set[int]) -> dict[int, str]:
    """The lines of some requests, by their numbers."""
    kept: dict[int, list[Event]] = {each: [] for each in wanted}
    for event in events:
        number = event.seq if event.seq in wanted else event.cause
        if number in kept:
            kept[number].append(event)
    shown = {number: next(lines_of(found), None) for number, found in kept.items()}
    return {number: line[0] for number, line in shown.items() if line is not None}


def _breach(violation: Violation, shown: dict[int, str]) -> Breach:
    lines = tuple(shown[each] for each in violation.frames if each in shown)
    return Breach(violation.text, violation.client_id, violation.frames, lines)

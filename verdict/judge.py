"""Judges a trace: every step goes through every rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .exchange import Answered, Asked, Event, Exchange, Opened, step_of
from .knowledge import Knowledge
from .rules.all_rules import RULES
from .rules.rule import Rule


def judge(events: Iterable[Event], rules: Sequence[type[Rule]] = RULES) -> list[Rule]:
    """Judge a trace.

    Args:
        events: of a trace, in their order.
        rules: those to judge by.

    Returns:
        The rules, in the order given, with their counts and violations.
    """
    judging = Judge(rules)
    for event in events:
        judging.see(event)
    return judging.finish()


class Judge:
    """Judges a trace event by event."""

    def __init__(self, rules: Sequence[type[Rule]] = RULES) -> None:
        self._knowledge = Knowledge()
        self.rules = [rule(self._knowledge) for rule in rules]
        self._of_api: dict[str, list[Rule]] = {}
        self._waiting: dict[int, Exchange] = {}

    def see(self, event: Event) -> None:
        """Judge one event."""
        step = step_of(event, self._waiting)
        if step is None:
            return
        self._knowledge.see(step)
        if isinstance(step, Asked):
            for rule in self._rules_of(step.exchange.api):
                rule.asked(step.exchange)
        elif isinstance(step, Answered):
            for rule in self._rules_of(step.exchange.api):
                rule.answered(step.exchange)
        elif isinstance(step, Opened):
            for rule in self.rules:
                rule.opened(step)
        else:
            for rule in self.rules:
                rule.closed(step)
        self._knowledge.forget(step)

    def finish(self) -> list[Rule]:
        """The rules after the last event."""
        for rule in self.rules:
            rule.finish()
        return self.rules

    def _rules_of(self, api: str) -> list[Rule]:
        found = self._of_api.get(api)
        if found is None:
            found = [rule for rule in self.rules if not rule.apis or api in rule.apis]
            self._of_api[api] = found
        return found

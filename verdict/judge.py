"""Judges a trace: every request, answer and connection goes through every rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..trace.events import Answer, ConnectionClosed, ConnectionOpened, Event, Request, event_of
from ..trace.exchanges import Exchanges
from .knowledge import Knowledge
from .rules.all_rules import RULES
from .rules.rule import Rule


# Any: the value of a field of JSON.
def judge(
    events: Iterable[Event | dict[str, Any]], rules: Sequence[type[Rule]] = RULES
) -> list[Rule]:
    """Judge a trace.

    Args:
        events: of a trace, in their order; or their objects, as `broker.trace.events()` has them.
        rules: those to judge by.

    Returns:
        The rules, in the order given, with their counts and violations.

    Raises:
        BrokenTrace: an object is no event.
    """
    judging = Judge(rules)
    for event in events:
        judging.see(event if isinstance(event, Event) else event_of(event))
    return judging.finish()


class Judge:
    """Judges a trace event by event."""

    def __init__(self, rules: Sequence[type[Rule]] = RULES) -> None:
        self._knowledge = Knowledge()
        self.rules = [rule(self._knowledge) for rule in rules]
        self._of_api: dict[str, list[Rule]] = {}
        self._exchanges = Exchanges()

    def see(self, event: Event) -> None:
        """Judge one event."""
        if isinstance(event, Request):
            exchange = self._exchanges.begin(event)
            self._knowledge.see_request(exchange)
            for rule in self._rules_of(exchange.api):
                rule.asked(exchange)
        elif isinstance(event, Answer):
            answered = self._exchanges.end(event)
            if answered is not None:
                self._knowledge.see_answer(answered)
                for rule in self._rules_of(answered.api):
                    rule.answered(answered)
        elif isinstance(event, ConnectionOpened):
            self._knowledge.see_opening(event)
            for rule in self.rules:
                rule.opened(event)
        elif isinstance(event, ConnectionClosed):
            self._knowledge.see_closing(event)
            for rule in self.rules:
                rule.closed(event)
            self._knowledge.forget(event)

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

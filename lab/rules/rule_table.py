"""The table of rules: which of them act on a request or on a step of the broker, and how often.

Pure: the time is an argument, and the chance of a rule comes from its seed.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, Protocol, TypeVar

from ...trace.wildcards import fits as pattern_fits
from .rule import HOLDING, Action, AnyAction, Match, RuleSpec, WrongRule, shown

MOST_RULES: Final = 10_000
_Kind = TypeVar("_Kind", bound=Action)


class Sight(Protocol):
    """What a request, or a step, shows to the rules; None and empty collections match no rule.

    Attributes:
        api: the name of its API; empty for a step.
        version: of the request; -1 for a step.
        principal: TYPE:NAME.
        topics: names; partitions: of them, with their index.
        members: member ids and group instance ids.
    """

    @property
    def api(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def client_id(self) -> str | None: ...
    @property
    def principal(self) -> str | None: ...
    @property
    def connection(self) -> str | None: ...
    @property
    def node_id(self) -> int | None: ...
    @property
    def listener(self) -> str | None: ...
    @property
    def topics(self) -> Collection[str]: ...
    @property
    def partitions(self) -> Collection[tuple[str, int]]: ...
    @property
    def transactional_ids(self) -> Collection[str]: ...
    @property
    def producer_ids(self) -> Collection[int]: ...
    @property
    def groups(self) -> Collection[str]: ...
    @property
    def members(self) -> Collection[str]: ...


class ActiveRule:
    """A rule in the table.

    Attributes:
        number: its id.
        matched: how often its match held.
        fired: how often it acted.
        held: the number of requests that it holds now.
        added_at_ms: when it was added, by the wall time.
    """

    def __init__(self, number: int, spec: RuleSpec, added_ms: int) -> None:
        self.number = number
        self.spec = spec
        self.matched = self.fired = self._undecided = 0
        self._added_ms = added_ms
        self.added_at_ms = 0
        self._chance = random.Random(spec.match.seed)
        self._conditions = list(_conditions(spec.match))
        self._held: dict[object, Callable[[bool], None]] = {}
        self._silent: dict[object, Callable[[], None]] = {}
        self._waiting: dict[object, Callable[[], None]] = {}

    @property
    def held(self) -> int:
        return len(self._held)

    def action_of(self, kind: type[_Kind]) -> _Kind:
        """The action of a rule that has one of this kind."""
        action = self.spec.action
        assert isinstance(action, kind)
        return action

    def acts_on(self, sight: Sight, now_ms: int) -> bool:
        """Whether it acts on a request or step, which is counted.

        Args:
            now_ms: the monotonic time.
        """
        if not all(condition(sight) for condition in self._conditions):
            return False
        match = self.spec.match
        if match.after_ms is not None and now_ms - self._added_ms < match.after_ms:
            return False
        self.matched += 1
        if match.times is not None and self.fired >= match.times:
            return False
        if match.nth is not None and self.matched != match.nth:
            return False
        if match.every is not None and self.matched % match.every:
            return False
        if match.probability is not None and self._chance.random() >= match.probability:
            return False
        self.fired += 1
        return True

    @contextmanager
    def wait_for_answer(self) -> Iterator[Callable[[], None]]:
        """Wait for an answer that may have no place for the action.

        It gives a function to call if it has one; otherwise the request counts as not matched.
        """
        self._undecided += 1
        has_place = False

        def decide() -> None:
            nonlocal has_place
            has_place = True

        try:
            yield decide
        finally:
            self._undecided -= 1
            if not has_place:
                self.matched -= 1
                self.fired -= 1

    @cached_property
    def partitions_chosen(self) -> Callable[[str, int | None], bool] | None:
        """Whether a topic or a partition of a request is the rule's; None: the rule names none."""
        match = self.spec.match
        if match.topic is None and match.partition is None:
            return None
        is_topic = _of(match.topic)
        return lambda topic, index: (
            is_topic(topic)
            and (match.partition is None or index is None or index == match.partition)
        )

    @cached_property
    def draws(self) -> random.Random:
        """The random numbers of its action."""
        return random.Random(getattr(self.spec.action, "seed", 0))

    def hold(self, key: object, let_go: Callable[[bool], None]) -> None:
        """Count a request as held; `let_go(False)` lets it go on, `let_go(True)` ends it."""
        self._held[key] = let_go

    def silence(self, key: object, close: Callable[[], None]) -> None:
        """Keep the connection of a request silent; `close` ends it."""
        self._silent[key] = close

    def wait(self, key: object, go_on: Callable[[], None]) -> None:
        """Let something wait for its time; `go_on` ends that, on any thread, if the rule ends."""
        self._waiting[key] = go_on

    def forget(self, key: object) -> None:
        """A request is no longer held or waiting, or its connection no longer silent."""
        self._held.pop(key, None)
        self._silent.pop(key, None)
        self._waiting.pop(key, None)

    def end(self, *, ends: bool = False) -> None:
        """Let go what it holds and delays, and close the connections that it keeps silent."""
        self.release(ends=ends)
        waiting, self._waiting = self._waiting, {}
        for go_on in waiting.values():
            go_on()
        silent, self._silent = self._silent, {}
        for close in silent.values():
            close()

    def release(self, *, ends: bool = False) -> int:
        """Let all held requests go on, in their order; return their number.

        Args:
            ends: whether they end without an answer instead, because their broker stops.
        """
        held, self._held = self._held, {}
        for let_go in held.values():
            let_go(ends)
        return len(held)

    def shown(self) -> dict[str, Any]:
        """The rule and its counts, as JSON."""
        spec = shown(self.spec)
        by = {"added_by": self.spec.added_by} if self.spec.added_by else {}
        return {
            "id": self.number, "name": self.spec.name, "match": spec.get("match", {}),
            "action": spec["action"], "continue": self.spec.continue_, **by,
            "matched": self.matched - self._undecided, "fired": self.fired - self._undecided,
            "held": self.held,
        }  # fmt: skip


def _conditions(match: Match) -> Iterator[Callable[[Sight], bool]]:
    """The conditions of a match on a request or step, the cheap ones first."""
    if match.api is not None:
        is_api = _of(match.api)
        yield lambda sight: is_api(sight.api)
    if match.versions is not None:
        low, high = match.versions
        yield lambda sight: low <= sight.version <= high
    if match.node_id is not None:
        yield lambda sight: sight.node_id == match.node_id
    for name in ("client_id", "principal", "connection", "listener"):
        pattern = getattr(match, name)
        if pattern is not None:
            yield _has_text(name, _of(pattern))
    if match.topic is not None and match.partition is not None:
        is_topic, index = _of(match.topic), match.partition
        yield lambda sight: any(
            each == index and is_topic(topic) for topic, each in sight.partitions
        )
    elif match.topic is not None:
        yield _has_any("topics", _of(match.topic))
    elif match.partition is not None:
        yield lambda sight: any(index == match.partition for _, index in sight.partitions)
    if match.producer_id is not None:
        yield lambda sight: match.producer_id in sight.producer_ids
    for name, several in (
        ("transactional_id", "transactional_ids"), ("group", "groups"), ("member", "members"),
    ):  # fmt: skip
        pattern = getattr(match, name)
        if pattern is not None:
            yield _has_any(several, _of(pattern))


def _has_text(name: str, fits: Callable[[str], bool]) -> Callable[[Sight], bool]:
    def holds(sight: Sight) -> bool:
        value = getattr(sight, name)
        return value is not None and fits(value)

    return holds


def _has_any(name: str, fits: Callable[[str], bool]) -> Callable[[Sight], bool]:
    return lambda sight: any(map(fits, getattr(sight, name)))


def _of(pattern: str | None) -> Callable[[str], bool]:
    """Whether a name fits a pattern with * and ?; every name fits None."""
    if pattern is None:
        return lambda name: True
    return pattern_fits(pattern)


class Faults:
    """The rules in the order in which they were added.

    Threads that write to the disk ask for rules, too.

    Attributes:
        on_change: called when a rule was added or removed.
    """

    def __init__(self) -> None:
        self._rules: dict[int, ActiveRule] = {}
        self._by_api: dict[str, tuple[ActiveRule, ...]] = {}
        self._kinds: Counter[type[Action]] = Counter()
        self._last = 0
        self._alone = threading.Lock()
        self.on_change: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[ActiveRule]:
        return iter(self._rules.values())

    def add(self, spec: RuleSpec, now_ms: int) -> ActiveRule:
        """Add a checked rule. Raises WrongRule if there are too many."""
        if len(self._rules) >= MOST_RULES:
            raise WrongRule(f"there are {MOST_RULES} rules, and no more are possible")
        self._last += 1
        with self._alone:
            rule = self._rules[self._last] = ActiveRule(self._last, spec, now_ms)
            self._kinds[type(spec.action)] += 1
            self._by_api.clear()
        self.on_change()
        return rule

    def get(self, number: int) -> ActiveRule:
        """A rule by its id. Raises KeyError."""
        return self._rules[number]

    def remove(self, number: int) -> ActiveRule:
        """Remove a rule, and let go what it holds. Raises KeyError."""
        with self._alone:
            rule = self._rules.pop(number)
            self._kinds[type(rule.spec.action)] -= 1
            self._by_api.clear()
        rule.end()
        self.on_change()
        return rule

    def clear(self, *, ends: bool = False) -> int:
        """Remove all rules; return their number.

        Args:
            ends: whether held requests end without an answer, because the broker stops.
        """
        with self._alone:
            rules, self._rules = self._rules, {}
            self._kinds.clear()
            self._by_api.clear()
        for rule in rules.values():
            rule.end(ends=ends)
        if rules:
            self.on_change()
        return len(rules)

    def acting_on(
        self,
        sight: Sight,
        now_ms: int,
        fits: Callable[[AnyAction, Match], bool],
    ) -> list[ActiveRule]:
        """The rules that act on a request or step: one, or more if it says `continue`.

        Args:
            now_ms: the monotonic time.
            fits: whether an action, with its match, can act here.
        """
        acting: list[ActiveRule] = []
        with self._alone:
            for rule in self._of_api(sight.api):
                if fits(rule.spec.action, rule.spec.match) and rule.acts_on(sight, now_ms):
                    acting.append(rule)
                    if not rule.spec.continue_:
                        break
        return acting

    def _of_api(self, api: str) -> tuple[ActiveRule, ...]:
        """The rules for an API; of 10,000 rules a request looks at those alone."""
        found = self._by_api.get(api)
        if found is None:
            found = self._by_api[api] = tuple(
                rule for rule in self._rules.values() if _of(rule.spec.match.api)(api)
            )
        return found

    def has(self, kinds: tuple[type[Action], ...]) -> bool:
        """Whether a rule has one of these actions."""
        return any(self._kinds[kind] for kind in kinds)


def can_be_released(rule: ActiveRule) -> bool:
    """Whether a release lets something of the rule go on."""
    return isinstance(rule.spec.action, HOLDING)

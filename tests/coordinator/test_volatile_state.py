"""A decision changes volatile state alone: without its replay the durable state is as it was."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from ottla import coordinator
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.group_kinds import KindRecord
from ottla.coordinator.outcome import Effect, Outcome, Parked, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import State
from ottla.coordinator.volatile import Volatile
from ottla.protocol.errors import Refused
from tests.coordinator.consumer.conversation import Consumer, ConsumerTalk, FakeTopics
from tests.coordinator.group_conversation import GROUP, Client, Reply
from tests.coordinator.share.conversation import Sharer, ShareTalk
from tests.coordinator.transactions.conversation import PRODUCER, machine_in

from .moments import at

SHOP = "shop"
Decide = Callable[[Transactions], Outcome[Any]]


def durable(value: Any) -> Any:
    """A copy of all that is not volatile, to be compared later."""
    if isinstance(value, Volatile):
        return None
    if isinstance(value, dict):
        return {key: durable(each) for key, each in value.items()}
    if isinstance(value, set | list):
        return type(value)(value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(durable, value))
    is_ours = type(value).__module__.startswith("ottla.coordinator")
    if not is_ours or not hasattr(value, "__dict__") or isinstance(value, Enum):
        return value  # a value that does not change
    volatile: frozenset[str] = getattr(value, "VOLATILE", frozenset())
    return {name: durable(each) for name, each in vars(value).items() if name not in volatile}


class WatchedTalk(ConsumerTalk):
    """A conversation in which decisions may change volatile state alone."""

    def __init__(self, topics: FakeTopics) -> None:
        super().__init__(topics, offsets_retention_ms=600_000)
        self.decisions = 0
        kind: Any = self.machine.kind(ConsumerKind)
        decide = kind.consumer_heartbeat

        def decide_twice(request: Any, *, now: Any) -> Any:
            first = decide(request, now=now)
            second = decide(request, now=now)
            assert first.records == second.records
            return second

        kind.consumer_heartbeat = decide_twice
        self._seen = self._durable()

    def _durable(self) -> Any:
        return durable(self.machine)

    def told(self, outcome: Outcome[Reply]) -> Reply:
        self.decisions += 1
        assert self._durable() == self._seen
        try:
            return super().told(outcome)
        finally:
            self._seen = self._durable()

    def end_transaction(self, producer: Producer, *, commit: bool) -> None:
        super().end_transaction(producer, commit=commit)
        self._seen = self._durable()


class WatchedShareTalk(ShareTalk):
    """A conversation with share groups in which decisions may change volatile state alone."""

    def __init__(self, topics: FakeTopics) -> None:
        super().__init__(topics)
        self.initializes = False
        self.decisions = 0
        assert not self.kind.groups
        self._seen = durable(self.machine)

    def told(self, outcome: Outcome[Reply]) -> Reply:
        self.decisions += 1
        assert durable(self.machine) == self._seen
        reply = super().told(outcome)
        self._seen = durable(self.machine)
        return reply


def wander_in_share_groups(talk: WatchedShareTalk, seed: int) -> None:
    """A random conversation: members, share state, offsets, deletions, topics, time."""
    chance = random.Random(seed)
    members = [Sharer(talk, name, "orders") for name in "ab"]
    members += [Sharer(talk, "c", "orders", "stock")]
    kind = talk.kind
    for step in range(60):
        member = chance.choice(members)
        with suppress(Refused):
            match chance.randrange(8):
                case 0 | 1:
                    member.join()
                case 2 | 3:
                    member.beat()
                case 4:
                    member.leave()
                case 5:
                    talk.told(kind.alter_offsets(GROUP, [("orders", 0, step)]))
                    talk.told(kind.begin_deleting_offsets(GROUP, ["stock"]))
                case 6:
                    for order in talk.orders:
                        done = {each.topic_id: frozenset({0, 1}) for each in order.partitions}
                        note = kind.initialized if chance.random() < 0.7 else kind.not_initialized
                        talk.told(note(GROUP, done))
                    talk.orders.clear()
                case _:
                    talk.topics.grow("orders", 3 + step)
                    talk.pass_time(chance.choice((0, 1_000, 50_000)))
                    talk.told(talk.machine.forget_topic("stock"))


def wander(talk: WatchedTalk, seed: int) -> None:
    """A random conversation: members of both protocols, commits, deletions, topics, time."""
    chance = random.Random(seed)
    consumers = [Consumer(talk, name, "orders", instance=name) for name in "ab"]
    consumers += [Consumer(talk, name, "orders", "stock") for name in "cd"]
    clients = [Client(talk, "m"), Client(talk, "n")]
    producer = Producer(7, 0)
    for step in range(60):
        consumer, client = chance.choice(consumers), chance.choice(clients)
        match chance.randrange(13):
            case 0 | 1:
                consumer.join()
            case 2:
                consumer.join(subscribed_topic_regex=chance.choice(("or.*", "st.*")))
            case 3 | 4 | 5:
                consumer.report()
            case 6:
                consumer.leave(for_a_while=consumer.instance is not None and chance.random() < 0.5)
            case 7:
                client.join()
            case 8:
                talk.commit_in(producer, step)
                talk.end_transaction(producer, commit=chance.random() < 0.5)
            case 9:
                talk.commit(step, client.committer, topic=chance.choice(("orders", "stock")))
            case 10:
                with suppress(Refused):
                    talk.told(talk.machine.delete_offsets(GROUP, [("orders", 0), ("stock", 0)]))
            case 11:
                talk.told(talk.machine.forget_topic(chance.choice(("orders", "stock"))))
                talk.told(talk.machine.delete([GROUP]))
            case _:
                talk.topics.grow("orders", 6 + step)
                talk.pass_time(chance.choice((0, 5_000, 50_000, 700_000)))


def classes() -> Iterator[type]:
    """Every class of the room."""
    for module in iter_modules(coordinator.__path__, f"{coordinator.__name__}."):
        package = import_module(module.name)
        inner = iter_modules(package.__path__, f"{module.name}.") if module.ispkg else ()
        for loaded in (package, *(import_module(each.name) for each in inner)):
            for value in vars(loaded).values():
                if isinstance(value, type) and value.__module__ == loaded.__name__:
                    yield value


def test_every_volatile_attribute_that_a_class_names_exists() -> None:
    declared = [each for each in classes() if "VOLATILE" in vars(each)]
    assert len(declared) > 3
    for each in declared:
        source = inspect.getsource(each)
        assert not [name for name in vars(each)["VOLATILE"] if f"self.{name}" not in source], each


def test_no_class_that_changes_hides_its_state_from_the_check() -> None:
    frozen = (tuple, Enum, Exception, Effect, KindRecord, Volatile, Parked)
    hidden = {
        each.__name__
        for each in classes()
        if "__slots__" in vars(each)
        and not issubclass(each, frozen)
        and each.__setattr__ is object.__setattr__  # not a frozen dataclass
    }
    decisions = {"Turn", "ModernTurn", "ConsumerTurn", "ShareTurn", "StreamsTurn"}
    # A block of ids; the level of a feature, which is looked up; a base of frozen members.
    assert hidden == decisions | {"ProducerIds", "Encoder", "Reconciled"}


@pytest.mark.parametrize("seed", range(20))
def test_a_decision_of_groups_changes_volatile_state_alone(seed: int) -> None:
    talk = WatchedTalk(FakeTopics(orders=6, stock=2))
    wander(talk, seed)
    assert talk.decisions > 20


@pytest.mark.parametrize("seed", range(10))
def test_a_decision_of_share_groups_changes_volatile_state_alone(seed: int) -> None:
    talk = WatchedShareTalk(FakeTopics(orders=3, stock=2))
    wander_in_share_groups(talk, seed)
    assert talk.decisions > 20


def _init(machine: Transactions) -> Outcome[Any]:
    return machine.init_producer_id(SHOP, timeout_ms=60_000, now_ms=5)


def _add(machine: Transactions) -> Outcome[Any]:
    return machine.add_partitions(SHOP, PRODUCER, [("orders", 1)], now_ms=5)


def _end(machine: Transactions) -> Outcome[Any]:
    return machine.end(SHOP, PRODUCER, commit=True, now_ms=5)


def _end_and_bump(machine: Transactions) -> Outcome[Any]:
    return machine.end_and_bump(SHOP, PRODUCER, commit=False, now_ms=5)


def _tick(machine: Transactions) -> Outcome[Any]:
    return next(machine.tick(at(1 << 50)), Outcome(None))


@pytest.mark.parametrize("state", [each for each in State if each < State.DEAD])
@pytest.mark.parametrize("decide", [_init, _add, _end, _end_and_bump, _tick])
def test_a_decision_of_transactions_changes_volatile_state_alone(
    state: State, decide: Decide
) -> None:
    machine = machine_in(state)
    before = durable(machine)
    told = []
    for _ in range(2):
        try:
            told.append(decide(machine).records)
        except Refused as refused:
            told.append((refused.code,))
        assert durable(machine) == before
    assert decide is _tick or told[0] == told[1]


def test_the_check_sees_durable_state_that_changes() -> None:
    machine = machine_in(State.ONGOING)
    before = durable(machine)
    for record in _end(machine).records:
        machine.replay(record)
    assert durable(machine) != before

"""Many producers of a few transactional ids, with time, lost answers and crashes, at random.

The model knows what each transaction wrote to and who may write; the machine is asked through
outcomes alone, and restarted from its records, compacted or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import DAY_MS, Transactions
from ottla.coordinator.transactions.records import decode, encode
from ottla.coordinator.transactions.states import Expired, Kept, Partition, State, Transaction
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transactions.conversation import next_wall_deadline, ticked

IDS = ("shop", "bank")
TIMEOUT_MS = 1000
Reply = TypeVar("Reply")
MOSTLY = st.sampled_from([True, True, True, False])
CLIENTS = st.sampled_from([(name, number) for name in IDS for number in range(2)])
PARTITIONS = st.frozensets(st.tuples(st.sampled_from("ab"), st.integers(0, 1)))


@dataclass
class Open:
    """An open transaction: whose it is, since when, and what is in it."""

    producer: Producer
    started_ms: int
    partitions: frozenset[Partition]


class Coordinator(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.ids = count(1)
        self.machine = self.fresh()
        self.log: list[tuple[bytes, bytes | None]] = []
        self.pending: dict[str, Transaction] = {}
        self.producers: dict[tuple[str, int], Producer] = {}  # the last answer of each client
        self.given: dict[Producer, tuple[str, int]] = {}  # the first client that got each epoch
        self.fenced: set[Producer] = set()
        self.open: dict[str, Open] = {}

    def fresh(self) -> Transactions:
        return Transactions(next_producer_id=lambda: next(self.ids))

    @initialize(epoch=st.sampled_from([0, 32763, 32765, 32766]))
    def one_id_has_a_history(self, epoch: int) -> None:
        self.apply(
            Transaction(IDS[0], 0, epoch, TIMEOUT_MS, State.COMPLETE_COMMIT, frozenset(), 0, 0)
        )

    def apply(self, record: Transaction | Expired) -> None:
        self.log.append(encode(record))
        self.machine.replay(record)

    def carried_out(self, outcome: Outcome[Reply]) -> Reply:
        """Log, replay, and remember which markers are wanted."""
        for record in outcome.records:
            self.apply(record)
        for record, effect in zip(
            [r for r in outcome.records if isinstance(r, Transaction)],
            outcome.effects,
            strict=False,
        ):
            assert effect.transaction == record  # type: ignore[attr-defined]  # another type would fail the test
            self.pending[record.transactional_id] = record
        return outcome.reply

    def asked(self, decide: Callable[[], Outcome[Reply]]) -> Reply | Code:
        """The reply, or the code of the refusal, which must have changed nothing."""
        before = {name: self.state_of(name) for name in IDS}
        try:
            outcome = decide()
        except Refused as refused:
            assert {name: self.state_of(name) for name in IDS} == before
            return refused.code
        assert {name: self.state_of(name) for name in IDS} == before, "a decision changes nothing"
        return self.carried_out(outcome)

    def state_of(self, transactional_id: str) -> Transaction | None:
        try:
            return self.machine.describe(transactional_id)
        except Refused:
            return None

    def may_write(self, client: tuple[str, int]) -> bool:
        known = self.state_of(client[0])
        return known is not None and not known.is_kept and self.may_end(client)

    def may_end(self, client: tuple[str, int]) -> bool:
        known = self.state_of(client[0])
        return known is not None and known.owner == self.producers.get(client)

    def is_late(self, client: tuple[str, int]) -> bool:
        """Whether the client's transaction timed out at its last epoch: its abort gets a new id."""
        known = self.state_of(client[0])
        return (
            known is not None
            and known.state is State.COMPLETE_ABORT
            and known.owner == Producer(known.producer_id, 32767)
            and self.producers.get(client) == Producer(known.producer_id, 32766)
        )

    @rule(client=CLIENTS, goes_on=st.booleans(), keeps=st.booleans(), hears=MOSTLY)
    def init(self, client: tuple[str, int], goes_on: bool, keeps: bool, hears: bool) -> None:
        name = client[0]
        expected = self.producers.get(client) if goes_on else None
        was_open, before = self.open.get(name), self.state_of(name)
        reply = self.asked(
            lambda: self.machine.init_producer_id(
                name,
                timeout_ms=TIMEOUT_MS,
                expected=expected,
                now_ms=self.now_ms,
                keep_prepared=keeps,
            )
        )
        if isinstance(reply, Kept):
            assert keeps
            assert was_open is not None
            assert reply.ongoing == was_open.producer, "the transaction keeps its producer"
            self.goes_on_as(client, reply.producer, hears=hears)
            self.fenced.add(was_open.producer)
        elif isinstance(reply, Producer):
            assert was_open is None, "an open transaction is aborted first"
            self.goes_on_as(client, reply, hears=hears)
        elif name in self.pending and was_open is not None:
            assert before is not None
            self.prepared_as(was_open, name, State.PREPARE_ABORT)
            self.fenced.update((was_open.producer, before.owner))

    def goes_on_as(self, client: tuple[str, int], producer: Producer, *, hears: bool) -> None:
        assert self.given.setdefault(producer, client) == client, "an epoch has one owner"
        assert producer.producer_epoch <= 32766
        assert producer not in self.fenced
        others = (other for other, (name, _) in self.given.items() if name == client[0])
        self.fenced.update(other for other in others if other != producer)
        if hears:
            self.producers[client] = producer

    def someone(self, number: int, *, owns: bool) -> tuple[str, int]:
        """A client that got a producer id, and mostly still owns it."""
        owners = [client for client in self.producers if self.may_end(client)]
        clients = owners if owns and owners else sorted(self.producers)
        return clients[number % len(clients)]

    @precondition(lambda self: self.producers)
    @rule(number=st.integers(0, 3), owns=MOSTLY, partitions=PARTITIONS)
    def add(self, number: int, owns: bool, partitions: frozenset[Partition]) -> None:
        client = self.someone(number, owns=owns)
        name, producer = client[0], self.producers[client]
        may_write = self.may_write(client)
        reply = self.asked(
            lambda: self.machine.add_partitions(name, producer, partitions, now_ms=self.now_ms)
        )
        if reply is None:
            assert may_write, "only the owner of the last epoch adds"
            assert producer not in self.fenced
            known = self.open.setdefault(name, Open(producer, self.now_ms, frozenset()))
            known.partitions |= partitions
            self.machine.verify_partitions(name, producer, known.partitions)
        else:
            assert not may_write or name in self.pending

    @precondition(lambda self: self.producers)
    @rule(number=st.integers(0, 3), owns=MOSTLY, commit=MOSTLY, bumps=st.booleans(), hears=MOSTLY)
    def end(self, number: int, owns: bool, commit: bool, bumps: bool, hears: bool) -> None:
        client = self.someone(number, owns=owns)
        name, producer = client[0], self.producers[client]
        was_open, is_late = self.open.get(name), bumps and not commit and self.is_late(client)
        may_end = self.may_end(client) or is_late
        end = self.machine.end_and_bump if bumps else self.machine.end
        records = len(self.log)
        reply = self.asked(lambda: end(name, producer, commit=commit, now_ms=self.now_ms))
        if not isinstance(reply, Producer):
            return
        if len(self.log) > records:
            assert may_end, "only the owner of the last epoch decides"
            assert is_late or producer not in self.fenced
            assert was_open is not None or (bumps and not commit)
            wanted = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
            if bumps:
                self.fenced.add(producer)
            self.prepared_as(was_open or Open(producer, self.now_ms, frozenset()), name, wanted)
        if not bumps:
            assert reply == producer
        else:
            is_next = reply == producer._replace(producer_epoch=producer.producer_epoch + 1)
            assert is_next or (producer.producer_epoch, reply.producer_epoch) == (32766, 0)
            self.goes_on_as(client, reply, hears=hears)

    def prepared_as(self, was_open: Open, name: str, state: State) -> None:
        self.open.pop(name, None)
        marker, writer = self.pending[name].producer, was_open.producer
        assert marker.producer_id == writer.producer_id
        assert marker.producer_epoch - writer.producer_epoch in (0, 1), "the next epoch at most"
        assert self.pending[name].state is state
        assert self.pending[name].partitions == was_open.partitions, "all or nothing"

    @precondition(lambda self: self.pending)
    @rule()
    def markers_are_written(self) -> None:
        name, prepared = self.pending.popitem()
        self.carried_out(self.machine.markers_written(prepared, now_ms=self.now_ms))
        known = self.machine.describe(name)
        assert known.state - prepared.state == State.COMPLETE_COMMIT - State.PREPARE_COMMIT
        assert self.machine.markers_written(prepared, now_ms=self.now_ms) == Outcome(None)

    @rule(wait_ms=st.sampled_from([1, TIMEOUT_MS // 2, TIMEOUT_MS - 1, TIMEOUT_MS, 8 * DAY_MS]))
    def time_passes(self, wait_ms: int) -> None:
        self.now_ms += wait_ms
        while True:
            deadline_ms = next_wall_deadline(self.machine)
            if deadline_ms is None or deadline_ms > self.now_ms:
                break
            outcome = ticked(self.machine, self.now_ms)
            owners = {name: self.machine.describe(name).owner for name in self.open}
            assert outcome.records, "a deadline that does nothing would come for ever"
            self.carried_out(outcome)
            for record in outcome.records:
                name = record.transactional_id
                if isinstance(record, Expired):
                    assert name not in self.open
                else:
                    self.fenced.update((self.open[name].producer, owners[name]))
                    self.prepared_as(self.open[name], name, State.PREPARE_ABORT)
        assert ticked(self.machine, self.now_ms) == Outcome(None)

    @rule(compacted=st.booleans())
    def crash(self, compacted: bool) -> None:
        """Memory is gone. The log alone must lead back to the same machine and the same work."""
        if compacted:
            last = {key: offset for offset, (key, _) in enumerate(self.log)}
            self.log = [self.log[offset] for offset in sorted(last.values())]
        restarted = self.fresh()
        for key, value in self.log:
            record = decode(key, value)
            assert record is not None
            restarted.replay(record)
        for name in IDS:
            before, self_again = self.state_of(name), _in(restarted, name)
            assert _but_for_the_last_epoch(before) == _but_for_the_last_epoch(self_again)
        self.machine = restarted
        self.pending = {
            wanted.transaction.transactional_id: wanted.transaction
            for wanted in restarted.unfinished()
        }

    @invariant()
    def whatever_is_prepared_has_its_markers_pending(self) -> None:
        wanted = {effect.transaction for effect in self.machine.unfinished()}
        assert wanted == set(self.pending.values())

    @invariant()
    def what_is_open_is_what_was_added(self) -> None:
        ongoing = {
            known.transactional_id: known.partitions
            for known in self.machine.listed(now_ms=self.now_ms, states=[State.ONGOING])
        }
        assert ongoing == {name: known.partitions for name, known in self.open.items()}

    @invariant()
    def every_open_transaction_will_end(self) -> None:
        for known in self.open.values():
            deadline_ms = next_wall_deadline(self.machine)
            assert deadline_ms is not None
            assert deadline_ms <= known.started_ms + TIMEOUT_MS


def _in(machine: Transactions, transactional_id: str) -> Transaction | None:
    try:
        return machine.describe(transactional_id)
    except Refused:
        return None


def _but_for_the_last_epoch(known: Transaction | None) -> Transaction | None:
    if known is None or known.last_producer_epoch != -1:
        return known and known._replace(last_producer_epoch=-1)
    return known._replace(previous_producer_id=-1)


TestCoordinator = Coordinator.TestCase
TestCoordinator.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)

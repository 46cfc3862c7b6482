"""A share partition against a simple model that keeps each record by itself.

Members fetch, acknowledge, renew, come late and go; locks end; the log grows, is compacted and
loses its start; changes fail or wait; the leader moves, so that only the stored state is left. One
seed is one run: `python -m tests.coordinator.share_partition.random_run SEED` prints it.
"""

from __future__ import annotations

import sys
from random import Random
from typing import NamedTuple

from ottla.coordinator.share_partition.acquire import acquire
from ottla.coordinator.share_partition.changes import Change
from ottla.coordinator.share_partition.partition import SharePartition, dead_letters_of
from ottla.coordinator.share_partition.states import (
    Acknowledgement,
    AcknowledgeType,
    AcquireMode,
    AcquireRequest,
    DeadLetters,
    Fetched,
    LogBatch,
    RecordState,
    ShareLimits,
)
from ottla.coordinator.share_state.states import StateBatch
from ottla.protocol.errors import Code, Refused

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
MEMBERS = ("a", "b", "c")


class Record(NamedTuple):
    """What the model knows of one record."""

    state: RecordState = AVAILABLE
    deliveries: int = 0
    member: str = ""
    due_ms: int = 0
    change: Change | None = None


class RandomRun:
    """One run of a seed; `step` checks everything after what it does."""

    def __init__(self, seed: int, *, tells: bool = False) -> None:
        self.random = Random(seed)
        self.tells = tells
        self.limits = ShareLimits(
            lock_duration_ms=1000,
            delivery_count_limit=self.random.randint(2, 6),
            max_record_locks=self.random.choice((6, 20, 200)),
            has_dead_letters=self.random.random() < 0.3,
        )
        self.now_ms = 1
        self.log: list[LogBatch] = []
        self.log_start = 0
        self.machine = SharePartition(0)
        self.records: dict[int, Record] = {}
        self.stored: dict[int, tuple[RecordState, int]] = {}
        self.stored_start = 0
        self.changes: list[tuple[Change, int, list[StateBatch]]] = []
        self.dead: list[DeadLetters] = []
        self.delivered: set[int] = set()
        self.given_up: set[int] = set()
        self.accepted: set[int] = set()
        self.most = 0

    def say(self, text: str) -> None:
        if self.tells:
            sys.stdout.write(f"{self.now_ms} {text}\n")

    @property
    def log_end(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else self.log_start

    def offsets(self) -> set[int]:
        """The records that are in the log."""
        return {
            offset
            for batch in self.log
            for offset in range(max(batch.base_offset, self.log_start), batch.last_offset + 1)
        }

    # What happens

    def step(self) -> None:
        doing = self.random.choices(
            (self.append, self.fetch, self.acknowledge, self.settle, self.pass_time, self.leave,
             self.delete_records, self.compact, self.bury, self.move),
            (20, 40, 40, 20, 8, 3, 2, 2, 5, 1),
        )[0]  # fmt: skip
        doing()
        self.check()

    def append(self) -> None:
        base = self.log_end + (self.random.randint(1, 3) if self.random.random() < 0.05 else 0)
        self.log.append(LogBatch(base, base + self.random.choice((0, 0, 1, 4, 9))))
        self.say(f"append {self.log[-1]}")

    def fetch(self) -> bool:
        """One ShareFetch; returns whether it acquired or moved anything."""
        machine = self.machine
        if not machine.may_acquire(self.limits):
            return False
        offset = machine.next_fetch_offset()
        if offset < self.log_start:
            machine.move_start(self.log_start)
            self.lose_before(self.log_start)
            return True
        read = [batch for batch in self.log if batch.last_offset >= offset]
        read = read[: self.random.randint(1, 4)]
        mode = AcquireMode(self.random.random() < 0.3)
        member = self.random.choice(MEMBERS)
        request = AcquireRequest(
            member, self.random.randint(1, 12), self.random.randint(1, 12), mode
        )
        end = machine.end_offset if machine.in_flight else -1
        compacted = range(offset, min(read[0].base_offset, end + 1)) if read else ()
        acquired = acquire(machine, request, Fetched(offset, read), self.limits, now_ms=self.now_ms)
        self.say(f"fetch {request} at {offset}: {acquired}")
        for gone in compacted:
            record = self.records.get(gone, Record())
            if record.state is AVAILABLE:
                self.records[gone] = Record(RecordState.ARCHIVED, record.deliveries)
        before = -1
        for each in acquired:
            assert before < each.first_offset <= each.last_offset, "ranges do not overlap"
            before = each.last_offset
            for taken in range(each.first_offset, each.last_offset + 1):
                record = self.records.get(taken, Record())
                assert (record.state, record.change) == (AVAILABLE, None), taken
                assert (
                    record.deliveries + 1 == each.delivery_count <= self.limits.delivery_count_limit
                )
                due_ms = self.now_ms + self.limits.lock_duration_ms
                self.records[taken] = Record(ACQUIRED, record.deliveries + 1, member, due_ms)
                self.delivered.add(taken)
        if mode is AcquireMode.RECORD_LIMIT:
            count = sum(each.last_offset - each.first_offset + 1 for each in acquired)
            assert count <= request.max_records
        return bool(acquired) or len(compacted) > 0

    def acknowledge(self, kinds: tuple[int, ...] = (0, 1, 1, 1, 2, 2, 3, 4)) -> None:
        """Some of what a member has, or, at times, anything."""
        member = self.random.choice(MEMBERS)
        owned = [
            offset
            for offset, record in sorted(self.records.items())
            if record.state is ACQUIRED and record.member == member and record.change is None
        ]
        if owned and self.random.random() < 0.8:
            first = self.random.choice(owned)
            last = first
            while last + 1 in owned and self.random.random() < 0.8:
                last += 1
        else:
            first = self.random.randint(0, self.log_end + 2)
            last = first + self.random.randint(0, 8)
        count = last - first + 1 if self.random.random() < 0.4 else 1
        types = [self.random.choice(kinds) for _ in range(count)]
        change = Change()
        asked = Acknowledgement(first, last, types)
        try:
            self.machine.acknowledge(change, member, asked, self.limits, now_ms=self.now_ms)
        except Refused as refused:
            self.say(f"{member} {asked}: {refused.code.name}")
            wrong = refused.code not in (Code.INVALID_REQUEST, Code.INVALID_RECORD_STATE)
            if wrong or set(range(first, last + 1)) <= set(owned):
                raise AssertionError(f"{member} has {asked}") from refused
            for renewed in self.renewed(asked, change, member):
                self.lock(renewed)
            self.machine.roll_back(change, self.limits, now_ms=self.now_ms)
            return
        self.say(f"{member} {asked}: {change.state_batches()}")
        for offset in range(first, last + 1):
            record = self.records.get(offset)
            if offset < self.machine.start_offset or record is None:
                continue
            assert (record.member, record.state) == (member, ACQUIRED), offset
            kind = AcknowledgeType(types[0] if count == 1 else types[offset - first])
            if kind is AcknowledgeType.RENEW:
                self.lock(offset)
            else:
                self.begin(offset, kind, change)
        self.write(change)

    def renewed(self, asked: Acknowledgement, change: Change, member: str) -> list[int]:
        """The records that a refused request has renewed before its error, as in Kafka."""
        renewed = []
        for offset in range(asked.first_offset, asked.last_offset + 1):
            record = self.records.get(offset)
            if record is None or record.member != member or record.state is not ACQUIRED:
                continue
            runs = list(self.machine.in_flight.overlapping(offset, offset))
            if runs and runs[0].change in (None, change) and runs[0].due_ms != record.due_ms:
                renewed.append(offset)
        return renewed

    def lock(self, offset: int) -> None:
        due_ms = self.now_ms + self.limits.lock_duration_ms
        self.records[offset] = self.records[offset]._replace(due_ms=due_ms)

    def begin(self, offset: int, kind: AcknowledgeType, change: Change) -> None:
        record = self.records[offset]
        state = {
            AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
            AcknowledgeType.GAP: RecordState.ARCHIVED,
            AcknowledgeType.REJECT: self.given_up_state(),
            AcknowledgeType.RELEASE: self.released(record),
        }[kind]
        self.records[offset] = record._replace(state=state, change=change)

    def given_up_state(self) -> RecordState:
        return RecordState.ARCHIVING if self.limits.has_dead_letters else RecordState.ARCHIVED

    def released(self, record: Record) -> RecordState:
        if record.deliveries < self.limits.delivery_count_limit:
            return AVAILABLE
        return self.given_up_state()

    def write(self, change: Change) -> None:
        if change:
            self.changes.append((change, self.machine.start_offset, change.state_batches()))

    def settle(self) -> None:
        """The share coordinator answers the oldest change."""
        if not self.changes:
            return
        change, start_offset, batches = self.changes.pop(0)
        if self.random.random() < 0.15:
            self.say(f"fails {batches}")
            self.machine.roll_back(change, self.limits, now_ms=self.now_ms)
            for offset, record in self.records.items():
                if record.change is change:
                    self.records[offset] = record._replace(state=ACQUIRED, change=None)
                    self.end_lock(offset, RecordState.ARCHIVED)
            return
        self.store(start_offset, batches)
        self.machine.commit(change)
        self.dead += dead_letters_of(change)
        self.say(f"stored {batches}")
        for offset, record in self.records.items():
            if record.change is change:
                self.records[offset] = Record(record.state, record.deliveries)

    def store(self, start_offset: int, batches: list[StateBatch]) -> None:
        self.stored_start = max(self.stored_start, start_offset)
        for first, last, state, count in batches:
            for offset in range(first, last + 1):
                self.stored[offset] = (RecordState(state), count)

    def pass_time(self) -> None:
        self.now_ms += self.random.choice((100, 400, 1500))
        while (change := self.machine.tick(self.limits, now_ms=self.now_ms)) is not None:
            self.say(f"a lock ends: {change.state_batches()}")
            if change:
                self.store(self.machine.start_offset, change.state_batches())
                self.dead += dead_letters_of(change)
        deadline = self.machine.next_deadline()
        assert deadline is None or deadline > self.now_ms
        for offset in list(self.records):
            self.end_lock(offset, self.given_up_state())
        self.machine.advance()

    def end_lock(self, offset: int, given_up: RecordState) -> None:
        record = self.records[offset]
        if record.state is ACQUIRED and record.change is None and record.due_ms <= self.now_ms:
            state = AVAILABLE if self.released(record) is AVAILABLE else given_up
            self.records[offset] = Record(state, record.deliveries)

    def leave(self) -> None:
        member, change = self.random.choice(MEMBERS), Change()
        self.say(f"{member} leaves")
        self.machine.release_member(change, member, self.limits)
        for offset, record in self.records.items():
            if record.member == member and record.state is ACQUIRED and record.change is None:
                self.begin(offset, AcknowledgeType.RELEASE, change)
        self.write(change)

    def delete_records(self) -> None:
        self.log_start = self.random.randint(self.log_start, self.log_end)
        self.say(f"the log begins at {self.log_start}")
        self.log = [batch for batch in self.log if batch.last_offset >= self.log_start]

    def lose_before(self, offset: int) -> None:
        for each in [each for each in self.records if each < offset]:
            del self.records[each]

    def compact(self) -> None:
        if len(self.log) > 2:
            gone = self.log.pop(self.random.randrange(len(self.log) - 1))
            self.say(f"compaction removes {gone}")

    def bury(self) -> None:
        if self.dead:
            dead = self.dead.pop(0)
            change = self.machine.bury(dead)
            self.store(self.machine.start_offset, change.state_batches())
            self.machine.commit(change)
            self.say(f"dead letters {dead}")
            for offset in range(dead.first_offset, dead.last_offset + 1):
                record = self.records.get(offset)
                if record is not None and record.state is RecordState.ARCHIVING:
                    self.records[offset] = Record(RecordState.ARCHIVED, record.deliveries)

    def move(self) -> None:
        """Another leader begins with what is stored."""
        start = self.stored_start
        known = sorted(offset for offset in self.stored if offset >= start)
        batches = [StateBatch(offset, offset, *self.stored[offset]) for offset in known]
        self.say(f"a new leader begins at {start} with {batches}")
        self.changes.clear()
        self.machine = SharePartition(start, batches)
        self.dead = self.machine.waiting_dead_letters()
        self.records = {
            offset: Record(*self.stored.get(offset, (AVAILABLE, 0)))
            for offset in range(start, (known or [start - 1])[-1] + 1)
        }

    # What must hold

    def check(self) -> None:
        machine = self.machine
        start = machine.start_offset
        for offset in [offset for offset in self.records if offset < start]:
            record = self.records.pop(offset)
            in_log = offset in self.offsets()
            assert record.state.is_terminal or not in_log, (offset, record, "was lost")
            if record.state is RecordState.ACKNOWLEDGED:
                self.accepted.add(offset)
            elif in_log:
                self.given_up.add(offset)
        after, done = start, 0
        for batch in machine.in_flight.batches:
            assert batch.first_offset >= after, "batches do not overlap"
            assert batch.runs, "a batch has records"
            after = batch.first_offset
            for run in batch.runs:
                assert run.first_offset == after <= run.last_offset, "runs follow each other"
                after = run.last_offset + 1
                done += len(run) if run.state.is_terminal else 0
                for offset in range(run.first_offset, after):
                    record = self.records.get(offset, Record())
                    assert run.state is record.state, (offset, run.state, record)
                    assert run.delivery_count == record.deliveries, (offset, record)
                    assert run.change is record.change, (offset, record)
                    if run.state is ACQUIRED:
                        assert (run.member_id, run.due_ms) == (record.member, record.due_ms)
            assert after == batch.last_offset + 1
        assert machine.delivery_complete_count == done
        first = machine.in_flight.batches[0].runs[0] if machine.in_flight else None
        assert first is None or not first.is_settled, "the start moves on"
        self.most = max(self.most, len(self.records))
        assert len(machine.locks) <= 2 * self.most + 64

    def drain(self) -> None:
        """Everything is accepted in the end: no record is left."""
        for _ in range(10_000):
            while self.changes:
                self.settle()
            while self.dead:
                self.bury()
            self.now_ms += 2000
            self.pass_time()
            moved = self.fetch()
            for member in MEMBERS:
                self.accept_all(member)
            self.check()
            if (
                not moved
                and not self.changes
                and not self.dead
                and self.machine.end_offset + 1 >= self.log_end
            ):
                break
        left = {offset for offset in self.offsets() if offset >= self.machine.start_offset}
        assert not left, f"never delivered: {sorted(left)[:10]}"

    def accept_all(self, member: str) -> None:
        change = Change()
        for offset, record in sorted(self.records.items()):
            if record.member == member and record.state is ACQUIRED and record.change is None:
                asked = Acknowledgement(offset, offset, [1])
                self.machine.acknowledge(change, member, asked, self.limits, now_ms=self.now_ms)
                self.begin(offset, AcknowledgeType.ACCEPT, change)
        self.write(change)


def run(seed: int, steps: int = 250, *, tells: bool = False) -> RandomRun:
    """The run of a seed, to its end."""
    one = RandomRun(seed, tells=tells)
    for _ in range(steps):
        one.step()
    one.drain()
    return one


if __name__ == "__main__":
    run(int(sys.argv[1]), tells=True)

"""One run: share groups from a seed, their faults, and the checks at the end.

After the faults the members that are left must get all partitions of their topics, evenly, within a
time that the timeouts bound.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from ottla.coordinator.consumer.topics import metadata_hash
from ottla.coordinator.groups import Groups
from ottla.coordinator.share.group import ShareGroup
from ottla.coordinator.share.kind import ShareKind
from ottla.protocol.errors import Refused
from tests.coordinator.consumer.conversation import FakeTopics

from ..network import Chances, Network
from ..scheduler import Ran, Scheduler
from .coordinator import LIMITS, RETRY_MS, SPACE, Coordinator
from .members import Member

_TROUBLE_MS: Final = 15_000
_SLICE_MS: Final = 100
_BOUND_MS: Final = 3 * LIMITS.session_timeout_ms + RETRY_MS + 10_000
_TOPICS: Final = ("orders", "stock", "bills")
_CHANCES: Final = (
    Chances(),
    Chances(usual_ms=30),
    Chances(lost=0.02, doubled=0.05, late=0.05),
    Chances(lost=0.08, doubled=0.15, late=0.2, usual_ms=20),
)


class World:
    """The coordinator, members and faults of one run."""

    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        self.random = random = scheduler.random
        self.topics = FakeTopics()
        for name in _TOPICS[: random.randint(1, 3)]:
            self.topics.make(name, random.randint(1, 4))
        self.coordinator = Coordinator(scheduler, self.topics)
        self.coordinator.refused = random.choice([0, 0, 0.05, 0.2])
        self.coordinator.crashes = random.choice([0, 0.01, 0.05])
        self.coordinator.fails = random.choice([0, 0.1, 0.5])
        self.coordinator.late_ms = random.choice([10, 1_000, 6_000])
        self.network = Network(scheduler, random.choice(_CHANCES), Chances())
        self.groups = random.choice([("queue",), ("queue", "other")])
        self.subscriptions: dict[str, frozenset[str]] = {}
        self.members: list[Member] = []
        self._named = 0
        for group_id in self.groups:
            for _ in range(random.randint(1, 3)):
                self._add(group_id)

    def _add(self, group_id: str) -> None:
        if sum(each.group_id == group_id for each in self.members) < len(SPACE) - 2:
            topics = frozenset(self.random.sample(_TOPICS, self.random.randint(1, 3)))
            self._named += 1
            around = self.coordinator, self.network, self.topics
            self.members.append(Member(around, group_id, f"m{self._named}", topics))

    # ---- the run

    def run(self) -> Ran:
        """Run faults, then let the groups converge and check them."""
        for _ in range(_TROUBLE_MS // _SLICE_MS):
            self._pass_time()
            if self.random.random() < 0.1:
                self._fault()
        self._calm_down()
        self._converge()
        self._die_out()
        return Ran(self.scheduler.trace, self.scheduler.happened)

    def _pass_time(self) -> None:
        self.scheduler.run(self.scheduler.now_ms + _SLICE_MS)
        self.coordinator.tick()
        machine = self.coordinator.machine
        if machine is not None:
            self._check_always(machine)

    def _check_always(self, machine: Groups) -> None:
        """Members are assigned partitions with share state of topics that they subscribe to."""
        for group in machine.kind(ShareKind).groups.values():
            for member in group.members.values():
                assert member.member_epoch <= group.epoch, f"{member} is ahead of its group"
                for topic_id, indexes in member.assigned.items():
                    topic = self.topics.by_id(topic_id)
                    if topic is None:
                        continue  # it is taken away with the next heartbeat
                    assert topic.name in member.subscribed_topic_names, member
                    state = group.initialized.get(topic_id)
                    assert state is not None, f"{topic.name} has no share state"
                    assert indexes <= state.partitions, f"{topic.name} has no share state"

    def _fault(self) -> None:
        """One of the things that go wrong, or that people do."""
        random, note = self.random, self.scheduler.note
        group_id = random.choice(self.groups)
        mine = [each for each in self.members if each.group_id == group_id]
        match random.randrange(9):
            case 0:
                self.coordinator.crash("by chance")
            case 1 | 2:
                self._add(group_id)
            case 3 if mine:
                self._lose(random.choice(mine), politely=random.random() < 0.5)
            case 4 if mine:
                note("member stalls")
                stalls_ms = random.choice([1_000, LIMITS.session_timeout_ms + 1_000])
                random.choice(mine).process.paused_until_ms = self.scheduler.now_ms + stalls_ms
            case 5 if mine:
                note("subscription changes")
                topics = frozenset(random.sample(_TOPICS, random.randint(1, 3)))
                random.choice(mine).change_topics(topics)
            case 6:
                self._change_topics()
            case 7:
                self._administer(group_id)
            case _:
                note("nothing happens")

    def _lose(self, member: Member, *, politely: bool) -> None:
        self.members.remove(member)
        self.scheduler.note("member leaves" if politely else "member dies", member.name)
        if politely:
            member.leave()
        else:
            member.die()

    def _change_topics(self) -> None:
        name = self.random.choice(_TOPICS)
        known = self.topics.by_name(name)
        if known is None:
            self.scheduler.note("topic made", name)
            self.topics.make(name, self.random.randint(1, 4))
        elif self.random.random() < 0.5 and known.partition_count < 6:
            self.scheduler.note("topic grows", name)
            self.topics.grow(name, known.partition_count + 1)
        else:
            self.scheduler.note("topic deleted", name)
            self.topics.delete(name)
            self.coordinator.attempt(lambda machine, _: machine.forget_topic(name))

    def _administer(self, group_id: str) -> None:
        """Alter or delete offsets, or the group; most of it is refused while it has members."""
        attempt, random = self.coordinator.attempt, self.random
        if random.random() < 0.3:
            for member in [each for each in self.members if each.group_id == group_id]:
                self._lose(member, politely=True)
            self._pass_time()
        match random.randrange(3):
            case 0:
                places = [(random.choice(_TOPICS), random.randrange(4), 7)]
                altered = attempt(
                    lambda machine, _: machine.kind(ShareKind).alter_offsets(group_id, places)
                )
                if altered is not None and altered.partitions:
                    self.scheduler.note("offsets altered")
                    done = {each.topic_id: frozenset({each.partition}) for each in altered[2]}
                    attempt(lambda m, _: m.kind(ShareKind).initialized(group_id, done))
            case 1:
                names = random.sample(_TOPICS, 2)
                going = attempt(
                    lambda m, _: m.kind(ShareKind).begin_deleting_offsets(group_id, names)
                )
                if going is not None and going.topics:
                    self.scheduler.note("offsets deleted")
                    gone = list(going.topics)
                    attempt(lambda m, _: m.kind(ShareKind).deleted_offsets(group_id, gone))
            case _:
                kind = self._machine_or_none()
                if kind is not None and group_id in kind.groups:
                    begun = attempt(lambda m, _: m.kind(ShareKind).begin_deletion(group_id))
                    if begun is not None and random.random() < 0.8:
                        self.scheduler.note("group deleted")
                        attempt(lambda machine, _: machine.delete([group_id]))

    def _machine_or_none(self) -> ShareKind | None:
        machine = self.coordinator.machine
        return None if machine is None else machine.kind(ShareKind)

    # ---- the end

    def _calm_down(self) -> None:
        self.scheduler.note("calm")
        self.network.calm_down()
        self.network.forget()
        self.coordinator.refused = self.coordinator.crashes = self.coordinator.fails = 0.0
        self.coordinator.late_ms = 10
        for name in _TOPICS:
            if self.topics.by_name(name) is None and self.random.random() < 0.5:
                self.topics.make(name, 2)
        for group_id in self.groups:
            if not any(each.group_id == group_id for each in self.members):
                self._add(group_id)
        for member in self.members:
            member.change_topics(member.subscribed)

    def _converge(self) -> None:
        why = ""
        for _ in range(_BOUND_MS // _SLICE_MS):
            self._pass_time()
            why = next(filter(None, map(self._unrest, self.groups)), "")
            if not why:
                break
        assert not why, f"not at rest after {_BOUND_MS} ms: {why}"
        self.coordinator.check_replay()

    def _unrest(self, group_id: str) -> str:
        """Why a group has not converged; empty if it has."""
        kind = self._machine_or_none()
        if kind is None or group_id not in kind.groups:
            return f"{group_id} is not there"
        group = kind.groups[group_id]
        mine = [each for each in self.members if each.group_id == group_id]
        if {each.name for each in mine} != group.members.keys():
            return f"{group_id} has the members {list(group.members)}"
        waiting = self._waiting(group)
        if group.target_epoch != group.epoch or waiting:
            return f"{group_id} is of epoch {group.epoch}, its target of {group.target_epoch}"
        if group.metadata_hash != metadata_hash(group.subscribers, self.topics):
            return f"{group_id} has not noticed that its topics have changed"
        holders: Counter[tuple[str, int]] = Counter()
        for member in mine:
            told = self.topics.named(group.members[member.name].assigned)
            if member.epoch != group.epoch or member.assigned != told:
                return f"{member.name} has {member.assigned} and not {told}"
            holders.update((name, index) for name, found in told.items() for index in found)
        return self._uneven(holders, mine)

    def _waiting(self, group: ShareGroup) -> set[str]:
        """Subscribed topics with partitions whose share state is not initialized yet.

        A crash may leave others: gone ones, those without subscribers, or those that have state.
        """
        left = set()
        for topic_id, state in group.initializing.items():
            topic, known = self.topics.by_id(topic_id), group.initialized.get(topic_id)
            is_new = known is None or not state.partitions <= known.partitions
            if topic is not None and topic.name in group.subscribers and is_new:
                left.add(topic.name)
        return left

    def _uneven(self, holders: Counter[tuple[str, int]], mine: list[Member]) -> str:
        for name in _TOPICS:
            subscribed = [each for each in mine if name in each.subscribed]
            topic = self.topics.by_name(name)
            if topic is None:
                continue
            counts = [holders[name, index] for index in range(topic.partition_count)]
            if subscribed and min(counts) == 0:
                return f"a partition of {name} has no member: {counts}"
            if max(counts) > -(-len(subscribed) // topic.partition_count):
                return f"too many members share a partition of {name}: {counts}"
        return ""

    def _die_out(self) -> None:
        """Kill all members; all sessions expire, also after a restart of the coordinator."""
        for member in self.members:
            member.die()
        if self.random.random() < 0.5:
            self.coordinator.crash("when all are gone")
        for _ in range(2 * LIMITS.session_timeout_ms // _SLICE_MS):
            self._pass_time()
        machine = self.coordinator.machine
        assert machine is not None
        left = [each.group_id for each in machine.list_groups() if each.state != "Empty"]
        assert not left, f"the members of {left} are not removed"
        for group_id in self.groups:
            self._delete(machine, group_id)
        self.coordinator.check_replay()

    def _delete(self, machine: Groups, group_id: str) -> None:
        kind = machine.kind(ShareKind)
        try:
            self.coordinator.run(lambda _, __: kind.begin_deletion(group_id))
        except Refused as refused:
            raise AssertionError(f"{group_id} cannot be deleted: {refused}") from refused
        self.coordinator.run(lambda _, __: machine.delete([group_id]))
        assert machine.kind_name_of(group_id) is None

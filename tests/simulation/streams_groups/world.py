"""One run: streams groups from a seed, their faults, and the checks at the end.

After the faults the members that are left must get all tasks of their topology, and the standbys
of these, within a time that the timeouts bound.
"""

from __future__ import annotations

from typing import Final

from ottla.coordinator.streams.group import StreamsGroup
from ottla.coordinator.streams.kind import StreamsKind
from ottla.coordinator.streams.topology import Subtopology, TopicInfo, Topology
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import FakeTopics

from ..network import Chances, Network
from ..scheduler import Ran, Scheduler
from .coordinator import REBALANCE_MS, SESSION_MS, Coordinator
from .invariants import Epochs, check_member, check_owners, check_processes, unrest
from .members import Member

_TROUBLE_MS: Final = 12_000
_SLICE_MS: Final = 100
_BOUND_MS: Final = 3 * SESSION_MS + 3 * REBALANCE_MS + 10_000
_MOST_MEMBERS: Final = 5
_SOURCES: Final = ("lines", "names")
_CHANCES: Final = (
    Chances(),
    Chances(usual_ms=30),
    Chances(lost=0.02, doubled=0.05, late=0.05),
    Chances(lost=0.08, doubled=0.15, late=0.2, usual_ms=20),
)


def _topologies(group_id: str) -> tuple[Topology, ...]:
    """A filter, counts of a join, and counts behind a repartition topic."""
    changelog = TopicInfo(f"{group_id}-changelog")
    shuffled = TopicInfo(f"{group_id}-repartition")
    return (
        Topology(0, (Subtopology("0", ("lines",)),)),
        Topology(0, (Subtopology("0", _SOURCES, state_changelog_topics=(changelog,)),)),
        Topology(
            0,
            (
                Subtopology("0", ("lines",), repartition_sink_topics=(shuffled.name,)),
                Subtopology(
                    "1", state_changelog_topics=(changelog,), repartition_source_topics=(shuffled,)
                ),
            ),
        ),
    )


class World:
    """The coordinator, members and faults of one run."""

    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        self.random = random = scheduler.random
        self.topics = FakeTopics()
        for name in _SOURCES[: random.choice([0, 1, 2, 2])]:
            self.topics.make(name, random.randint(1, 4))
        self.coordinator = Coordinator(scheduler, self.topics)
        self.coordinator.refused = random.choice([0, 0, 0.05, 0.2])
        self.coordinator.crashes = random.choice([0, 0.01, 0.05])
        self.coordinator.fails = random.choice([0, 0, 0.5])
        self.network = Network(scheduler, random.choice(_CHANCES), Chances())
        self.topologies = {
            group_id: random.choice(_topologies(group_id))
            for group_id in random.choice([("words",), ("words", "other")])
        }
        self.members: list[Member] = []
        self.epochs = Epochs()
        self._named = 0
        self._is_over = False
        for group_id in self.topologies:
            for _ in range(random.randint(2, _MOST_MEMBERS)):
                self._add(group_id)

    def _of(self, group_id: str) -> list[Member]:
        return [each for each in self.members if each.group_id == group_id]

    def _add(self, group_id: str) -> None:
        mine = self._of(group_id)
        if len(mine) >= _MOST_MEMBERS:
            return
        self._named += 1
        process_id = f"p{self._named}"
        if mine and self.random.random() < 0.3:
            process_id = self.random.choice(mine).process_id  # another thread of it
        instance_id = f"i{self._named}" if self.random.random() < 0.4 else None
        self._start(group_id, process_id, instance_id)

    def _start(self, group_id: str, process_id: str, instance_id: str | None) -> None:
        around = self.coordinator, self.network
        self.members.append(
            Member(
                around, group_id, f"m{self._named}", self.topologies[group_id],
                process_id=process_id, instance_id=instance_id,
            )
        )  # fmt: skip

    # ---- the run

    def run(self) -> Ran:
        """Run faults, then let the groups converge and check them."""
        for _ in range(_TROUBLE_MS // _SLICE_MS):
            self._pass_time()
            if self.random.random() < 0.12:
                self._fault()
        self._calm_down()
        self._converge()
        self._change_standbys()
        self._converge()
        self._restart(self.random.choice(self.members))
        self._converge()
        self._die_out()
        return Ran(self.scheduler.trace, self.scheduler.happened)

    def _pass_time(self) -> None:
        self.scheduler.run(self.scheduler.now_ms + _SLICE_MS)
        self.coordinator.tick()
        self.members = [each for each in self.members if each.process.is_alive]
        for group in self._groups().values():
            if self.epochs.check(group):
                self.scheduler.note("group rebalances", group.group_id, group.epoch)
            check_owners(group, self.members)
            check_processes(group)
            for member in group.members.values():
                check_member(group, member)

    def _groups(self) -> dict[str, StreamsGroup]:
        """The groups; none while the coordinator is not there."""
        machine = self.coordinator.machine
        return {} if machine is None else dict(machine.kind(StreamsKind).groups)

    def _fault(self) -> None:
        """One of the things that go wrong, or that people do."""
        random, note = self.random, self.scheduler.note
        group_id = random.choice(list(self.topologies))
        mine = self._of(group_id)
        if not mine:
            self._add(group_id)
            return
        match random.randrange(11):
            case 0:
                self.coordinator.crash("by chance")
            case 1 | 2:
                self._add(group_id)
            case 3 | 4 if len(mine) > 1:
                self._lose(random.choice(mine), politely=random.random() < 0.5)
            case 5:
                note("member stalls")
                stalls_ms = random.choice([1_000, SESSION_MS + 1_000])
                random.choice(mine).process.paused_until_ms = self.scheduler.now_ms + stalls_ms
            case 6:
                self._change_standbys()
            case 7 | 8:
                self._change_topics()
            case 9 if random.random() < 0.3:
                self._empty(group_id)
            case 10:
                self._restart(random.choice(mine))
            case _:
                note("nothing happens")

    def _change_standbys(self) -> None:
        count = self.random.randint(0, 2)
        self.scheduler.note("standbys change", count)
        self.coordinator.change_standbys(count)

    def _lose(self, member: Member, *, politely: bool) -> None:
        self.members.remove(member)
        self.scheduler.note("member leaves" if politely else "member dies", member.name)
        if politely:
            member.leave()
        else:
            member.die()

    def _restart(self, member: Member) -> None:
        """A static member is away for a while; a new one of its instance takes its place."""
        if member.instance_id is None:
            return
        self.members.remove(member)
        self.scheduler.note("instance restarts", member.instance_id)
        member.leave(is_back_soon=True)

        def back() -> None:
            if not self._is_over:
                self._named += 1
                self._start(member.group_id, member.process_id, member.instance_id)

        self.scheduler.after(self.random.randint(0, SESSION_MS * 4 // 3), back)

    def _change_topics(self) -> None:
        """A source appears, grows or is deleted; or an internal topic is deleted."""
        names = sorted(self.topics.names())
        name = self.random.choice([*_SOURCES, *names])
        known = self.topics.by_name(name)
        if known is None:
            self.scheduler.note("source made", name)
            self.topics.make(name, self.random.randint(1, 4))
        elif name in _SOURCES and self.random.random() < 0.7 and known.partition_count < 5:
            self.scheduler.note("source grows", name)
            self.topics.grow(name, known.partition_count + 1)
        else:
            self.scheduler.note("topic deleted", name)
            self.topics.delete(name)
            self.coordinator.attempt(lambda machine, _: machine.forget_topic(name))

    def _empty(self, group_id: str) -> None:
        """All members of a group leave, and it may be deleted."""
        for member in self._of(group_id):
            self._lose(member, politely=True)
        self._pass_time()
        if self.random.random() < 0.5:
            self._delete(group_id)

    def _delete(self, group_id: str) -> bool:
        done = self.coordinator.attempt(lambda machine, _: machine.delete([group_id]))
        is_deleted = done is not None and done.get(group_id) is Code.NONE
        if is_deleted:
            self.scheduler.note("group deleted", group_id)
        if is_deleted or self.coordinator.machine is None:  # or it may be, after a crash
            self.epochs.forget(group_id)
        return is_deleted

    # ---- the end

    def _calm_down(self) -> None:
        self.scheduler.note("calm")
        self.network.calm_down()
        self.network.forget()
        self.coordinator.refused = self.coordinator.crashes = self.coordinator.fails = 0.0
        for name in sorted(self.topics.names()):
            if name not in _SOURCES:
                self.topics.delete(name)  # its number of partitions may be wrong by now
        for name in _SOURCES:
            if self.topics.by_name(name) is None:
                self.topics.make(name, 5)

    def _converge(self) -> None:
        why = ""
        for _ in range(_BOUND_MS // _SLICE_MS):
            self._pass_time()
            for group_id in self.topologies:
                if not self._of(group_id):
                    self._add(group_id)
            for member in self.members:
                member.is_calm = True
            why = next(filter(None, map(self._unrest, self.topologies)), "")
            if not why:
                break
        assert not why, f"not at rest after {_BOUND_MS} ms: {why}"
        self.coordinator.check_replay()

    def _unrest(self, group_id: str) -> str:
        group = self._groups().get(group_id)
        if group is None:
            return f"{group_id} is not there"
        standbys = self.coordinator.settings.num_standby_replicas
        return unrest(group, self._of(group_id), self.topics, standbys)

    def _die_out(self) -> None:
        """Kill all members; all sessions expire, also after a move of the coordinator."""
        self._is_over = True
        for member in self.members:
            member.die()
        if self.random.random() < 0.5:
            self.coordinator.crash("when all are gone")
        for _ in range(2 * SESSION_MS // _SLICE_MS):
            self._pass_time()
        left = {each: group.state.value for each, group in self._groups().items() if group.members}
        assert not left, f"the members of {left} are not removed"
        for group_id in self.topologies:
            assert self._delete(group_id), f"{group_id} cannot be deleted"
        self.coordinator.crash("when all are deleted")
        while self.coordinator.machine is None:
            self._pass_time()
        assert not self._groups(), "a deleted group is there again"

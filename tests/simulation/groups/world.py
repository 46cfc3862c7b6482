"""One run: groups from a seed, their faults, and the checks at the end.

After the faults every seat has one live member. Then every group must become stable within a time
that its timeouts bound, with exactly one owner of every partition and no parked request.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.consumer.requests import ConsumerGroupSettings
from tests.coordinator.consumer.conversation import FakeTopics

from ..network import Chances
from ..scheduler import Ran, Scheduler
from .client import TRANSACTION_MS, PatientNetwork, Surroundings, Timing
from .coordinator import Coordinator
from .crowd import Crowd, Seat
from .faults import TOPICS, Faults
from .oracle import Held, Oracle

_TROUBLE_MS: Final = 20_000
_SLACK_MS: Final = 4_000
_SLICE_MS: Final = 250
_GROWS: Final = (4_000 // _SLICE_MS, 16_000 // _SLICE_MS)
_NEVER_MS: Final = 1 << 40
_NO_LIMIT: Final = 1 << 20
_INITIAL_DELAY_MS: Final = 500

_CHANCES: Final = (
    Chances(),
    Chances(usual_ms=30),
    Chances(lost=0.02, doubled=0.05, late=0.05),
    Chances(lost=0.03, doubled=0.1, late=0.25),
    Chances(lost=0.08, doubled=0.15, late=0.2, usual_ms=20),
)
_KINDS: Final = (("classic",), ("consumer",), ("classic", "consumer"))


class World:
    """The coordinator, members and faults of one run."""

    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        random = scheduler.random
        kinds = random.choice(_KINDS)
        cooperative = random.random() < 0.5
        scheduler.note("world", "+".join(kinds), "cooperative" if cooperative else "eager")
        self.topics = FakeTopics()
        for name in TOPICS[: random.randint(1, 3)]:
            self.topics.make(name, random.randint(1, 4))
        self.timing = Timing(rebalance_ms=random.choice([2_000, 4_000]))
        retention_ms = random.choice([_NEVER_MS, 6_000])
        self.oracle = Oracle(self.topics, retention_ms)
        self.coordinator = Coordinator(
            scheduler, self.topics, self._settings(retention_ms), self.oracle,
            late_ms=random.choice([0, 0, 40, 400]), refused=random.choice([0, 0, 0.03, 0.15]),
            batch_bytes=random.choice([_NO_LIMIT, _NO_LIMIT, 250, 1_000]),
        )  # fmt: skip
        self.network = PatientNetwork(scheduler, random.choice(_CHANCES), Chances())
        self.around = Surroundings(
            scheduler, self.network, self.coordinator, self.topics, self.oracle, self.timing
        )
        self.crowd = Crowd(self.around, kinds)
        names = random.choice([("shoppers",), ("shoppers by regex",), ("shoppers", "shop")])
        for group_id in names:
            for number in range(random.randint(2, 4) if len(names) == 1 else 2):
                self._add_seat(group_id, number, kinds, cooperative=cooperative)
        has_static = any(seat.instance is not None for seat in self.crowd.seats)
        by_regex = any(group_id.endswith("regex") for group_id in names)
        self._changes_kind = len(kinds) > 1 and (has_static or by_regex)
        self.faults = Faults(self.around, self.crowd, every_ms=random.choice([400, 1_000, 2_500]))

    def _settings(self, retention_ms: int) -> tuple[GroupSettings, ConsumerGroupSettings]:
        timing = self.timing
        classic = GroupSettings(
            min_session_timeout_ms=1_000,
            initial_rebalance_delay_ms=self.scheduler.random.choice([0, _INITIAL_DELAY_MS]),
            new_member_join_timeout_ms=2 * timing.rebalance_ms,
            offsets_retention_ms=retention_ms,
            offsets_retention_check_interval_ms=2_000,
        )
        consumer = ConsumerGroupSettings(
            session_timeout_ms=timing.session_ms,
            heartbeat_interval_ms=timing.heartbeat_ms,
            assignors=self.scheduler.random.choice([("uniform", "range"), ("range", "uniform")]),
        )
        return classic, consumer

    def _add_seat(
        self, group_id: str, number: int, kinds: tuple[str, ...], *, cooperative: bool
    ) -> None:
        random = self.scheduler.random
        seat = Seat(
            self.crowd, group_id, f"{group_id[:5]}-{number}", kinds=kinds,
            instance=f"instance-{number}" if random.random() < 0.3 else None,
            topics=random.sample(TOPICS, random.randint(1, 3)), cooperative=cooperative,
        )  # fmt: skip
        self.crowd.seats.append(seat)

    def run(self) -> Ran:
        """Run faults, then let the groups converge and check them."""
        for seat in self.crowd.seats:
            seat.start()
        for _ in range(_TROUBLE_MS // _SLICE_MS):
            self._pass_time()
        self._calm_down()
        self._converge(grows=self._changes_kind or bool(self.coordinator.forgot_to_rebalance))
        self._lose_one_of_each()
        self._converge(grows=False)
        self._check_the_end()
        return Ran(self.scheduler.trace, self.scheduler.happened)

    def _pass_time(self) -> None:
        self.scheduler.run(self.scheduler.now_ms + _SLICE_MS)
        self._check_parked()

    def _check_parked(self) -> None:
        """No request waits longer than a rebalance may last."""
        coordinator = self.coordinator
        longest_ms = 2 * self.timing.rebalance_ms + _INITIAL_DELAY_MS + _SLACK_MS
        for parking in coordinator.parked.values():
            waits_ms = self.scheduler.now_ms - parking.since_ms
            assert waits_ms <= longest_ms, f"{parking.who} was not answered for {waits_ms} ms"

    def _calm_down(self) -> None:
        self.scheduler.note("calm")
        self.faults.stop()
        self.network.calm_down()
        self.network.forget()
        self.around.is_calm = True
        self.coordinator.dies_in = 0
        self.coordinator.late_ms = 0
        self.coordinator.refused = 0
        self.coordinator.batch_bytes = _NO_LIMIT
        self.crowd.calm_down()

    def _lose_one_of_each(self) -> None:
        """Without other faults, one member of each group leaves or is killed."""
        random, crowd = self.scheduler.random, self.crowd
        for group_id in dict.fromkeys(seat.group_id for seat in crowd.seats):
            seats = [seat for seat in crowd.seats if seat.group_id == group_id]
            gone = random.choice(seats)
            crowd.seats.remove(gone)
            assert gone.client is not None
            if random.random() < 0.5:
                crowd.leave(gone.client)
            else:
                gone.client.die()

    def _converge(self, *, grows: bool) -> None:
        """Let the groups converge, and stay stable.

        A group changes its kind without a rebalance if a static member returns with the other
        protocol, or if a subscription matches no topic. New members then have no partitions, and
        changes of topics are not seen, until the next change, as in Apache Kafka. The same is true
        after a crash during a downgrade, and in groups that owe a rebalance. Topics therefore
        change twice here: members may be late.
        """
        timing = self.timing
        bound_ms = 3 * timing.session_ms + 4 * timing.rebalance_ms + 15_000
        why = ""
        at_rest = 0
        for number in range(bound_ms // _SLICE_MS):
            self._pass_time()
            self.crowd.revive()
            grows = grows or bool(self.coordinator.owing)
            if number in _GROWS and grows:
                at_rest = 0
                self.faults.grow_all()
            why = self._unrest()
            at_rest = 0 if why else at_rest + 1
            if at_rest == 8 and not (grows and number <= _GROWS[0]):
                return
        raise AssertionError(f"not stable after {bound_ms} ms: {why}")

    def _unrest(self) -> str:
        machine = self.coordinator.machine
        if machine is None:
            return "the coordinator is not there"
        if self.coordinator.parked:
            return f"parked: {[each.who for each in self.coordinator.parked.values()]}"
        for group_id in dict.fromkeys(seat.group_id for seat in self.crowd.seats):
            states = [each.state for each in machine.list_groups() if each.group_id == group_id]
            if states != ["Stable"]:
                return f"{group_id} is {states}"
            why = self._unassigned(group_id)
            if why:
                return why
        return ""

    def _unassigned(self, group_id: str) -> str:
        """Partitions with wrong or missing owners, as text; empty if there are none."""
        clients = [
            seat.client
            for seat in self.crowd.seats
            if seat.group_id == group_id and seat.client is not None
        ]
        held: dict[Held, str] = {}
        wanted: set[Held] = set()
        for client in clients:
            if not client.is_stable:
                return f"{client.name} has no assignment"
            for name in client.topics_now:
                facts: Any = self.topics.by_name(name)
                wanted |= {
                    Held(name, facts.topic_id, index) for index in range(facts.partition_count)
                }
            for each in client.owned:
                if each in held:
                    return f"{each} is of {held[each]} and of {client.name}"
                if each.topic not in client.topics_now:
                    return f"{client.name} has {each}, to which it is not subscribed"
                held[each] = client.name
        if held.keys() != wanted:
            return f"{group_id}: {sorted(held.keys() ^ wanted)} are in the wrong hands"
        return ""

    def _die_out(self) -> None:
        """Kill all members; all sessions must expire, also after a restart of the coordinator."""
        for client in self.crowd.clients:
            client.die()
        if self.scheduler.random.random() < 0.5:
            self.coordinator.crash("when all are gone")
        bound_ms = self.timing.session_ms + 6 * self.timing.rebalance_ms + _SLACK_MS
        left: list[str] = []
        for number in range(bound_ms // _SLICE_MS):
            self._pass_time()
            machine = self.coordinator.machine
            if machine is not None and number * _SLICE_MS > TRANSACTION_MS:
                left = [each.group_id for each in machine.list_groups() if each.state != "Empty"]
                if not left:
                    return
        raise AssertionError(f"after {bound_ms} ms the members of {left} are not removed")

    def _check_the_end(self) -> None:
        self._die_out()
        machine = self.coordinator.machine
        assert machine is not None
        self.coordinator.check_replay()
        self.oracle.check_offsets(machine)
        self.oracle.check_nothing_pending(machine, self.oracle.positions)
        for earlier, later in pairwise(self.scheduler.trace):
            assert earlier[0] <= later[0]  # type: ignore[operator]  # another type would fail the test

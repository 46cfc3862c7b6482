"""The coordinator of one partition of `__consumer_offsets`, which also makes internal topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.groups import Groups
from ottla.coordinator.streams.configured import InternalTopic
from ottla.coordinator.streams.groups import StreamsSetup
from ottla.coordinator.streams.kind import StreamsKind
from ottla.coordinator.streams.requests import StreamsGroupSettings
from tests.coordinator.consumer.conversation import FakeTopics

from ..group_coordinator import GroupCoordinator
from ..groups.log import replay
from ..scheduler import Scheduler

SESSION_MS: Final = 3_000
HEARTBEAT_MS: Final = 300
REBALANCE_MS: Final = 2_000


class Coordinator(GroupCoordinator):
    """A coordinator of streams groups.

    Attributes:
        settings: of all groups.
        fails: the chance that an internal topic is not made.
    """

    def __init__(self, scheduler: Scheduler, topics: FakeTopics) -> None:
        self.topics = topics
        self.fails = 0.0
        random = scheduler.random
        self.settings = StreamsGroupSettings(
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            num_standby_replicas=random.choice([0, 1, 2]),
            initial_rebalance_delay_ms=random.choice([0, 0, 700]),
            assignment_interval_ms=random.choice([0, 400]),
        )
        super().__init__(scheduler)

    def fresh(self) -> Groups:
        setup = StreamsSetup(self.topics, lambda _: self.settings)
        return Groups(GroupSettings(), {"streams": lambda: setup})

    def change_standbys(self, count: int) -> None:
        """Alter `num.standby.replicas` of the groups."""
        self.settings = replace(self.settings, num_standby_replicas=count)

    def make_topics(self, missing: Iterable[InternalTopic]) -> None:
        """Make internal topics, some time later, as the broker does for a heartbeat."""
        random = self.scheduler.random
        for topic in missing:
            if random.random() < self.fails:
                self.scheduler.note("internal topic fails", topic.name)
            else:
                self.scheduler.after(random.randint(0, 100), lambda made=topic: self._make(made))  # type: ignore[misc]  # mypy cannot type the default

    def _make(self, topic: InternalTopic) -> None:
        if self.topics.by_name(topic.name) is None:
            self.scheduler.note("internal topic made", topic.name, topic.partitions)
            self.topics.make(topic.name, topic.partitions)

    def _come_back(self) -> None:
        """Read the compacted log; the whole one leads to the same state."""
        super()._come_back()
        assert self.machine is not None
        whole = self.fresh()
        replay(whole, self._log.stored())
        assert self.contents(whole) == self.contents(self.machine), "compaction changes a group"

    def contents(self, machine: Groups) -> dict[str, Any]:
        return {
            group_id: (
                group.epoch_record,
                group.target_record,
                dict(group.members),
                dict(group.targets),
                group.topology,
                vars(group.holders),
            )
            for group_id, group in machine.kind(StreamsKind).groups.items()
        }

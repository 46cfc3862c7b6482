"""The coordinator of one partition of `__consumer_offsets`, and the share coordinator behind it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.groups import Groups
from ottla.coordinator.share.effects import InitializeShareState
from ottla.coordinator.share.groups import ShareSetup
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import ShareGroupLimits
from tests.coordinator.consumer.conversation import FakeTopics

from ..group_coordinator import GroupCoordinator
from ..scheduler import Scheduler

LIMITS: Final = ShareGroupLimits(3_000, 500, 700)
SPACE: Final = tuple(f"m{number}" for number in range(6))
RETRY_MS: Final = 4_000


class Coordinator(GroupCoordinator):
    """A coordinator of share groups.

    Attributes:
        fails: the chance that share state is not initialized.
        late_ms: the longest initialization.
    """

    def __init__(self, scheduler: Scheduler, topics: FakeTopics) -> None:
        self.topics = topics
        self.fails = 0.0
        self.late_ms = 1_000
        super().__init__(scheduler)

    def fresh(self) -> Groups:
        setup = ShareSetup(self.topics, lambda _: LIMITS, len(SPACE) - 2, RETRY_MS)
        return Groups(GroupSettings(), {"share": lambda: setup})

    def carry_out(self, machine: Groups, effect: Any) -> None:
        if isinstance(effect, InitializeShareState):
            self._initialize(machine, effect)

    def _initialize(self, machine: Groups, order: InitializeShareState) -> None:
        """Have the share coordinator initialize state, some time later."""
        random = self.scheduler.random
        partitions: dict[UUID, frozenset[int]] = {}
        for topic_id, index, start_offset in order.partitions:
            assert start_offset in (-1, 0), order
            partitions[topic_id] = partitions.get(topic_id, frozenset()) | {index}
        fails = random.random() < self.fails

        def done() -> None:
            if self.machine is not machine:
                return  # the shard that waited for it is closed
            self.scheduler.note("state fails" if fails else "state initialized", order.group_id)
            kind = machine.kind(ShareKind)
            note = kind.not_initialized if fails else kind.initialized
            self.attempt(lambda _, __: note(order.group_id, partitions))

        self.scheduler.after(random.randint(0, self.late_ms), done)

    def contents(self, machine: Groups) -> dict[str, Any]:
        return {
            group_id: (
                group.epoch,
                group.metadata_hash,
                group.target_epoch,
                group.target_timestamp_ms,
                dict(group.members),
                dict(group.targets),
                dict(group.subscribers),
                group.state_topics,
            )
            for group_id, group in machine.kind(ShareKind).groups.items()
        }

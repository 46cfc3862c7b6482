"""The share partitions that a node leads, for all share groups (SharePartitionManager in Kafka).

A share partition is loaded by the first fetch of a group from what the share coordinator has
stored, and forgotten when the partition has another leader, when its topic is deleted, when the
share coordinator fences it, or when the last member of the group has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

from ....coordinator.share_partition.partition import SharePartition
from ....protocol.errors import Code, Refused
from ....storage.segments.time_search import load_times_in_steps
from ...log_output import Log
from ...scheduling.turns import Turns
from .led_share_partition import (
    LedSharePartition,
    ShareCounts,
    ShareKey,
    ShareServices,
    for_clients,
)
from .share_limits import share_settings_by_group
from .share_sessions import ShareSession, ShareSessions

if TYPE_CHECKING:
    from ....coordinator.share_state.states import ShareState
    from ....metadata.catalog import Catalog
    from ....metadata.topics import Topic
    from ....storage.log import PartitionLog
    from ...clock import Clock
    from ...scheduling.long_work import LongWork
    from ...settings.config import BrokerConfig
    from ..fetching.fetch_waits import FetchWaits
    from .dead_letters import DeadLetterQueues
    from .share_persister import SharePersister

_log = Log("share_partitions")

_NO_OFFSET: Final = -1


class _Place(NamedTuple):
    name: str
    log: PartitionLog


class ShareNode(Protocol):
    """A node, as its share partitions see it."""

    clock: Clock
    config: BrokerConfig
    catalog: Catalog
    fetch_waits: FetchWaits
    long_work: LongWork
    is_stopping: bool

    def leads(self, topic: str, partition: int) -> bool:
        """Whether the node is the partition's leader."""

    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that the node leads; raises Refused."""


class SharePartitions:
    """The share partitions and share sessions of one node.

    Args:
        persister: keeps the states at the share coordinators.
        dead_letters: returns the dead letter queues of the cluster.

    Attributes:
        sessions: of the members that fetch from this node.
        counts: for the metrics.
    """

    def __init__(
        self,
        node: ShareNode,
        persister: SharePersister,
        dead_letters: Callable[[], DeadLetterQueues],
    ) -> None:
        self._node = node
        self.counts = ShareCounts()
        self.services = ShareServices(
            clock=node.clock,
            persister=persister,
            fetch_waits=node.fetch_waits,
            settings_of=share_settings_by_group(node.config, node.catalog),
            dead_letters=dead_letters,
            begin=self._begin,
            counts=self.counts,
        )
        self._led: dict[ShareKey, LedSharePartition] = {}
        self._of_group: dict[str, set[ShareKey]] = {}
        self._of_topic: dict[UUID, set[ShareKey]] = {}
        self._ending: dict[ShareKey, LedSharePartition] = {}
        self._loading: dict[ShareKey, asyncio.Task[LedSharePartition]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.sessions = ShareSessions(
            node.config["group.share.max.share.sessions"],
            on_lost=self._give_back,
        )

    def _begin(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def __iter__(self) -> Iterator[LedSharePartition]:
        return iter(self._led.values())

    def known(self, key: ShareKey) -> LedSharePartition | None:
        """The share partition if it is loaded and this node still leads it."""
        led = self._led.get(key)
        if led is None:
            return None
        topic = self._node.catalog.topics.get(led.log.topic)
        if (
            topic is None
            or topic.topic_id != key.topic_id
            or not self._node.leads(led.log.topic, key.partition)
            or led.log.leader_epoch != led.leader_epoch
        ):
            self.forget(led)
            return None
        return led

    async def get(self, key: ShareKey) -> LedSharePartition:
        """The share partition, loaded first if necessary.

        Raises:
            Refused: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID,
                KAFKA_STORAGE_ERROR, COORDINATOR_NOT_AVAILABLE; OFFSET_NOT_AVAILABLE: by_duration
                finds no record; UNKNOWN_SERVER_ERROR: the group has no state for the partition.
        """
        led = self.known(key)
        if led is not None:
            return led
        loading = self._loading.get(key)
        if loading is None:
            loading = asyncio.get_running_loop().create_task(self._load(key))
            self._loading[key] = loading
            loading.add_done_callback(lambda done: self._loaded(key, done))
        return await asyncio.shield(loading)

    def _loaded(self, key: ShareKey, done: asyncio.Task[LedSharePartition]) -> None:
        if self._loading.get(key) is done:
            del self._loading[key]
        if not done.cancelled():
            done.exception()  # the fetches that still wait have it

    async def _load(self, key: ShareKey) -> LedSharePartition:
        log = self._place(key).log
        leader_epoch = log.leader_epoch
        before = self._ending.pop(key, None)
        if before is not None and before.writer is not None:
            await asyncio.wait([before.writer])
        persister = self.services.persister
        try:
            state = await persister.read(*key, leader_epoch=leader_epoch)
        except Refused as refused:
            raise for_clients(refused) from refused
        start_offset = await self._start_of(key, log, state)
        place = self._place(key)
        if place.log is not log or log.leader_epoch != leader_epoch or self._node.is_stopping:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        machine = SharePartition(start_offset, state.batches)
        led = LedSharePartition(
            key, log, machine,
            state_epoch=state.state_epoch, services=self.services, forget=self.forget,
        )  # fmt: skip
        self._led[key] = led
        self._of_group.setdefault(key.group_id, set()).add(key)
        self._of_topic.setdefault(key.topic_id, set()).add(key)
        _log.debug(
            "a share partition is loaded", group=key.group_id, topic=place.name,
            partition=key.partition, start_offset=machine.start_offset,
        )  # fmt: skip
        return led

    def _place(self, key: ShareKey) -> _Place:
        topic = self._node.catalog.topic_by_id(key.topic_id)
        if topic is None:
            raise Refused(Code.UNKNOWN_TOPIC_ID)
        return _Place(topic.name, self._node.open_led_log(topic.name, key.partition))

    async def _start_of(self, key: ShareKey, log: PartitionLog, state: ShareState) -> int:
        """Where a group begins: at the stored offset, or by `share.auto.offset.reset`."""
        if state.start_offset != _NO_OFFSET:
            return state.start_offset
        reset = self.services.settings_of(key.group_id).auto_offset_reset
        if reset == "latest":
            return log.high_watermark
        if reset == "earliest":
            return log.log_start_offset
        since_ms = max(self._node.clock.now_ms() - _period_ms(reset), 0)
        with suppress(OSError):  # the search itself will raise it
            for _ in load_times_in_steps(log.segments, since_ms):
                await asyncio.sleep(0)
        found = await self._node.long_work.run(log.search(since_ms))
        if found is None:  # as Kafka, which asks again at the next fetch
            raise Refused(Code.OFFSET_NOT_AVAILABLE)
        return found.offset

    # Ends

    def forget(self, led: LedSharePartition) -> None:
        """Have the next fetch begin with what is stored."""
        led.end()
        key = led.key
        if self._led.get(key) is not led:
            return
        del self._led[key]
        _discard(self._of_group, key.group_id, key)
        _discard(self._of_topic, key.topic_id, key)
        if led.writer is not None:
            self._ending[key] = led
            led.writer.add_done_callback(lambda _: self._ended(led))

    def _ended(self, led: LedSharePartition) -> None:
        if self._ending.get(led.key) is led:
            del self._ending[led.key]

    async def release(self, session: ShareSession) -> None:
        """Give back what a member has in the partitions of its session, which has ended."""
        group_id, member_id = session.key
        async for topic_id, partition in Turns().each(list(session.partitions)):
            led = self.known(ShareKey(group_id, topic_id, partition))
            if led is None:
                continue
            try:
                await led.release(member_id)
            except Refused as refused:
                _log.debug(
                    "records are not given back", group=group_id, member=member_id,
                    topic=led.log.topic, partition=partition, reason=str(refused),
                )  # fmt: skip

    def _give_back(self, sessions: list[ShareSession], group_ids: list[str]) -> None:
        self.counts.lost_sessions += len(sessions)
        if not self._node.is_stopping:
            self._begin(self._release_all(sessions, group_ids))

    async def _release_all(self, sessions: list[ShareSession], group_ids: list[str]) -> None:
        """Release the records of sessions, and forget groups that have no session any more."""
        turns = Turns()
        async for session in turns.each(sessions):
            await self.release(session)
        async for group_id in turns.each(group_ids):
            if not self.sessions.has_group(group_id):
                for key in list(self._of_group.get(group_id, ())):
                    self.forget(self._led[key])

    def follow(self, topic: Topic) -> None:
        """Forget the partitions of a topic that have another leader now."""
        for key in list(self._of_topic.get(topic.topic_id, ())):
            self.known(key)

    def topic_deleted(self, topic_id: UUID) -> None:
        """Forget the partitions of a topic that is deleted."""
        for key in list(self._of_topic.get(topic_id, ())):
            self.forget(self._led[key])

    def stop(self) -> None:
        """Forget everything, because the node stops."""
        for led in list(self._led.values()):
            self.forget(led)
        for task in list(self._loading.values()):
            task.cancel()


# Any: of a group's name, or of a topic's id.
def _discard(index: dict[Any, set[ShareKey]], value: object, key: ShareKey) -> None:
    keys = index[value]
    keys.discard(key)
    if not keys:
        del index[value]


def _period_ms(reset: str) -> int:
    """The period of by_duration:PnDTnHnMn.nS."""
    from ...settings.durations import reset_period_ms

    period_ms = reset_period_ms(reset)
    assert period_ms is not None, "the setting was checked"
    return period_ms

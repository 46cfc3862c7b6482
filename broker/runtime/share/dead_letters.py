"""Dead letters: records that a share group gives up are copied to a topic for them (KIP-1191).

The group's setting `errors.deadletterqueue.topic.name` names the topic. A letter has headers that
say where the record was and why it was given up; key and value only if the group's setting
`errors.deadletterqueue.copy.record.enable` is true. Follows ShareGroupDLQStateManager of Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ....metadata.catalog import ResourceType
from ....protocol.batch import HEADER_SIZE, Framed, build
from ....protocol.errors import Code, Refused
from ....storage.records.client_batch import Checked, Rules, check
from ...complaints import Complaints
from ...log_output import Log
from ...scheduling.turns import Turns
from ..logs.finished_deletions import finish_deletion
from .original_records import Originals, read_originals

if TYPE_CHECKING:
    from ....metadata.catalog import Catalog
    from ....metadata.topics import Topic
    from ....storage.log import PartitionLog
    from ....storage.log_directory import LogDirectory
    from ...clock import Clock
    from ...event_stream import Events
    from ...scheduling.long_work import LongWork
    from ...scheduling.workers import Workers
    from ...settings.config import BrokerConfig
    from ..controller.controller import Controller
    from ..logs.flushes import Flushes
    from ..logs.storage_trouble import StorageTrouble

_TOPIC_NAME: Final = "errors.deadletterqueue.topic.name"
_COPY: Final = "errors.deadletterqueue.copy.record.enable"
_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
_MAY_CREATE: Final = "errors.deadletterqueue.auto.create.topics.enable"
_TAKES_LETTERS: Final = "errors.deadletterqueue.group.enable"
_SHARE_VERSION: Final = 2  # of the feature share.version, since which there are dead letters

_CONFIGS: Final = {_TAKES_LETTERS: "true", "message.timestamp.type": "CreateTime"}
_ATTEMPTS: Final = 5
_FIRST_WAIT_MS: Final = 1_000

_log = Log("dead_letters")


class _Letters(NamedTuple):
    """The records of one range that a group gives up."""

    group_id: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int | None
    reason: str | None


class DeadLetterCounts:
    """What was written for one group.

    Attributes:
        batches: all that were tried, the refused ones included.
    """

    __slots__ = ("batches", "letters", "refused_batches")

    def __init__(self) -> None:
        self.letters = 0
        self.batches = 0
        self.refused_batches = 0


class HasLedLogs(Protocol):
    """A node, as dead letters see it."""

    @property
    def runs(self) -> bool: ...
    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that the node leads; raises Refused."""

    def check_in_sync(self, log: PartitionLog) -> None:
        """Raise Refused NOT_ENOUGH_REPLICAS if too few replicas are in sync."""

    @property
    def events(self) -> Events: ...
    def wake_fetches(self, topic: str, partition: int, /) -> None:
        """Wake the fetches that wait for a partition, after an append."""

    def tell_appended(self, log: PartitionLog) -> None:
        """Emit the event of an append of records."""


class DeadLetterCluster(Protocol):
    """The parts of a cluster that dead letters need; see `Cluster`."""

    config: BrokerConfig
    catalog: Catalog
    controller: Controller
    clock: Clock
    flushes: Flushes
    log_directory: LogDirectory
    long_work: LongWork
    storage_trouble: StorageTrouble
    workers: Workers

    @property
    def nodes(self) -> Mapping[int, HasLedLogs]: ...
    def open_log_of(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition; None if there is none."""


class DeadLetterQueues:
    """The dead letter queues of all share groups of a cluster.

    Attributes:
        counts: by group, for the metrics.
    """

    def __init__(self, cluster: DeadLetterCluster) -> None:
        self.counts: dict[str, DeadLetterCounts] = {}
        self._cluster = cluster
        self._complaints = Complaints(cluster.clock, name="group")

    def is_enabled(self, group_id: str) -> bool:
        """Whether a group has a dead letter queue: records that it gives up wait for `write`."""
        if self._cluster.catalog.features.get("share.version", 0) < _SHARE_VERSION:
            return False
        return bool(self._setting(group_id, _TOPIC_NAME))

    async def write(
        self,
        group_id: str,
        topic: str,
        partition: int,
        *,
        first_offset: int,
        last_offset: int,
        delivery_count: int | None,
        reason: str | None,
    ) -> int:
        """Write a letter for each record of a range; the records are given up in any case.

        Nothing is raised: a failure is logged. It may take seconds while the leader of the dead
        letter topic does not run.

        Args:
            topic: its name.
            last_offset: included.
            delivery_count: of all these records; None for unknown.
            reason: one sentence, for the header `__dlq.errors.message`; None for none.

        Returns:
            The number of letters written.
        """
        letters = _Letters(
            group_id, topic, partition, first_offset, last_offset, delivery_count, reason
        )
        written = 0
        try:
            name = self._check_topic(group_id)
            while first_offset + written <= last_offset:
                written += await self._write_some(letters, name, first_offset + written)
        except Refused as refused:
            if self._complaints.may_log(group_id, "dead letters"):
                _log.error(
                    "dead letters cannot be written, and the records are lost to the group",
                    group=group_id, topic=topic, partition=partition,
                    first_offset=first_offset + written, last_offset=last_offset,
                    reason=str(refused),
                )  # fmt: skip
        return written

    def close(self) -> None:
        """Log the numbers of lines that were not written."""
        self._complaints.log_rest()

    def _check_topic(self, group_id: str) -> str:
        """The name of a group's dead letter topic; raises Refused (INVALID_CONFIG) if it is bad."""
        cluster = self._cluster
        name = str(self._setting(group_id, _TOPIC_NAME) or "")
        prefix: str = cluster.config[_PREFIX]
        if not name:
            raise Refused(Code.INVALID_CONFIG, "the group has no dead letter topic")
        if name.startswith("__"):
            raise Refused(Code.INVALID_CONFIG, f"a dead letter topic may not be {name}")
        if name in cluster.catalog.topics:
            overrides = cluster.catalog.overrides(ResourceType.TOPIC, name)
            if overrides.get(_TAKES_LETTERS, "false").lower() != "true":
                raise Refused(Code.INVALID_CONFIG, f"the topic {name} lacks {_TAKES_LETTERS}=true")
        elif not cluster.config[_MAY_CREATE]:
            why = f"there is no topic {name}, and {_MAY_CREATE} is false"
            raise Refused(Code.INVALID_CONFIG, why)
        if not name.startswith(prefix):
            why = f"the name of the topic {name} does not begin with {prefix} ({_PREFIX})"
            raise Refused(Code.INVALID_CONFIG, why)
        return name

    def _setting(self, group_id: str, name: str) -> object:
        """The value of a group's setting; None for a group without settings."""
        overrides = self._cluster.catalog.overrides(ResourceType.GROUP, group_id)
        return self._cluster.config.group_value(name, overrides) if overrides else None

    async def _write_some(self, letters: _Letters, name: str, first_offset: int) -> int:
        """Write letters from an offset on, one batch; return their number. Raises Refused."""
        topic = self._cluster.catalog.topics.get(name)
        if topic is None:
            topic = await self._make_topic(name)
        most_bytes = self._most_bytes(name)
        originals = await self._originals(letters, first_offset, most_bytes)
        framed = await _frame(letters, originals, first_offset, most_bytes)
        batch = build(framed, timestamp_ms=self._cluster.clock.now_ms())
        counts = self.counts.setdefault(letters.group_id, DeadLetterCounts())
        wait_ms = _FIRST_WAIT_MS
        for attempt in range(1, _ATTEMPTS + 1):
            counts.batches += 1
            try:
                await self._append(name, letters.partition, batch)
                break
            except Refused as refused:
                if refused.code is not Code.NOT_LEADER_OR_FOLLOWER or attempt == _ATTEMPTS:
                    counts.refused_batches += 1
                    raise
            await self._cluster.clock.live.sleep_ms(wait_ms)
            wait_ms *= 2
        counts.letters += len(framed)
        return len(framed)

    async def _make_topic(self, name: str) -> Topic:
        """Create a dead letter topic with the broker's default numbers; raises Refused."""
        await finish_deletion(self._cluster.log_directory, name)
        topic = self._cluster.catalog.topics.get(name)  # someone may have been faster
        if topic is not None:
            return topic
        return self._cluster.controller.create_topic(name, configs=_CONFIGS)

    def _most_bytes(self, name: str) -> int:
        """`max.message.bytes` of a topic."""
        value = self._cluster.catalog.overrides(ResourceType.TOPIC, name).get("max.message.bytes")
        most_bytes: int = self._cluster.config["message.max.bytes"]
        return most_bytes if value is None else int(value)

    async def _originals(self, letters: _Letters, first_offset: int, most_bytes: int) -> Originals:
        """The records to copy, if the group wants copies."""
        nothing = Originals({}, letters.last_offset)
        if not self._setting(letters.group_id, _COPY):
            return nothing
        log = self._cluster.open_log_of(letters.topic, letters.partition)
        if log is None:
            return nothing
        workers = self._cluster.workers
        return await read_originals(workers, log, first_offset, letters.last_offset, most_bytes)

    async def _append(self, name: str, partition: int, batch: bytearray) -> None:
        """Append a batch like a producer with acks=all, and wait for its flush. Raises Refused."""
        cluster = self._cluster
        topic = cluster.catalog.topics.get(name)
        if topic is None:
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, f"the topic {name} is gone")
        led = topic.partitions[partition % len(topic.partitions)]
        node = cluster.nodes.get(led.leader_id)
        if node is None or not node.runs:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER, f"no leader of {name}-{led.index} runs")
        log = node.open_led_log(name, led.index)
        found = check(batch, Rules(log.config, cluster.clock.now_ms(), log.name))
        checked = found if isinstance(found, Checked) else await cluster.long_work.run(found)
        node.check_in_sync(log)
        try:
            log.append_checked(checked, now_ms=cluster.clock.now_ms())
        except Refused as refused:
            cluster.storage_trouble.report(log, refused)
            raise
        node.wake_fetches(log.topic, log.partition)
        if node.events.tell is not None:
            node.tell_appended(log)
        if log.awaits_flush:
            failed = await cluster.flushes.flushed(log)
            if failed is not None:
                raise failed


async def _frame(
    letters: _Letters, originals: Originals, first_offset: int, most_bytes: int
) -> Framed:
    """Letters from an offset on, as many as a batch of the topic holds, but at least one."""
    framed, size_bytes = Framed(), HEADER_SIZE
    last_offset = max(first_offset, min(letters.last_offset, originals.last_offset))
    async for offset in Turns().each(range(first_offset, last_offset + 1)):
        pair = originals.records.get(offset, (None, None))
        size_bytes += framed.add_with_headers(pair, _headers(letters, offset))
        if size_bytes > most_bytes and len(framed) > 1:
            framed.remove_last()
            break
    return framed


def _headers(letters: _Letters, offset: int) -> list[tuple[str, bytes]]:
    """The headers of a letter, in Kafka's order."""
    texts = [
        ("topic", letters.topic),
        ("partition", str(letters.partition)),
        ("offset", str(offset)),
        ("group", letters.group_id),
    ]
    if letters.delivery_count is not None:
        texts.append(("delivery.count", str(letters.delivery_count)))
    if letters.reason is not None:
        texts.append(("message", letters.reason))
    return [(f"__dlq.errors.{name}", text.encode()) for name, text in texts]

"""Keeps the logs on disk in line with the catalog: existence, leader epochs and settings.

After a crash between the metadata log and the partitions' directories, `open_all` completes the
rest at the next start. Creating a log takes 0.1 to 0.5 ms, most of it in the file system: if there
are many new partitions, of one topic or of several, most logs are created after the response, a few
at a time with pauses between them, or at first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ....metadata.catalog import CLUSTER_METADATA, Catalog, ResourceType, Topic
from ....metadata.topics import Partition
from ....storage.disk.meta_properties import WrongDirectory
from ....storage.log_directory import LogDirectory
from ...clock import is_in_event_loop
from ...log_output import Log
from ..work_limits import WorkLimits
from .blocking_steps import NO_RESOURCES, reason_of
from .storage_trouble import remedy

if TYPE_CHECKING:
    from ....storage.log_config import LogConfig
    from ...clock import Clock, Timer
    from ...settings.config import BrokerConfig

_log = Log("topic_logs")
_METADATA = f"{CLUSTER_METADATA}-0"
_RESERVED_IDS = 100  # the directories' ids below it are no directory's (DirectoryId)


class TopicLogs:
    """Carries out the controller's decisions on the logs of one data directory."""

    def __init__(
        self,
        catalog: Catalog,
        directory: LogDirectory,
        config: BrokerConfig,
        clock: Clock,
        limits: WorkLimits,
    ) -> None:
        self._catalog = catalog
        self._directory = directory
        self._config = config
        self._clock = clock
        self._limits = limits
        self._waiting: dict[tuple[str, int], None] = {}  # new partitions without a log, in order
        self._left_at_once = limits.logs_made_at_once
        self._timer: Timer | None = None

    def open_all(self) -> None:
        """Open the log of every partition, and create those that a crash prevented.

        Directories of topics that were deleted, or deleted and created again, are set aside.
        """
        expected = {
            f"{topic.name}-{partition.index}"
            for topic in self._catalog.topics.values()
            for partition in topic.partitions
        }
        for name in self._directory.partition_names() - expected - {_METADATA}:
            self._rename_stray(name)
        for topic in self._catalog.topics.values():
            self.open_of(topic)

    def open_of(self, topic: Topic) -> None:
        """Open the logs of a topic that are not open, or create them."""
        self._open(topic, topic.partitions)

    def make_of(self, topic: Topic, first: int = 0) -> None:
        """Create the logs of new partitions from `first` on; of many, most are created later."""
        new = topic.partitions[first:]
        if not is_in_event_loop():
            self._open(topic, new)
            return
        at_once = 0 if self._waiting else self._left_at_once
        self._open(topic, new[:at_once])
        self._left_at_once -= min(at_once, len(new))
        self._waiting.update(((topic.name, partition.index), None) for partition in new[at_once:])
        self._continue_later()

    def make_now(self, topic: str, partition: int) -> None:
        """Create the log of a partition now, if that is still to be done."""
        if (topic, partition) in self._waiting:
            del self._waiting[topic, partition]
            known = self._catalog.topics[topic]
            self._open(known, known.partitions[partition : partition + 1])

    def stop(self) -> None:
        """Create no further logs: the next start creates them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting.clear()

    def _continue_later(self) -> None:
        if self._timer is None:
            wait_ms = self._limits.logs_wait_ms
            self._timer = self._clock.live.call_after_ms(wait_ms, self._continue)

    def _continue(self) -> None:
        """Make some logs that wait, and delete some that are dropped."""
        self._timer = None
        self._left_at_once = self._limits.logs_made_at_once
        try:
            for topic, partition in list(islice(self._waiting, self._limits.logs_made_in_a_turn)):
                self.make_now(topic, partition)
            for _ in islice(self.deletions(), self._limits.logs_made_in_a_turn):
                pass
        finally:  # also after a fault of one of them, which the event loop logs
            if self._waiting or self._directory.next_dropped() is not None:
                self._continue_later()

    def _open(self, topic: Topic, partitions: Sequence[Partition]) -> None:
        config, now_ms = self._config_of(topic), self._clock.now_ms()
        for partition in partitions:
            topic_partition = (topic.name, partition.index)
            open_log = partial(
                self._directory.open_log, *topic_partition,
                topic_id=topic.topic_id, config=config, now_ms=now_ms,
                leader_epoch=partition.leader_epoch,
            )  # fmt: skip
            try:
                if self._is_elsewhere(topic, partition):
                    raise OSError("the metadata log has it in another data directory")
                try:
                    log = open_log()
                except WrongDirectory:  # a topic of this name that was deleted, and not its files
                    self._rename_stray(f"{topic.name}-{partition.index}")
                    log = open_log()
                log.leader_epoch = partition.leader_epoch
            except NO_RESOURCES as failed:
                self._cannot_open(topic_partition, failed)

    def _is_elsewhere(self, topic: Topic, partition: Partition) -> bool:
        """Whether the partition lies in another directory of an Apache Kafka with several.

        A new log would be empty, and its records would differ from those of the existing one.
        """
        return (
            bool(partition.directories)
            and self._directory.directory_id not in partition.directories
            and all(each.int >= _RESERVED_IDS for each in partition.directories)
            and f"{topic.name}-{partition.index}" not in self._directory.partition_names()
        )

    def drop_of(self, topic: Topic) -> None:
        """Take the logs of a topic that was deleted out of use.

        `deletions` deletes their files, and so do the next turns of the event loop: a directory
        takes 0.05 to 0.2 ms.
        """
        if self._waiting:
            for partition in topic.partitions:
                self._waiting.pop((topic.name, partition.index), None)
        self._directory.drop_logs(topic.name, range(len(topic.partitions)))
        if is_in_event_loop():
            self._continue_later()

    def deletions(self, topic: str | None = None) -> Iterator[None]:
        """Delete the files of deleted topics, or of one, a partition in each step."""
        while (dropped := self._directory.next_dropped(topic)) is not None:
            try:
                self._directory.delete_log(*dropped)
            except OSError as failed:  # it has no topic any more: the next start sets it aside
                _log.error(
                    "the files of a deleted topic stay",
                    topic=dropped[0], partition=dropped[1],
                    reason=str(failed), remedy=remedy(failed),
                )  # fmt: skip
            yield

    def take_leader_epochs(self, topic: Topic) -> None:
        """Set the leader epochs of the logs to those of the catalog."""
        for partition in topic.partitions:
            log = self._directory.log_of(topic.name, partition.index)
            if log is not None:
                log.leader_epoch = partition.leader_epoch

    def configure(self, topics: Iterable[Topic]) -> None:
        """Apply the current settings to the open logs.

        Topics with the same settings of their own share one object, which takes 15 us to make.
        """
        known: dict[frozenset[tuple[str, str]], LogConfig] = {}
        for topic in topics:
            own = self._catalog.overrides(ResourceType.TOPIC, topic.name)
            key = frozenset(own.items())
            config = known.get(key)
            if config is None:
                config = known[key] = self._config_of(topic)
            for partition in topic.partitions:
                log = self._directory.log_of(topic.name, partition.index)
                if log is not None:
                    log.config = config

    def _config_of(self, topic: Topic) -> LogConfig:
        return self._config.log_config(self._catalog.overrides(ResourceType.TOPIC, topic.name))

    def _cannot_open(self, topic_partition: tuple[str, int], failed: Exception) -> None:
        """Log the failure; the other logs are opened."""
        if topic_partition not in self._directory.failed:
            _log.error(
                "a log cannot be opened",
                topic=topic_partition[0], partition=topic_partition[1],
                reason=reason_of(failed), remedy=remedy(failed),
            )  # fmt: skip
        self._directory.failed[topic_partition] = reason_of(failed)

    def _rename_stray(self, name: str) -> None:
        """Set aside a directory of a topic that was deleted, or lost by a damaged metadata log."""
        path = self._directory.path
        stray = self._directory.rename_stray(name)
        if stray is None:
            why = "it is named as a partition, and has no files of a log"
            _log.warning("a file or directory is left alone", path=f"{path}/{name}", reason=why)
            return
        _log.warning(
            "a directory belongs to no topic, and is set aside",
            directory=f"{path}/{name}",
            renamed_to=stray,
            reason=f"{path}/{_METADATA} does not have it",
        )

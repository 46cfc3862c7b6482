"""The data directory: a folder for each partition, and Kafka's files beside them.

`.lock` keeps a second broker out; `meta.properties` names cluster and node; `.kafka_cleanshutdown`
marks a clean stop, `.boot-id` the run of the machine; the checkpoints store per log its start and
the offset up to which it is synced (Kafka's LogManager, MetaPropertiesEnsemble, CheckpointFile).
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

from ..metadata.topics import CLUSTER_METADATA
from .disk.boot_mark import BootMark
from .disk.checkpoint import Checkpoint, Offsets, TopicPartition, read_checkpoint
from .disk.damage import Damage, Report, read_copy
from .disk.directory_names import (
    DELETED_SUFFIX,
    STRAY_SUFFIX,
    is_deleted,
    is_of_a_log,
    is_partition,
    marked,
)
from .disk.files import Files, write_atomically
from .disk.meta_properties import (
    META_PROPERTIES,
    WrongDirectory,
    own_meta_properties,
    read_meta_properties,
)
from .disk.topic_id_file import check_topic_id, write_topic_id
from .log import LogServices, PartitionLog
from .log_config import LogConfig
from .recovery.recovery import Stop
from .steps import Steps, at_once

LOCK: Final = ".lock"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANED_OFFSETS: Final = "cleaner-offset-checkpoint"
_LOGS_IN_A_STEP: Final = 1_000


class DirectoryInUse(RuntimeError):
    """Another process has the data directory."""


class LogDirectory:
    """All partitions of one data directory.

    Attributes:
        clean: the previous process ended with `close(clean=True)`.
        cluster_id: id of its cluster; generated for a new directory.
        directory_id: its own id, which the metadata log has for each replica in it (KIP-858).
        report: called with each damage to a file; may be set before logs are opened.
        broker_epoch: epoch of its broker's registration, stored at a clean stop (KIP-966).
        failed: the reason for each log that could not be opened; its next use tries again.
        on_flush_due: of the logs that are opened from now on; see `PartitionLog`.
        open_logs: the logs that are open.
        remove_directory: called with the path of a deleted log; None: it is removed at once.
    """

    def __init__(
        self, files: Files, path: str, *, lock: int, clean: bool, ids: tuple[str, uuid.UUID]
    ) -> None:
        self.path = path
        self.clean = clean
        self.cluster_id, self.directory_id = ids
        self.broker_epoch = -1
        self._services = LogServices(files, path)  # replaced as a whole
        self._unreported: list[Damage] = []  # found before `report` was set
        self.failed: dict[TopicPartition, str] = {}
        self.remove_directory: Callable[[str], None] | None = None
        self._files = files
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self.open_logs: Mapping[TopicPartition, PartitionLog] = self._logs
        # Of deleted topics: partitions whose directory is not renamed yet; None: not opened.
        self._dropped: dict[str, dict[int, PartitionLog | None]] = {}
        self._recovery_points = self._read_checkpoint(RECOVERY_POINTS)
        self._log_starts = self._read_checkpoint(LOG_STARTS)
        # Kafka starts with these; Ottla uses a log's end, and these only to detect a loss.
        self._high_watermarks = self._read_checkpoint(HIGH_WATERMARKS)
        self._cleaned = self._read_checkpoint(CLEANED_OFFSETS)
        self._cleaned_up_to = dict(self._cleaned.known)
        self._names = set(files.names_in(path))
        self._checkpoints = (
            self._recovery_points, self._log_starts, self._high_watermarks, self._cleaned,
        )  # fmt: skip
        # The checkpoints have rows of partitions of these deleted topics: see `_forget`. Each has
        # the number of its last deletion.
        self._deleted: dict[str, tuple[int, set[int]]] = {}
        self._renamed: dict[str, int] = {}  # likewise: the renames are not synced
        self._deletions = 0
        for topic, partition in set(chain.from_iterable(each.known for each in self._checkpoints)):
            if f"{topic}-{partition}" not in self._names:
                self._forget((topic, partition))
        self._boot_mark = BootMark(files, path)
        self._has_all_writes = self._permits_saves = self._boot_mark.is_current
        self._is_marked_clean = self._is_closing = False
        self._leftovers: list[str] = []  # directories that an earlier process did not remove
        self._has_links = False  # partitions whose directory is a link
        self._owners: dict[tuple[int, int], str] = {}  # by identity, if there are links

    @property
    def report(self) -> Report:
        return self._services.report

    @report.setter
    def report(self, report: Report) -> None:
        self._services = replace(self._services, report=report)
        while self._unreported:
            report(self._unreported.pop(0))

    @property
    def on_flush_due(self) -> Callable[[PartitionLog, int], None] | None:
        return self._services.on_flush_due

    @on_flush_due.setter
    def on_flush_due(self, on_flush_due: Callable[[PartitionLog, int], None] | None) -> None:
        self._services = replace(self._services, on_flush_due=on_flush_due)

    def set_on_start_moved(self, on_start_moved: Callable[[PartitionLog], None]) -> None:
        """Set `LogServices.on_start_moved` of the logs that are opened from now on."""
        self._services = replace(self._services, on_start_moved=on_start_moved)

    def _read_checkpoint(self, name: str) -> Checkpoint:
        path = f"{self.path}/{name}"
        return Checkpoint(self._files, path, self._offsets_in(path, name))

    def _offsets_in(self, path: str, name: str) -> Offsets:
        """The offsets in a file; none without a valid file, see `checkpoint_file`."""
        content = read_copy(self._files, path, self._unreported.append)
        if not content:  # Kafka creates them empty, until there is a row
            return {}
        try:
            return read_checkpoint(content)
        except ValueError as wrong:
            if not self.clean and name != LOG_STARTS:
                return {}  # a loss of power may leave a part of an unsynced file
            why = f"{wrong}; the file is ignored"
            self._unreported.append(Damage(path, 0, len(content or b""), 0, 0, why))
            return {}

    @classmethod
    def open(
        cls, files: Files, path: str, *, node_id: int, cluster_id: str | None, now_ms: int
    ) -> LogDirectory:
        """Open a data directory; create it if it is missing.

        Args:
            cluster_id: the expected one, or that of a new directory; None: any.

        Raises:
            DirectoryInUse: another process uses it.
            WrongDirectory: it belongs to another node or cluster.
        """
        files.make_directory(path)
        _check_owner(files, path, node_id, cluster_id)  # it may be another's: nothing is made in it
        try:
            lock = files.lock(f"{path}/{LOCK}")
        except BlockingIOError:
            raise DirectoryInUse(f"another broker uses {path}") from None
        try:
            names = _check_owner(files, path, node_id, cluster_id)
            ids = own_meta_properties(files, path, node_id, cluster_id)
            clean = CLEAN_SHUTDOWN in names or not any(map(is_partition, names))
            if not clean:  # keep the renames of the previous process
                files.sync_directory(path)
            opened = cls(files, path, lock=lock, clean=clean, ids=ids)
            opened._is_marked_clean = CLEAN_SHUTDOWN in names
            if META_PROPERTIES in names:  # else it has no logs of an earlier process
                directories = set(files.directories_in(path))
                opened._leftovers = [name for name in directories if is_deleted(name)]
                partitions = set(filter(is_partition, directories))
                opened._has_links = opened.partition_names() > partitions
                if opened._has_links:
                    opened._owners = {files.identity(f"{path}/{each}"): each for each in partitions}
            return opened
        except BaseException:
            files.close(lock)
            raise

    def begin_use(self) -> None:
        """Remove the clean mark, before the first change; a start that fails earlier keeps it.

        Raises OSError.
        """
        if self._is_marked_clean:
            self._files.remove(f"{self.path}/{CLEAN_SHUTDOWN}")
            self._is_marked_clean = False

    def remove_leftovers(self) -> None:
        """Remove the directories of deleted logs that an earlier process left. Raises OSError."""
        while self._leftovers:
            self._remove_deleted(f"{self.path}/{self._leftovers.pop()}")

    def _remove_deleted(self, path: str) -> None:
        if self.remove_directory is None:
            _remove_tree(self._files, path)
        else:
            self.remove_directory(path)

    def open_log(
        self,
        topic: str,
        partition: int,
        *,
        topic_id: uuid.UUID,
        config: LogConfig,
        now_ms: int,
        leader_epoch: int | None = None,
    ) -> PartitionLog:
        """The partition's log; creates its directory if it is missing.

        Args:
            leader_epoch: epoch of the partition in the metadata; None: unknown.

        Raises:
            WrongDirectory: the directory belongs to an older topic of the same name.
            FileNotFoundError: the data directory itself is missing.
            FileExistsError: another partition has the same directory, by a link.
        """
        key = (topic, partition)
        log = self._logs.get(key)
        if log is not None:
            return log
        if topic != CLUSTER_METADATA:  # which decides whether the start goes on
            self.begin_use()
        name = f"{topic}-{partition}"
        directory = f"{self.path}/{name}"
        is_new = name not in self._names
        if is_new:
            if not self.exists():  # do not create a part of it, which no start understands
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
            self.finish_deletions_of(topic)
            self._files.make_directory(directory)
            write_topic_id(self._files, directory, topic_id)
            self._names.add(name)
        else:
            self._check_single(name)
            check_topic_id(self._files, directory, topic_id, self.report)
        stop = Stop(
            clean=self.clean or is_new,
            recovery_point=self._recovery_points.known.get(key, 0),
            log_start_offset=self._log_starts.known.get(key, 0),
            high_watermark=self._high_watermarks.known.get(key, 0),
            leader_epoch=leader_epoch,
            is_new=is_new,
            has_all_writes=self._has_all_writes,
            was_compacted=key in self._cleaned_up_to,
        )
        log = self._logs[key] = PartitionLog(
            self._services, topic, partition, config=config, stop=stop, now_ms=now_ms
        )
        self.failed.pop(key, None)
        return log

    def _check_single(self, name: str) -> None:
        """Refuse a directory that two partitions have: each would write into the other's log."""
        if self._has_links:
            directory = f"{self.path}/{name}"
            identity = self._files.identity(directory)
            owner = self._owners.get(identity, name)
            if owner != name and owner in self._names:
                why = f"it is the directory of {owner} too, by a link"
                raise FileExistsError(errno.EEXIST, why, directory)
            self._owners[identity] = name

    def log_of(self, topic: str, partition: int) -> PartitionLog | None:
        """The log, when it is open."""
        return self._logs.get((topic, partition))

    def logs(self) -> Iterable[PartitionLog]:
        """All that are open."""
        return self._logs.values()

    def exists(self) -> bool:
        """Whether the path is still this directory: not removed, renamed or unmounted."""
        return self._files.is_at(self._lock, f"{self.path}/{LOCK}")

    def partition_names(self) -> set[str]:
        """Names of the existing partition directories, opened or not: `TOPIC-PARTITION`."""
        return {name for name in self._names if is_partition(name)}

    @property
    def files(self) -> Files:
        """The file system of the directory."""
        return self._files

    def rename_stray(self, name: str) -> str | None:
        """Rename the directory of an unopened log, as Kafka does with strays.

        Returns:
            its new name; None: it is not the directory of a log, and stays.
        """
        self.begin_use()
        topic, _, partition = name.rpartition("-")
        self._forget((topic, int(partition)))
        self._names.discard(name)
        if not is_of_a_log(self._files, f"{self.path}/{name}"):
            return None
        stray = marked(name, STRAY_SUFFIX)
        self._files.rename(f"{self.path}/{name}", f"{self.path}/{stray}")
        self._deletions += 1
        self._renamed[topic] = self._deletions
        return stray

    def drop_logs(self, topic: str, partitions: Iterable[int]) -> None:
        """Take the logs of a deleted topic out of use; `delete_log` deletes each of them later."""
        dropped = self._dropped.setdefault(topic, {})
        for partition in partitions:
            log = dropped[partition] = self._logs.pop((topic, partition), None)
            if log is not None:
                log.is_closed = True

    def next_dropped(self, topic: str | None = None) -> TopicPartition | None:
        """A partition, perhaps of one topic, that is dropped and not yet deleted; None: none is."""
        if topic is None:
            topic = next(iter(self._dropped), "")
        partition = next(iter(self._dropped.get(topic, ())), None)
        return None if partition is None else (topic, partition)

    def _take_dropped(self, topic: str, partition: int) -> PartitionLog | None:
        dropped = self._dropped.get(topic, {})
        log = dropped.pop(partition, None)
        if not dropped:
            self._dropped.pop(topic, None)
        return log

    def delete_log(self, topic: str, partition: int) -> None:
        """Delete a partition, opened or not, dropped or not.

        The directory is renamed first, so that it no longer counts as a partition after any
        failure.
        """
        log = self._take_dropped(topic, partition) or self._logs.pop((topic, partition), None)
        self.failed.pop((topic, partition), None)
        name = f"{topic}-{partition}"
        if name not in self._names:
            return
        self.begin_use()
        self._forget((topic, partition))
        if log is not None:
            log.close(clean=False)
        doomed = f"{self.path}/{marked(name, DELETED_SUFFIX)}"
        self._files.rename(f"{self.path}/{name}", doomed)
        self._deletions += 1
        self._renamed[topic] = self._deletions
        self._names.discard(name)
        self._remove_deleted(doomed)

    def has_deletions_of(self, topic: str) -> bool:
        """Whether `finish_deletions_of` has anything to do."""
        return topic in self._dropped or topic in self._renamed or topic in self._deleted

    def finish_deletions_of(self, topic: str) -> None:
        """Sync earlier deletions of a topic's name; call this before a topic is created.

        Otherwise the new topic would inherit the old one's start and end after a kill, and its
        records after a loss of power.

        Raises:
            OSError: the topic must not be created now.
        """
        at_once(self.finish_deletions_in_steps(topic))

    def finish_deletions_in_steps(self, topic: str) -> Steps[None]:
        """`finish_deletions_of`, with a step for each partition and each wait for the disk."""
        while (dropped := self.next_dropped(topic)) is not None:
            self.delete_log(*dropped)
            yield None
        number = self._deletions
        if topic in self._renamed:
            yield partial(self._files.sync_directory, self.path)
            self._renamed = {name: at for name, at in self._renamed.items() if at > number}
        if topic in self._deleted:
            yield from self._checkpoint_steps(sync=True)

    def _forget(self, key: TopicPartition) -> None:
        """Remove a partition from the checkpoints, so that no later topic inherits its rows."""
        topic, partition = key
        self._cleaned_up_to.pop(key, None)
        if any(each.may_have(key) for each in self._checkpoints):
            self._deletions += 1
            _, partitions = self._deleted.get(topic, (0, set[int]()))
            self._deleted[topic] = (self._deletions, partitions | {partition})

    def cleaned_up_to(self, log: PartitionLog) -> int | None:
        """The end of the last round of compaction of the log; None: there was none."""
        return self._cleaned_up_to.get((log.topic, log.partition))

    def set_cleaned_up_to(self, log: PartitionLog, offset: int) -> Steps[None]:
        """Store the end of a round of compaction, where the next one begins. Raises OSError."""
        self._cleaned_up_to[log.topic, log.partition] = offset
        return self._cleaned.write_in_steps(self._cleaned_up_to, sync=False)

    def checkpoint(self, *, sync: bool = False) -> None:
        """Write starts, ends and recovery points of the logs, if they have changed.

        Args:
            sync: make the files survive a loss of power too.

        Raises:
            OSError: not all files were written.
        """
        at_once(self._checkpoint_steps(sync=sync))

    def checkpoint_in_steps(self) -> Steps[None]:
        """`checkpoint` in steps, between which other work can run.

        Raises:
            OSError: not all files were written.
        """
        for count, (key, log) in enumerate(list(self._logs.items()), 1):
            if log.log_start_offset != self._log_starts.known.get(
                key, log.layout.all[0].base_offset
            ):
                log.write_epochs()
                yield None
            elif count % _LOGS_IN_A_STEP == 0:
                yield None
        yield None
        yield from self._checkpoint_steps(sync=False)

    def _checkpoint_steps(self, *, sync: bool) -> Steps[None]:
        """`checkpoint`: the content of each file is of the moment before its step."""
        number = self._deletions
        yield from _written(self._recovery_points, self._current_recovery_points(), sync=sync)
        yield None
        starts = self._current_log_starts()
        for key, log in self._logs.items():  # the epoch files also store them, and come first
            if starts.get(key) != self._log_starts.known.get(key):
                log.write_epochs()
        dropped = [
            (log, log.layout.dropped_count) for log in self._logs.values() if log.layout.has_dropped
        ]
        # The others can be determined again; the start of a log cannot.
        yield from _written(self._log_starts, starts, sync=True)
        for log, count in dropped:
            # The names of a closed log may be those of a new one.
            if not log.is_closed and log.layout.start_is_on_disk(count):
                yield None
        yield None
        yield from _written(self._high_watermarks, self._current_high_watermarks(), sync=sync)
        yield from _written(self._cleaned, self._cleaned_up_to, sync=sync)
        # The files may have rows of partitions that were deleted meanwhile.
        self._deleted = {name: one for name, one in self._deleted.items() if one[0] > number}

    def _without_deleted(self, checkpoint: Checkpoint) -> Offsets:
        deleted, none = self._deleted, (0, frozenset[int]())
        if not deleted:
            return dict(checkpoint.known)
        return {
            key: offset
            for key, offset in checkpoint.known.items()
            if key[1] not in deleted.get(key[0], none)[1]
        }

    def _current_recovery_points(self) -> dict[TopicPartition, int]:
        """The recovery points; those of unopened logs as they were read."""
        logs = self._logs.items()
        return self._without_deleted(self._recovery_points) | {
            key: log.recovery_point - (not self._is_closing and _may_roll(log)) for key, log in logs
        }

    def _current_log_starts(self) -> dict[TopicPartition, int]:
        """The starts that differ from the first segment's base offset, as in Kafka.

        Also those that no other file surely has: a lost segment must be noticed.
        """
        starts = self._without_deleted(self._log_starts)
        for key, log in self._logs.items():
            if log.log_start_offset > log.layout.all[0].base_offset or log.needs_stored_start:
                starts[key] = log.log_start_offset
            else:
                starts.pop(key, None)
        return starts

    def _current_high_watermarks(self) -> dict[TopicPartition, int]:
        logs = self._logs.items()
        return self._without_deleted(self._high_watermarks) | {
            key: log.high_watermark for key, log in logs
        }

    def close(self, *, clean: bool = True) -> None:
        """Close all logs and release the directory.

        Args:
            clean: flush them, and mark the stop as clean; False leaves all as a crash would.

        Raises:
            OSError: some logs failed to close. All are closed, and the next start recovers them.
        """
        failures: list[OSError] = []
        self._is_closing = True
        while clean and (dropped := self.next_dropped()) is not None:
            try:
                self.delete_log(*dropped)
            except OSError as failed:
                failures.append(failed)
        for log in self._logs.values():
            try:
                log.close(clean=clean)
            except OSError as failed:
                failures.append(failed)
        try:
            if clean:  # a clean mark is trusted, after a loss of power too
                self.checkpoint(sync=True)
                if not failures:
                    self._mark_clean()
        except OSError as failed:
            failures.append(failed)
        self._logs.clear()
        self._files.close(self._lock)
        if failures:
            why = f"{len(failures)} failures, the first: {failures[0]}"
            raise OSError(f"{self.path} was not closed cleanly, the next start repairs it: {why}")

    def _mark_clean(self) -> None:
        opened = {f"{topic}-{partition}" for topic, partition in self._logs}
        # Logs that a crash left unclean, and were not opened since, stay unclean.
        if self.clean or self.partition_names() <= opened:
            content = b'{"version":0,"brokerEpoch":%d}' % self.broker_epoch
            write_atomically(self._files, f"{self.path}/{CLEAN_SHUTDOWN}", content, sync=True)
            self._boot_mark.remove()

    def permit_saves(self) -> bool:
        """Prepare the directory for `PartitionLog.save_in_steps`; False: not yet, or never.

        The next start may trust all data, so none of a loss of power may be left unread. Raises
        OSError.
        """
        opened = (f"{topic}-{partition}" for topic, partition in self._logs)
        if not self._permits_saves and (self.clean or self.partition_names().issubset(opened)):
            self._permits_saves = self._boot_mark.make()
        return self._permits_saves


def _check_owner(files: Files, path: str, node_id: int, cluster_id: str | None) -> list[str]:
    """The names in a directory that is this node's, or may become so. Raises WrongDirectory."""
    names = files.names_in(path)
    if META_PROPERTIES in names:
        read_meta_properties(files, path, node_id, cluster_id)
    elif any(map(is_partition, names)):
        raise WrongDirectory(f"{path}/{META_PROPERTIES} is missing, but there are logs")
    return names


def _may_roll(log: PartitionLog) -> bool:
    """Whether the end of the last segment is on disk, and its aborted transactions are not.

    A start trusts the index of a segment that ends at the recovery point.
    """
    return log.recovery_point == log.log_end_offset and log.has_unwritten_aborts


def _remove_tree(files: Files, directory: str) -> None:
    if files.link_target(directory):  # what it leads to may belong to others
        files.remove(directory)
        return
    for name in files.names_in(directory):
        files.remove(f"{directory}/{name}")
    files.remove_directory(directory)


def _written(checkpoint: Checkpoint, offsets: Offsets, *, sync: bool) -> Steps[None]:
    """Write a checkpoint unless it is current."""
    if not checkpoint.is_current(offsets, sync=sync):
        yield from checkpoint.write_in_steps(offsets, sync=sync)

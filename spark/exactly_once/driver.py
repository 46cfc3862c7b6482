"""Carries out the driver's decisions: one call of commit() or abort()."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from confluent_kafka import KafkaException

from ...client.cluster_client import ErrorAnswer, NoAnswer
from .cluster import ClusterTransactions, sink_client
from .crash_steps import CrashStep, reached
from .decisions import (
    Action,
    Describe,
    End,
    Fail,
    Fence,
    Finish,
    ReadLog,
    View,
    Write,
    WriteDifference,
    next_action,
)
from .names import is_task_of, task_id
from .options import SinkOptions
from .task_writer import OutgoingRow, TaskWriter
from .tasks import Task
from .transaction_fates import TransactionFate, fate_of
from .write_ahead_log import WriteAheadLog

_log = logging.getLogger(__name__)
_MOST_ACTIONS: Final = 1000  # a commit takes ten
_MOST_LOOKS: Final = 10
_LOOK_AGAIN_S: Final = 0.1


class SinkFailed(Exception):
    """A batch could not be committed; the message says why, and whether a replay helps."""


class Origin(NamedTuple):
    """The query and the run that wrote a batch.

    Attributes:
        query_id: of the checkpoint, or the name of a batch write.
        run_id: differs between two starts of the query.
    """

    query_id: str
    run_id: str

    @property
    def is_new(self) -> bool:
        """Whether it is a batch write without a name, which is not repeated."""
        return self.query_id == self.run_id

    def transactional_id(self, options: SinkOptions, task: int, attempt: int) -> str:
        """The transactional id of an attempt of a task."""
        return task_id(options.prefix, self.query_id, self.run_id, task, attempt)


class Driver:
    """Commits one batch.

    Args:
        reported: the reports of the tasks that wrote rows.
    """

    def __init__(
        self, options: SinkOptions, origin: Origin, batch_id: int, reported: Sequence[Task]
    ) -> None:
        self._options = options
        self._origin = origin
        self._batch_id = batch_id
        self._reported = tuple(reported)

    def commit(self) -> None:
        """Commit the batch; returns at once if that was done before.

        Raises:
            SinkFailed: the batch cannot be committed now.
            ReplacedDriver: a later driver of the query has begun.
        """
        self._reach(CrashStep.COMMIT_CALLED)
        try:
            self._commit()
        except (KafkaException, ErrorAnswer, NoAnswer) as trouble:
            raise self._unreachable("commit", trouble) from trouble

    def _unreachable(self, does: str, trouble: Exception) -> SinkFailed:
        """The error of a cluster that did not answer, or refused, with its address and topics."""
        options = self._options
        topics = self._topics() | ({options.topic} if options.topic else set())
        reason = trouble.args[0].str() if isinstance(trouble, KafkaException) else trouble
        return SinkFailed(
            f"{does} of batch {self._batch_id} to topic {', '.join(sorted(topics)) or '(none)'} at"
            f" {options.bootstrap_servers} (kafka.bootstrap.servers), with the write-ahead log in"
            f" topic {options.wal_topic} (walTopic): {reason}. Start the query again, or repeat a"
            " write that has a writeId: it finishes what is decided and writes the rest"
        )

    def _topics(self) -> set[str]:
        return {span.topic for each in self._reported for span in each.spans}

    def _commit(self) -> None:
        with sink_client(self._options.bootstrap_servers, self._options.security()) as client:
            cluster = ClusterTransactions(client)
            log = WriteAheadLog(self._options, self._origin.query_id, client)
            logged = log.read(is_new=self._origin.is_new)
            topics = self._topics() | (set() if logged is None else set(logged.topic_ids))
            view = View(
                self._origin.query_id,
                self._batch_id,
                self._reported,
                logged,
                self._options.margin_ms,
                topic_ids=cluster.topic_ids(topics),
            )
            self._reach(CrashStep.LOG_READ)
            for _ in range(_MOST_ACTIONS):
                action = next_action(view)
                _log.debug("batch %s: %s", self._batch_id, type(action).__name__)
                if isinstance(action, Finish):
                    return
                if isinstance(action, Fail):
                    hint = "" if action.replay_helps else " (a replay does not help)"
                    raise SinkFailed(f"batch {self._batch_id}: {action.reason}{hint}")
                view = self._after(action, view, cluster, log)
        raise SinkFailed(f"batch {self._batch_id}: the transactions stay open")

    def abort(self) -> None:
        """Abort the reported transactions of a batch that failed, if a broker answers.

        So are those of tasks of the same run that did not report, because the query was stopped;
        of these, tasks that have a producer and no transaction yet are fenced, too. Spark ends the
        processes of tasks a moment later, so a task may get its producer meanwhile: the driver
        looks again, until it finds no further task.
        Spark also calls this after a commit() that failed or was interrupted: a decided batch is
        finished. What is left open here is ended by the next commit().
        """
        with sink_client(self._options.bootstrap_servers, self._options.security()) as client:
            try:
                client.connect()
            except NoAnswer as trouble:
                _log.warning("%s", self._unreachable("abort", trouble))
                return
            log = WriteAheadLog(self._options, self._origin.query_id, client)
            logged = log.read(is_new=self._origin.is_new)
            waiting = () if logged is None or logged.is_done else logged.tasks
            decided = {each.transaction.transactional_id for each in waiting}
            cluster = ClusterTransactions(client)
            for each in waiting:
                cluster.commit(each.transaction)
            self._fence_all_but(decided, cluster)

    def _fence_all_but(self, decided: Collection[str], cluster: ClusterTransactions) -> None:
        """Fence the reported tasks, and those of this run that appear while it looks."""
        ended = set(decided)
        names = [each.transaction.transactional_id for each in self._reported]
        for look in range(_MOST_LOOKS):
            if look:
                time.sleep(_LOOK_AGAIN_S)
            found = self._open_ids(cluster, may_begin=True)
            names += [name for name in found if self._is_of_this_run(name)]
            late = [name for name in dict.fromkeys(names) if name not in ended]
            for name in late:
                cluster.fence(name)
            ended.update(late)
            if look and not late:
                return

    def _is_of_this_run(self, transactional_id: str) -> bool:
        """Whether the id may be of this run; of any run, if no task has reported its run."""
        run_id = self._origin.run_id
        return not run_id or f"-{run_id}-" in transactional_id

    def _after(
        self, action: Action, view: View, cluster: ClusterTransactions, log: WriteAheadLog
    ) -> View:
        """Carry out an action; the view with its result."""
        match action:
            case Describe(tasks):
                return self._described(view, tasks, cluster)
            case ReadLog(tasks):
                found = {each.transaction: cluster.fate_in_log(each) for each in tasks}
                return replace(view, log_fates={**view.log_fates, **found})
            case Write(batch):
                log.write(batch)
                self._reach(CrashStep.DONE_WRITTEN if batch.is_done else CrashStep.DECISION_WRITTEN)
                return replace(view, logged=batch)
            case End(tasks):
                return self._ended(view, tasks, cluster)
            case WriteDifference(kept, fresh):
                difference = self._write_difference(cluster, kept, fresh)
                return replace(view, difference=difference)
            case Fence(tasks, sweeps):
                self._fence(cluster, tasks, sweeps=sweeps)
                return replace(view, is_fenced=True)
            case _:
                raise AssertionError(action)

    def _described(self, view: View, tasks: Sequence[Task], cluster: ClusterTransactions) -> View:
        found = cluster.describe([each.transaction.transactional_id for each in tasks])
        fates, left_ms = dict(view.fates), []
        for each in tasks:
            described = found.get(each.transaction.transactional_id)
            fates[each.transaction] = fate_of(each.transaction, described)
            if described is not None and fates[each.transaction] is TransactionFate.OPEN:
                left_ms.append(described.left_ms)
        self._reach(CrashStep.FATES_KNOWN)
        return replace(view, fates=fates, least_left_ms=min(left_ms, default=None))

    def _ended(self, view: View, tasks: Sequence[Task], cluster: ClusterTransactions) -> View:
        for each in tasks:
            cluster.commit(each.transaction)
            self._reach(CrashStep.TASK_COMMITTED)
        cluster.wait_for_markers([each.transaction.transactional_id for each in tasks])
        self._reach(CrashStep.ALL_COMMITTED)
        ended = {each.transaction for each in tasks}
        fates = {key: fate for key, fate in view.fates.items() if key not in ended}
        return replace(view, fates=fates)

    def _write_difference(
        self, cluster: ClusterTransactions, kept: Sequence[Task], fresh: Sequence[Task]
    ) -> Task:
        name = self._origin.transactional_id(self._options, -1, 0)
        rows = (
            OutgoingRow(row.topic, row.key, row.value, row.headers, row.partition)
            for row in cluster.difference(kept, fresh)
        )
        written = TaskWriter(self._options, name).write(rows, task=-1)
        if written is None:
            raise SinkFailed(f"batch {self._batch_id}: the committed rows are not in the replay")
        return written

    def _fence(self, cluster: ClusterTransactions, tasks: Sequence[Task], *, sweeps: bool) -> None:
        names = [each.transaction.transactional_id for each in tasks]
        if sweeps:
            names += self._open_ids(cluster)
        for name in dict.fromkeys(names):
            cluster.fence(name)
        self._reach(CrashStep.OTHERS_FENCED)

    def _open_ids(self, cluster: ClusterTransactions, *, may_begin: bool = False) -> list[str]:
        """The transactional ids of all open transactions of the query's tasks."""
        prefix, query_id = self._options.prefix, self._origin.query_id
        found = cluster.open_ids(may_begin=may_begin)
        return [name for name in found if is_task_of(name, prefix, query_id)]

    def _reach(self, step: CrashStep) -> None:
        reached(step, self._options.steps_directory)

"""The decisions of the driver that commits a batch. Pure: `next_action` is a function of a view.

The driver carries out the action, puts the result into the view, and repeats, until the action is
`Finish` or `Fail`. A crash forgets the view and keeps what the actions did; the next call begins
with an empty view and reads the write-ahead log. docs/reference/spark-sink.md describes the
protocol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .tasks import DecidedBatch, Task, TransactionKey, committed, content_of, sum_of
from .transaction_fates import TransactionFate


@dataclass(frozen=True, slots=True)
class Describe:
    """Ask the coordinators about these transactions (DescribeTransactions)."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class ReadLog:
    """Read the fate of these transactions from the partitions, which have the last word."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Write the batch into the write-ahead log, in a transaction that fences earlier drivers."""

    batch: DecidedBatch


@dataclass(frozen=True, slots=True)
class End:
    """Commit these transactions (EndTxn) and wait until their markers are written."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class WriteDifference:
    """Write the rows of `fresh` that are not in `kept`, in one new transaction of the driver."""

    kept: tuple[Task, ...]
    fresh: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """Abort the transactions of attempts that are not in the batch, and fence their producers."""

    tasks: tuple[Task, ...]
    sweeps: bool
    """Also every other open transaction of this query (ListTransactions)."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The batch is committed."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The batch cannot be committed now.

    Attributes:
        reason: for the user.
        replay_helps: Spark's replay of the batch will write what is missing.
    """

    reason: str
    replay_helps: bool


Action = Describe | ReadLog | Write | End | WriteDifference | Fence | Finish | Fail


@dataclass(frozen=True, slots=True)
class View:
    """What the driver knows during one call of commit().

    Attributes:
        reported: the tasks that reported their rows; tasks without rows are left out.
        logged: the last batch of the query in the write-ahead log.
        fates: by the coordinators; missing for transactions that were not asked for.
        log_fates: by the partitions.
        least_left_ms: the shortest time until one of the open transactions times out.
        margin_ms: the time that a commit may take.
        difference: the result of WriteDifference.
        topic_ids: of the topics of the reported and the logged tasks, as they are now.
        is_fenced: Fence was carried out.
    """

    query_id: str
    batch_id: int
    reported: tuple[Task, ...]
    logged: DecidedBatch | None
    margin_ms: int
    fates: Mapping[TransactionKey, TransactionFate] = field(default_factory=dict)
    log_fates: Mapping[TransactionKey, TransactionFate] = field(default_factory=dict)
    least_left_ms: int | None = None
    difference: Task | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    is_fenced: bool = False


def next_action(view: View) -> Action:
    """The next action of the driver."""
    logged = view.logged
    if logged is None or logged.batch_id < view.batch_id:
        if logged is not None and not logged.is_done:
            reason = f"batch {logged.batch_id} is decided and not finished"
            return _refused(view, f"{reason}: Spark skipped it", replay_helps=False)
        return _decided(view, (), view.reported, 1)
    if logged.batch_id > view.batch_id:
        reason = f"batch {logged.batch_id} was committed later: this driver was replaced"
        return _refused(view, reason, replay_helps=False)
    if logged.is_done and logged.content() != content_of(view.reported):
        return _refused(view, _is_another(view, logged), replay_helps=False)
    if logged.is_done and (remade := _made_again(view, logged)):
        return _refused(view, remade, replay_helps=False)
    if logged.is_done:
        return Finish() if view.is_fenced else Fence(_others(view, logged), sweeps=True)
    return _finished(view, logged)


def _decided(view: View, kept: tuple[Task, ...], fresh: tuple[Task, ...], number: int) -> Action:
    """Decide to commit `fresh` if all of these transactions are open; else refuse."""
    if unknown := _without_fate(view, fresh):
        return Describe(unknown)
    lost = [each for each in fresh if view.fates[each.transaction] is not TransactionFate.OPEN]
    if lost:
        names = ", ".join(each.transaction.transactional_id for each in lost[:3])
        reason = f"{len(lost)} of {len(fresh)} transactions were ended before the decision: {names}"
        return _refused(view, reason, replay_helps=True)
    if fresh and view.least_left_ms is not None and view.least_left_ms < view.margin_ms:
        reason = (
            f"a transaction times out in {view.least_left_ms} ms: shorten the batches or raise"
            " transaction.timeout.ms"
        )
        return _refused(view, reason, replay_helps=True)
    tasks = kept + fresh
    topics = content_of(tasks).topics
    ids = {topic: view.topic_ids[topic] for topic in topics if topic in view.topic_ids}
    return Write(DecidedBatch(view.query_id, view.batch_id, tasks, round=number, topic_ids=ids))


def _finished(view: View, logged: DecidedBatch) -> Action:
    """Commit the tasks of a decided batch, or replace those that are lost."""
    waiting = tuple(each for each in logged.tasks if not each.is_committed)
    if unknown := _without_fate(view, waiting):
        return Describe(unknown)
    still_open = tuple(each for each in waiting if _fate(view, each) is TransactionFate.OPEN)
    if still_open:
        return End(still_open)
    # A coordinator may have forgotten an end; and only a lost transaction may be written again.
    doubtful = tuple(
        each
        for each in waiting
        if view.fates[each.transaction] is not TransactionFate.COMMITTED
        and each.transaction not in view.log_fates
    )
    if doubtful:
        return ReadLog(doubtful)
    lost = tuple(each for each in waiting if _fate(view, each) is not TransactionFate.COMMITTED)
    if not lost:
        return Write(logged.done())
    if any(_fate(view, each) is not TransactionFate.ABORTED for each in lost):
        reason = f"batch {view.batch_id}: the log no longer shows the fate of a transaction"
        return _refused(view, reason, replay_helps=False)
    return _repaired(view, logged, lost)


def _repaired(view: View, logged: DecidedBatch, lost: tuple[Task, ...]) -> Action:
    """Replace the lost tasks of a decided batch by those of the replay."""
    known = {each.transaction for each in logged.tasks}
    fresh = view.reported
    if not fresh or any(each.transaction in known for each in fresh):
        reason = f"{len(lost)} of {len(logged.tasks)} transactions timed out during the commit"
        return _refused(view, f"{reason}: the replay writes them again", replay_helps=True)
    if sum_of(each.digest for each in fresh) != sum_of(each.digest for each in logged.tasks):
        reason = f"the replay of batch {view.batch_id} has other rows than the batch"
        return _refused(view, f"{reason}, which is committed in part", replay_helps=False)
    gone = {each.transaction for each in lost}
    kept = committed(each for each in logged.tasks if each.transaction not in gone)
    rest = without(fresh, kept)
    if rest is None:
        if view.difference is None:
            return WriteDifference(kept, fresh)
        rest = (view.difference,)
    return _decided(view, kept, rest, logged.round + 1)


def without(fresh: Iterable[Task], kept: Iterable[Task]) -> tuple[Task, ...] | None:
    """The tasks of a replay without those that have the rows of a committed task.

    Returns:
        None if the replay spreads the rows over its tasks in another way.
    """
    have = Counter(each.digest for each in kept)
    rest = []
    for each in fresh:
        if have[each.digest]:
            have[each.digest] -= 1
        else:
            rest.append(each)
    return None if have.total() else tuple(rest)


def _is_another(view: View, logged: DecidedBatch) -> str:
    return (
        f"batch {logged.batch_id} of {view.query_id} is committed with {logged.content()}, and this"
        f" one has {content_of(view.reported)}. Another write needs another writeId, another query"
        " another checkpoint; a replay must have the same rows"
    )


def _made_again(view: View, logged: DecidedBatch) -> str:
    """Why the rows of a batch that is done are gone; empty if they are not.

    A name of a topic says nothing about it: one that was deleted and made again is empty.
    """
    gone = [
        topic
        for topic, topic_id in sorted(logged.topic_ids.items())
        if view.topic_ids.get(topic, topic_id) != topic_id
    ]
    if not gone:
        return ""
    return (
        f"batch {logged.batch_id} of {view.query_id} was written, and its rows are gone: topic"
        f" {', '.join(gone)} was deleted and made again since. To write them again, take another"
        " writeId, or for a query another walTopic"
    )


def _fate(view: View, task: Task) -> TransactionFate:
    return view.log_fates.get(task.transaction, view.fates[task.transaction])


def _without_fate(view: View, tasks: Iterable[Task]) -> tuple[Task, ...]:
    return tuple(each for each in tasks if each.transaction not in view.fates)


def _others(view: View, logged: DecidedBatch) -> tuple[Task, ...]:
    """Reported tasks that are not in the batch."""
    known = {each.transaction for each in logged.tasks}
    fresh = (*view.reported, *(() if view.difference is None else (view.difference,)))
    return tuple(each for each in fresh if each.transaction not in known)


def _refused(view: View, reason: str, *, replay_helps: bool) -> Action:
    """Abort the reported transactions that no decision covers, then fail."""
    if view.is_fenced:
        return Fail(reason, replay_helps)
    logged = view.logged
    others = view.reported if logged is None else _others(view, logged)
    return Fence(others, sweeps=False)

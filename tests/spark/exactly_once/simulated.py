"""A simulation of the sink: coordinator, tasks, drivers, crashes. One seed is one run.

`run(seed)` writes some batches of rows with the decisions of `ottla.spark.exactly_once`, and
compares the committed rows with the input. Everything that a crash may interrupt is a step of a
generator: the simulation stops the driver at a step, and Spark's replay begins with new
transactions, often with the rows spread in another way.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ottla.spark.exactly_once.decisions import (
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
from ottla.spark.exactly_once.tasks import (
    DecidedBatch,
    Task,
    TransactionKey,
    batch_of,
    content_of,
    records_of,
    row_digest,
    sum_of,
)
from ottla.spark.exactly_once.transaction_fates import (
    LAST_EPOCH,
    Described,
    TransactionFate,
    fate_of,
)

QUERY = "query"
MARGIN_MS = 100
TIMEOUT_MS = 1000
NEARLY_MS = TIMEOUT_MS - MARGIN_MS // 2
"""After this time, less than the margin is left."""


@dataclass
class Transaction:
    """The state of a transactional id."""

    producer_id: int
    epoch: int
    state: str = "Empty"
    started_ms: int = 0
    rows: list[int] = field(default_factory=list)
    ended: TransactionKey | None = None
    """The last transaction that has ended."""


class Fenced(Exception):
    """A later driver has begun."""


@dataclass
class Cluster:
    """A coordinator, one output partition and the write-ahead log.

    Attributes:
        bumps: transaction version 2: each EndTxn raises the epoch.
        log: the rows of each transaction that has ended, with its fate.
        late: a driver that Spark took for dead, and that goes on in a later batch.
        refused: a driver failed, and said that a replay does not help.
    """

    choices: random.Random
    bumps: bool
    now_ms: int = 0
    ids: dict[str, Transaction] = field(default_factory=dict)
    log: dict[TransactionKey, tuple[TransactionFate, tuple[int, ...]]] = field(default_factory=dict)
    written_ahead: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    driver_epoch: int = 0
    next_producer_id: int = 0
    late: Driver | None = None
    refused: bool = False
    happened: Counter[str] = field(default_factory=Counter)

    def _new_id(self, near_the_end: bool) -> Transaction:
        self.next_producer_id += 1
        return Transaction(self.next_producer_id, LAST_EPOCH - 2 if near_the_end else 0)

    def init(self, name: str) -> TransactionKey:
        """InitProducerId: aborts what is open, and fences."""
        known = self.ids.setdefault(name, self._new_id(self.choices.random() < 0.5))
        if known.state == "Ongoing":
            assert self._key(name, known) not in self.decided(), f"{name} is decided"
            self._end(name, known, TransactionFate.ABORTED)
        known.state = "Empty"
        self._bump(known)
        return TransactionKey(name, known.producer_id, known.epoch)

    def write(self, key: TransactionKey, rows: Sequence[int]) -> None:
        known = self._current(key)
        if known.state != "Ongoing":
            known.state, known.started_ms = "Ongoing", self.now_ms
        known.rows += rows

    def end(self, key: TransactionKey) -> None:
        """EndTxn with commit; a refusal changes nothing."""
        known = self.ids.get(key.transactional_id)
        if known is None or known.state != "Ongoing" or self._key(key[0], known) != key:
            self.happened["EndTxn refused"] += 1
            return
        self._end(key.transactional_id, known, TransactionFate.COMMITTED)
        if self.bumps:
            self._bump(known)

    def pass_time(self, by_ms: int) -> None:
        self.now_ms += by_ms
        for name, known in self.ids.items():
            if known.state == "Ongoing" and self.now_ms - known.started_ms >= TIMEOUT_MS:
                self.happened["timeout"] += 1
                self._end(name, known, TransactionFate.ABORTED)
                known.epoch = min(known.epoch + 1, LAST_EPOCH + 1)

    def describe(self, key: TransactionKey) -> Described | None:
        known = self.ids.get(key.transactional_id)
        if known is None:
            return None
        left_ms = known.started_ms + TIMEOUT_MS - self.now_ms
        return Described(known.state, known.producer_id, known.epoch, left_ms)

    def expire(self) -> None:
        """Forget the transactional ids that are at rest (transactional.id.expiration.ms)."""
        self.happened["ids expired"] += 1
        self.ids = {name: each for name, each in self.ids.items() if each.state == "Ongoing"}

    def decided(self) -> set[TransactionKey]:
        """The transactions that the write-ahead log says are to be committed."""
        batch = batch_of(QUERY, self.written_ahead)
        return set() if batch is None else {each.transaction for each in batch.tasks}

    def fate_in_log(self, key: TransactionKey) -> TransactionFate:
        return self.log[key][0] if key in self.log else TransactionFate.OPEN

    def rows_of(self, key: TransactionKey) -> list[int]:
        if key in self.log:
            return list(self.log[key][1])
        return list(self._current(key).rows)

    def committed_rows(self) -> Counter[int]:
        ended = self.log.values()
        return Counter(
            row for fate, rows in ended if fate is TransactionFate.COMMITTED for row in rows
        )

    def _key(self, name: str, known: Transaction) -> TransactionKey:
        return TransactionKey(name, known.producer_id, known.epoch)

    def _current(self, key: TransactionKey) -> Transaction:
        known = self.ids[key.transactional_id]
        if self._key(key.transactional_id, known) != key:
            raise Fenced(key)
        return known

    def _end(self, name: str, known: Transaction, fate: TransactionFate) -> None:
        known.ended = self._key(name, known)
        self.log[known.ended] = (fate, tuple(known.rows))
        known.state = "CompleteCommit" if fate is TransactionFate.COMMITTED else "CompleteAbort"
        known.rows = []

    def _bump(self, known: Transaction) -> None:
        if known.epoch >= LAST_EPOCH:
            self.happened["epoch rollover"] += 1
            self.next_producer_id += 1
            known.producer_id, known.epoch = self.next_producer_id, 0
        else:
            known.epoch += 1


def digest(rows: Sequence[int]) -> int:
    return sum_of(row_digest("out", None, b"%d" % row) for row in rows)


def write_tasks(cluster: Cluster, run_id: str, rows: Sequence[int]) -> Iterator[tuple[Task, ...]]:
    """Spark's tasks of a batch, with steps between; the last value has the reports."""
    count = cluster.choices.choice((2, 2, 2, 3))  # the replay mostly has the same partitions
    reports = []
    for index in range(count):
        mine = [row for number, row in enumerate(rows) if number % count == index]
        attempt = 0
        while mine:
            key = cluster.init(f"{QUERY}-{run_id}-{index}-{attempt}")
            cluster.write(key, mine[:1])
            yield ()
            attempt += 1
            if attempt < 3 and cluster.choices.random() < 0.1:
                cluster.happened["task failed"] += 1
                continue  # the executor died, and its transaction is open
            try:
                cluster.write(key, mine[1:])
            except Fenced:
                cluster.happened["task fenced"] += 1
                continue  # it timed out
            reports.append(Task(key, index, len(mine), digest(mine)))
            break
        yield ()
    yield tuple(reports)


class Driver:
    """One call of commit(): each step may be the last one."""

    def __init__(self, cluster: Cluster, run_id: str, batch_id: int, reported: tuple[Task, ...]):
        self.cluster = cluster
        self.run_id = run_id
        cluster.driver_epoch += 1
        self.epoch = cluster.driver_epoch
        logged = batch_of(QUERY, cluster.written_ahead)
        self.view = View(QUERY, batch_id, reported, logged, MARGIN_MS)
        self.left_ms: dict[TransactionKey, int] = {}
        """Of the transactions that were open when the coordinator was asked."""

    def commit(self) -> Iterator[str]:
        """The steps; raises Fenced, or returns after Finish. A failure is a step "failed"."""
        while True:
            action = next_action(self.view)
            yield f"before {type(action).__name__}"
            match action:
                case Describe(tasks):
                    self._describe(tasks)
                case ReadLog(tasks):
                    found = {each.transaction: self._log_fate(each) for each in tasks}
                    self.view = replace(self.view, log_fates={**self.view.log_fates, **found})
                case Write(batch):
                    self._write(batch)
                case End(tasks):
                    for each in tasks:
                        self.cluster.end(each.transaction)
                        yield "task committed"
                    ended = {each.transaction for each in tasks}
                    kept = {key: of for key, of in self.view.fates.items() if key not in ended}
                    self.view = replace(self.view, fates=kept)
                case WriteDifference(kept_tasks, fresh):
                    self._write_difference(kept_tasks, fresh)
                case Fence(tasks, sweeps):
                    yield from self._fence(tasks, sweeps)
                case Finish():
                    return
                case Fail(reason, replay_helps):
                    self._check_nothing_is_open()
                    self.cluster.happened["batch failed"] += 1
                    yield "failed" if replay_helps else f"refused: {reason}"

    def _describe(self, tasks: tuple[Task, ...]) -> None:
        fates = dict(self.view.fates)
        left_ms = TIMEOUT_MS
        for each in tasks:
            found = self.cluster.describe(each.transaction)
            fates[each.transaction] = fate_of(each.transaction, found)
            if found is not None and fates[each.transaction] is TransactionFate.OPEN:
                left_ms = min(left_ms, found.left_ms)
                self.left_ms[each.transaction] = found.left_ms
        self.view = replace(self.view, fates=fates, least_left_ms=left_ms)

    def _log_fate(self, task: Task) -> TransactionFate:
        self.cluster.happened["fate read from the log"] += 1
        fate = self.cluster.fate_in_log(task.transaction)
        known = self.cluster.ids.get(task.transaction.transactional_id)
        if known is not None and known.ended == task.transaction and known.state != "Empty":
            assert fate is TransactionFate.ABORTED, "the coordinator has said that it is committed"
        return fate

    def _check_nothing_is_open(self) -> None:
        """The transactions of the replay that no decision covers are aborted before the failure."""
        decided = self.cluster.decided()
        for each in self.view.reported:
            if each.transaction not in decided:
                found = self.cluster.describe(each.transaction)
                fate = fate_of(each.transaction, found)
                assert fate is not TransactionFate.OPEN, f"{each.transaction} stays open"

    def _write(self, batch: DecidedBatch) -> None:
        if self.cluster.driver_epoch != self.epoch:
            self.cluster.happened["driver fenced"] += 1
            raise Fenced(batch)
        if not batch.is_done:
            for each in batch.tasks:
                left_ms = self.left_ms.get(each.transaction, -1)
                assert each.is_committed or left_ms >= MARGIN_MS, f"{each} is decided too late"
        self.cluster.happened[f"round {min(batch.round, 3)}"] += 1
        self.cluster.written_ahead += records_of(batch)
        assert batch_of(QUERY, self.cluster.written_ahead) == batch
        self.view = replace(self.view, logged=batch)

    def _write_difference(self, kept: tuple[Task, ...], fresh: tuple[Task, ...]) -> None:
        self.cluster.happened["difference written"] += 1
        rows = Counter(row for each in fresh for row in self.cluster.rows_of(each.transaction))
        rows.subtract(row for each in kept for row in self.cluster.rows_of(each.transaction))
        assert min(rows.values()) >= 0
        mine = list(rows.elements())
        key = self.cluster.init(f"{QUERY}-{self.run_id}-difference")
        self.cluster.write(key, mine)
        task = Task(key, -1, len(mine), digest(mine))
        self.view = replace(self.view, difference=task)

    def _fence(self, tasks: tuple[Task, ...], sweeps: bool) -> Iterator[str]:
        names = [each.transaction.transactional_id for each in tasks]
        if sweeps:
            known = self.cluster.ids.items()
            names += [name for name, each in known if each.state == "Ongoing"]
        for name in names:
            self.cluster.init(name)
            yield "fenced"
        self.view = replace(self.view, is_fenced=True)


@dataclass
class Result:
    """The transactional ids whose transaction is still open, and the events."""

    open_ids: list[str]
    happened: Counter[str]


def run(seed: int) -> Result:
    """Write three batches through crashes.

    Raises:
        AssertionError: the committed rows are not the input.
    """
    choices = random.Random(seed)
    cluster = Cluster(choices, bumps=choices.random() < 0.5)
    restarts = 0
    changes = choices.random() < 0.1  # the query is not deterministic
    expected: Counter[int] = Counter()
    for batch_id in range(3):
        # Some rows are equal, in one task or in two.
        rows = [batch_id * 10 + choices.randrange(6) for _ in range(choices.randrange(10))]
        replays = [rows]
        while not _attempt(cluster, f"run{restarts}", batch_id, replays[-1]):
            if cluster.refused:
                # Part of the batch is committed, and the replay has other rows.
                assert changes
                assert len(set(map(digest, replays))) > 1
                return Result([], cluster.happened)
            restarts += 1
            if changes:
                replays.append([batch_id * 10 + choices.randrange(6) for _ in rows])
            pause_ms = choices.choice((0, 0, 50, TIMEOUT_MS // 2, 2 * TIMEOUT_MS))
            cluster.pass_time(pause_ms if restarts < 30 else 0)
            if choices.random() < 0.1:
                cluster.expire()
        wanted = [expected + Counter(each) for each in replays]
        found = cluster.committed_rows()
        assert found in wanted, f"batch {batch_id}"
        expected = found
    open_ids = [name for name, each in cluster.ids.items() if each.state == "Ongoing"]
    return Result(open_ids, cluster.happened)


def _attempt(cluster: Cluster, run_id: str, batch_id: int, rows: Sequence[int]) -> bool:
    """Spark runs a batch once; False if it crashed or failed."""
    choices = cluster.choices
    calm = int(run_id.removeprefix("run")) >= 30  # the crashes end, so that the run does
    reported: tuple[Task, ...] = ()
    for reports in write_tasks(cluster, run_id, rows):
        reported = reports
        if not calm and choices.random() < 0.03:
            cluster.happened["crash of the tasks"] += 1
            return False
        slow = not calm and choices.random() < 0.04
        cluster.pass_time(choices.choice((TIMEOUT_MS, NEARLY_MS)) if slow else 1)
    driver = Driver(cluster, run_id, batch_id, reported)
    if not calm and choices.random() < 0.1:
        zombie, driver = driver, Driver(cluster, run_id, batch_id, reported)
        _interrupted(zombie, choices.randrange(10))
    try:
        for step in driver.commit():
            if step == "failed":
                return False
            if step.startswith("refused"):
                cluster.happened["replay with other rows"] += 1
                cluster.refused = True
                return False
            if not calm and choices.random() < 0.15:
                cluster.happened[f"crash: {step}"] += 1
                cluster.late = cluster.late or driver
                return False
            late = cluster.late
            if late is not None and late.view.batch_id < batch_id and choices.random() < 0.2:
                _come_late(cluster, late)
            slow = not calm and choices.random() < 0.05
            cluster.pass_time(choices.choice((400, TIMEOUT_MS)) if slow else 1)
    except Fenced:
        return False
    return True


def _interrupted(zombie: Driver, steps: int) -> None:
    """A driver that another one replaced does some more steps."""
    try:
        for _, step in zip(range(steps), zombie.commit(), strict=False):
            if step == "failed":
                return
    except Fenced:
        return


def _come_late(cluster: Cluster, dead: Driver) -> None:
    """Spark repeats the commit of an earlier batch and run: it changes nothing."""
    cluster.late = None
    cluster.happened["commit of an earlier batch"] += 1
    later = Driver(cluster, dead.run_id, dead.view.batch_id, dead.view.reported)
    is_replaced = later.view.logged is not None and later.view.logged.batch_id > later.view.batch_id
    logged = later.view.logged
    is_other = logged is not None and logged.content() != content_of(dead.view.reported)
    steps = list(_until_refused(later))
    is_refused = bool(steps) and steps[-1].startswith("refused")
    assert not is_replaced or is_refused, "a replaced driver has committed"
    assert not is_refused or is_replaced or is_other, "the commit of the same rows is refused"


def _until_refused(driver: Driver) -> Iterator[str]:
    for step in driver.commit():
        yield step
        if step.startswith("refused"):
            return

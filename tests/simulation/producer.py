"""A transactional producer like those of Kafka's clients: retriable, abortable and fatal errors.

Version 1 adds partitions before it writes and keeps its epoch. Version 2 (KIP-890) adds them by
writing and gets a new epoch from each EndTxn. After an abortable error it aborts and goes on, by
KIP-360 if the outcome of a batch is unknown. After a fatal error it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.coordinator.transactions.states import LAST_EPOCH, Kept, Partition
from ottla.protocol.batch import build
from ottla.protocol.errors import Code

from . import requests
from .cluster import OFFSETS, Answered, Cluster, Hosted
from .network import LOST, always
from .requests import Ask
from .scheduler import Process, Steps, TaskError

_MOVED: Final = (Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_COORDINATOR)
RETRIABLE: Final = frozenset(
    {
        LOST,
        *_MOVED,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.CONCURRENT_TRANSACTIONS,
        Code.NOT_ENOUGH_REPLICAS,
        Code.KAFKA_STORAGE_ERROR,
        Code.UNSTABLE_OFFSET_COMMIT,
    }
)
_FENCING: Final = (Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_EPOCH)
# A coordinator that loses its partition answers so even if its decision is already in the log.
_UNSURE: Final = (Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE)
_MOST_TRIES: Final = 8
_BACKOFF_MS: Final = 40


class FencedError(TaskError):
    """A fatal error: another producer has the transactional id, or the request is impossible."""

    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code


class AbortableError(TaskError):
    """This transaction must be aborted; the next one may be committed."""

    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code


class Client:
    """Sends requests to leaders, which it caches until they change."""

    def __init__(self, cluster: Cluster, process: Process) -> None:
        self.cluster = cluster
        self.scheduler = cluster.scheduler
        self.process = process
        self._leaders: dict[Partition, int] = {}

    def ask(
        self,
        name: str,
        partition: Partition,
        work: Ask | Callable[[Hosted], Answered],
        *,
        details: Sequence[object] = (),
        only_while: Callable[[], bool] = always,
    ) -> Steps[Any]:
        """Send a request to the leader of a partition; its answer, or LOST."""
        leader = self._leaders.setdefault(partition, self.cluster.hosted[partition].leader)
        if isinstance(work, Ask):
            request = self.cluster.handle(leader, work)
        else:
            request = self.cluster.serve(leader, partition, work)
        result = yield self.cluster.network.call(
            name,
            request,
            details=(self.process.name, *details),
            only_while=only_while,
        )
        if result is LOST or result in _MOVED:
            self._leaders.pop(partition, None)
        return result

    def backoff(self) -> Any:
        return self.scheduler.sleep(self.scheduler.random.randint(1, _BACKOFF_MS))


class TransactionalProducer(Client):
    """A producer of a transactional id.

    Args:
        patience: chance that it retries a batch without an answer; else it aborts.
        in_two_phases: its transactions have no timeout (KIP-939).

    Attributes:
        bumps: it uses version 2, in which EndTxn bumps the epoch.
        producer: its producer id and epoch; None before `init`.
        is_unsure: an EndTxn of the open transaction had no answer, so the transaction may have
            ended.
    """

    def __init__(
        self,
        cluster: Cluster,
        process: Process,
        transactional_id: str,
        *,
        bumps: bool,
        timeout_ms: int,
        patience: float = 1.0,
        in_two_phases: bool = False,
    ) -> None:
        super().__init__(cluster, process)
        self.transactional_id = transactional_id
        self.bumps = bumps
        self.producer: Producer | None = None
        self.is_unsure = False
        self._timeout_ms = timeout_ms
        self._patience = patience
        self._in_two_phases = in_two_phases
        self._coordinator = cluster.coordinator_of(transactional_id)
        self._sequences: dict[Partition, int] = {}
        self._unanswered: dict[Partition, set[int]] = {}
        self._added: set[Partition] = set()
        self._has_written = False
        self._needs_bump = False
        self._transaction = 0
        self._fencings = 0

    @property
    def me(self) -> Producer:
        assert self.producer is not None
        return self.producer

    def init(self, expected: Producer | None = None) -> Steps[None]:
        """InitProducerId, without or with (KIP-360) its producer id. Raises FencedError."""
        coordinator = self.cluster.hosted[self._coordinator]
        began_under = coordinator.leader_epoch
        while True:
            result = yield from self.ask(
                "InitProducerId",
                self._coordinator,
                requests.init_producer_id(
                    self.transactional_id,
                    timeout_ms=self._timeout_ms,
                    expected=expected,
                    in_two_phases=self._in_two_phases,
                ),
                details=(expected,),
                only_while=always if self.bumps else self._while_it_is(self.producer),
            )
            if isinstance(result, Producer):
                break
            if result not in RETRIABLE:
                # A coordinator does not recognize a retry after a reload, or a second retry
                # after the epochs are exhausted. Kafka's do not either.
                is_exhausted = expected is not None and expected.producer_epoch >= LAST_EPOCH
                if coordinator.leader_epoch == began_under and not is_exhausted:
                    self._check_reason(result)
                raise FencedError(result)
            yield self.backoff()
        if expected is not None:
            self.scheduler.note("epoch bumped by its owner", self.process.name)
        self.producer = result
        self._fencings = self.cluster.fencings_before[self.transactional_id, result]
        self._sequences.clear()

    def take_over(self) -> Steps[Producer | None]:
        """InitProducerId that keeps a prepared transaction; its producer. Raises FencedError."""
        while True:
            result = yield from self.ask(
                "InitProducerId",
                self._coordinator,
                requests.init_in_two_phases(self.transactional_id),
                details=("in two phases",),
            )
            if isinstance(result, Producer | Kept):
                break
            if result not in RETRIABLE:
                raise FencedError(result)
            yield self.backoff()
        self.producer = result if isinstance(result, Producer) else result.producer
        self._fencings = self.cluster.fencings_before[self.transactional_id, self.producer]
        self._sequences.clear()
        if isinstance(result, Producer):
            return None
        self.begin()
        self._has_written = True
        self.scheduler.note("prepared transaction kept", self.process.name)
        return result.ongoing

    def begin(self) -> None:
        self._transaction += 1
        self._added.clear()
        self._has_written = self._needs_bump = self.is_unsure = False

    # Writing

    def send(self, sendings: Sequence[tuple[Partition, Sequence[str]]]) -> Steps[None]:
        """Write batches in parallel. Raises AbortableError or FencedError."""
        if not self.bumps:
            yield from self._add([partition for partition, _ in sendings])
        self._has_written = True
        parts = []
        for partition, values in sendings:
            sequence = self._sequences.get(partition, 0)
            self._sequences[partition] = sequence + len(values)
            self._unanswered.setdefault(partition, set()).add(sequence)
            parts.append(self._produce(partition, values, sequence))
        for result in (yield self.scheduler.gather(self.process, parts)):
            if isinstance(result, TaskError):
                raise result

    def _add(self, partitions: Sequence[Partition], group_id: str = "") -> Steps[None]:
        missing = sorted(set(partitions) - self._added)
        if not missing:
            return
        yield from self._until_done(
            "AddPartitionsToTxn",
            self._coordinator,
            self._adding(missing, group_id),
            only_while=self._while_in_transaction(),
        )
        self._added.update(missing)

    def _adding(self, partitions: Sequence[Partition], group_id: str) -> Ask:
        if partitions == [OFFSETS]:
            return requests.add_offsets(self.transactional_id, self.me, group_id)
        return requests.add_partitions(self.transactional_id, self.me, partitions)

    def _produce(self, partition: Partition, values: Sequence[str], sequence: int) -> Steps[None]:
        me = self.me
        batch = bytes(
            build(
                [(None, value.encode()) for value in values],
                timestamp_ms=self.scheduler.now_ms,
                producer_id=me.producer_id,
                producer_epoch=me.producer_epoch,
                base_sequence=sequence,
                transactional=True,
            )
        )
        unanswered = self._unanswered[partition]
        is_patient = self.scheduler.random.random() < self._patience
        try:
            for _ in range(_MOST_TRIES if is_patient else 1):
                result = yield from self.ask(
                    "Produce",
                    partition,
                    requests.produce(self.transactional_id, partition, batch, adds=self.bumps),
                    details=(
                        me.producer_id,
                        me.producer_epoch,
                        *partition,
                        sequence,
                        values[0],
                    ),
                )
                if isinstance(result, int) and not isinstance(result, Code):
                    return
                overtook = result is Code.OUT_OF_ORDER_SEQUENCE_NUMBER and any(
                    other < sequence for other in unanswered
                )
                if result not in RETRIABLE and not overtook:
                    break
                yield self.backoff()
        finally:
            unanswered.discard(sequence)
        self._needs_bump = True  # it may still arrive, so its sequence number is used
        raise AbortableError(result)

    def send_offset(self, group_id: str, partition: Partition, offset: int) -> Steps[None]:
        """Commit its offset in the transaction. Raises like `send`."""
        me = self.me
        self._has_written = True
        if not self.bumps:
            yield from self._add([OFFSETS], group_id)
        yield from self._until_done(
            "TxnOffsetCommit",
            OFFSETS,
            requests.commit_offset(
                self.transactional_id, me, OffsetToCommit(*partition, offset), group_id=group_id,
                adds=self.bumps,
            ),
            only_while=self._while_in_transaction(),
            details=(me.producer_id, me.producer_epoch, offset),
        )  # fmt: skip

    # Ending

    def end(self, *, commit: bool) -> Steps[None]:
        """Send EndTxn, unless nothing was written. Raises AbortableError or FencedError."""
        if not (self._has_written if self.bumps else self._added):
            return
        me = self.me
        result = yield from self._until_done(
            "EndTxn",
            self._coordinator,
            requests.end(self.transactional_id, me, commit=commit, bumps=self.bumps),
            only_while=self._while_in_transaction(),
            details=(me.producer_id, me.producer_epoch, commit),
            is_end=True,
        )
        if self.bumps:
            if result.producer_id != me.producer_id:
                self.scheduler.note("producer id rotated", self.process.name)
            self.producer = result
            self._sequences.clear()
            self._needs_bump = False
        self._has_written = False
        self._added.clear()

    def abort(self, error: AbortableError | None) -> Steps[None]:
        """Abort the transaction, and be ready for the next. Raises FencedError."""
        code = None if error is None else error.code
        if code != Code.INVALID_PRODUCER_ID_MAPPING:
            try:
                yield from self.end(commit=False)
            except AbortableError as failed:
                code = failed.code
        if code == Code.INVALID_PRODUCER_ID_MAPPING or self._needs_bump:
            yield from self.init(expected=self.me)
            self._needs_bump = False

    def _until_done(
        self,
        name: str,
        partition: Partition,
        work: Ask,
        *,
        only_while: Callable[[], bool],
        details: Sequence[object] = (),
        is_end: bool = False,
    ) -> Steps[Any]:
        """Retry a request to a coordinator. Raises AbortableError or FencedError."""
        while True:
            result = yield from self.ask(
                name, partition, work, details=details, only_while=only_while
            )
            if is_end and (result is LOST or result in _UNSURE):
                self.is_unsure = True
            if result is None or isinstance(result, Producer):
                return result
            if result not in RETRIABLE:
                break
            yield self.backoff()
        if result in _FENCING or (is_end and result is Code.INVALID_TXN_STATE):
            self._check_reason(result)
            raise FencedError(result)
        raise AbortableError(result)

    def _check_reason(self, result: object) -> None:
        self.scheduler.note("producer fenced", self.process.name, result)
        assert self.cluster.fencings[self.transactional_id] > self._fencings, (
            f"{self.process.name} got {result}, but no later producer has its id"
        )

    def _while_it_is(self, producer: Producer | None) -> Callable[[], bool]:
        """True while its producer id and epoch are the same; see network.py."""
        return lambda: self.producer == producer

    def _while_in_transaction(self) -> Callable[[], bool]:
        """True while a request of version 1 may arrive; see network.py."""
        if self.bumps:
            return always
        transaction = self._transaction
        return lambda: self._transaction == transaction

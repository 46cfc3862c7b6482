"""Writes the markers of decided transactions: a control batch in each of their partitions.

Follows Kafka's TransactionMarkerChannelManager: there is a queue for each destination node and one
for partitions without a leader; retries never end. Markers for partitions of this node are written
in the same turn of the event loop as the decision, so that the next request never finds a
transaction without its markers (Kafka answers CONCURRENT_TRANSACTIONS until then). If there are
very many partitions, or many without a record, the rest is written in slices, and the next request
gets the same answer as from Kafka. No request waits for a marker.

A transaction is complete only when each partition has its marker. A partition that refuses it
permanently keeps the transaction prepared until its coordinator is loaded again, as in Kafka.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ....coordinator.outcome import Effect, Outcome, Producer
from ....coordinator.transactions.coordinator import Transactions
from ....coordinator.transactions.states import (
    PREPARE_COMMIT,
    Partition,
    Transaction,
    WriteMarkers,
)
from ....metadata.catalog import TRANSACTION_STATE
from ....protocol.errors import Code, Refused
from ....storage.log import PartitionLog
from ...log_output import Log
from ...scheduling.turns import Turns
from ..shards.shard import Shard
from ..work_limits import WORK_LIMITS, WorkLimits
from . import markers

if TYPE_CHECKING:
    from ....coordinator.moment import Moment
    from ...clock import Timer
    from ..logs.flushes import FlushQueue
    from .partitions import Partitions

MOST_IN_A_REQUEST: Final = 1000
INTO_AN_EMPTY_LOG: Final = 5
"""The first write to a log counts as so many: it creates the log's files, which takes 250 us.

A transaction has records in its partitions, unless it added them and sent nothing.
"""

# How an error of a marker is handled, as in TransactionMarkerRequestCompletionHandler.
# After any other error the marker is not sent again, and the transaction stays prepared.
COUNTS_AS_WRITTEN: Final = frozenset(
    {
        Code.NONE,
        Code.UNSUPPORTED_FOR_MESSAGE_FORMAT,  # such a partition cannot have transactional records
        Code.UNSUPPORTED_VERSION,
    }
)
RETRIES: Final = frozenset(
    {
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.NOT_ENOUGH_REPLICAS,
        Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Code.REQUEST_TIMED_OUT,
        Code.KAFKA_STORAGE_ERROR,
    }
)

_WRITTEN: Final = Code.NONE  # a member of an enum costs 0.1 us to look up, for each marker

_log = Log("markers")


class Ending:
    """A prepared transaction whose markers are being written.

    Attributes:
        producer, commit: of its markers.
        left: the partitions that have no marker yet.
        refused: the partitions with a logged refusal; repeated ones are not logged.
        refused_for_good: the partitions of `left` that get no further attempt, with their error.
        logs: of this node, with markers that may not be on disk yet.
    """

    __slots__ = (
        "commit", "effect", "left", "logs", "producer", "refused", "refused_for_good", "shard",
    )  # fmt: skip

    def __init__(self, shard: Shard[Transactions], effect: WriteMarkers) -> None:
        self.shard = shard
        self.effect = effect
        transaction = effect.transaction
        self.producer = Producer(transaction.producer_id, transaction.producer_epoch)
        self.commit = transaction.state is PREPARE_COMMIT  # as `effect.commit`, without the call
        self.left = set(transaction.partitions)
        self.logs: list[PartitionLog] = []
        self.refused: set[Partition] = set()
        self.refused_for_good: dict[Partition, Code] = {}


Entry = tuple[Ending, Partition]


class Requests(Protocol):
    """Sends markers to other nodes."""

    def send(self, node_id: int, entries: Sequence[Entry], /) -> Awaitable[list[Code]]:
        """Send markers to a node; return its answers in the same order; raises OSError."""

    def close(self) -> None:
        """Close all connections."""


class Destination:
    """The queue of one node.

    Attributes:
        node_id: of the node.
        entries: the markers to send next.
        in_flight: the number of markers in the request that has no answer yet.
        failures: the number of failed attempts since the last success.
    """

    __slots__ = ("entries", "failures", "in_flight", "node_id", "timer")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.entries: deque[Entry] = deque()
        self.in_flight = 0
        self.failures = 0
        self.timer: Timer | None = None

    def __len__(self) -> int:
        return len(self.entries) + self.in_flight


class MarkerChannel:
    """The markers of the transactions that one node coordinates.

    Args:
        partitions: of this node.
        flushes: of its logs.
        connect: creates the sender to other nodes; called for the first marker for one of them.
        limits: of the markers in a turn, and the waits before a retry.

    Attributes:
        destinations: the queues by node id; this node's own has markers to write again.
        unknown_leader: markers for partitions without a running leader.
        unwritten: markers for this node, of transactions over very many partitions.
        completions: transactions with all markers whose completion the log refused.
        unfinished: transactions not complete at the end of `write`, by transactional id.
        retries: the number of markers that were sent again.
    """

    def __init__(
        self,
        partitions: Partitions,
        flushes: FlushQueue,
        connect: Callable[[], Requests],
        limits: WorkLimits = WORK_LIMITS,
    ) -> None:
        self.destinations: dict[int, Destination] = {}
        self.unknown_leader: deque[Entry] = deque()
        self.unwritten: deque[Entry] = deque()
        self._turn: asyncio.Handle | None = None
        self.completions: deque[Ending] = deque()
        self.unfinished: dict[str, Ending] = {}
        self.retries = 0
        self._partitions = partitions
        self._node_id = partitions.node_id
        self._clock = partitions.clock
        self._flushes = flushes
        self._connect = connect
        self._limits = limits
        self._completion_timer: Timer | None = None
        self._requests: Requests | None = None
        self._stopped = False

    def write(self, shard: Shard[Transactions], effect: Effect) -> None:
        """Write the markers of a transaction, then complete it in its coordinator.

        Raises:
            TypeError: the effect is not `WriteMarkers`.
        """
        if not isinstance(effect, WriteMarkers):
            raise TypeError(f"unknown effect {effect!r}")
        if self._stopped or shard.is_closed:
            return  # the new leader of its partition writes them
        ending = Ending(shard, effect)
        self.unfinished[effect.transaction.transactional_id] = ending
        self._route([(ending, partition) for partition in sorted(ending.left)])
        self._complete_if_written(ending)

    def without_marker(self, transaction: Transaction) -> Collection[Partition]:
        """The partitions of a transaction that have no marker yet; all of one that is open."""
        ending = self.unfinished.get(transaction.transactional_id)
        if ending is None or ending.effect.transaction != transaction:
            return transaction.partitions
        return ending.left

    @property
    def is_sending(self) -> bool:
        """Whether markers are on their way to other nodes for the first time."""
        return any(
            each.in_flight or (each.timer is not None and not each.failures)
            for each in self.destinations.values()
        )

    def refused_for_good(self) -> int:
        """The number of markers that get no further attempt; their transactions stay prepared."""
        return sum(len(ending.refused_for_good) for ending in self.unfinished.values())

    def leaders_changed(self) -> None:
        """Send waiting markers to the new leaders of their partitions."""
        waiting = [*self.unknown_leader, *self.unwritten]
        self.unknown_leader.clear()
        self.unwritten.clear()
        for destination in self.destinations.values():
            waiting += destination.entries
            destination.entries.clear()
        self._route_again(waiting)

    def forget(self, shard: Shard[Transactions]) -> None:
        """Drop the markers of an unloaded coordinator; its successor sends them again."""
        queues = [each.entries for each in self.destinations.values()]
        for queue in (self.unknown_leader, self.unwritten, *queues):
            kept = [entry for entry in queue if entry[0].shard is not shard]
            queue.clear()
            queue.extend(kept)
        kept_endings = [ending for ending in self.completions if ending.shard is not shard]
        self.completions = deque(kept_endings)
        for ending in [each for each in self.unfinished.values() if each.shard is shard]:
            del self.unfinished[ending.effect.transaction.transactional_id]

    def stop(self) -> None:
        """Stop sending; the node stops, and the channel is not used again."""
        self._stopped = True
        for destination in self.destinations.values():
            if destination.timer is not None:
                destination.timer.cancel()
        if self._completion_timer is not None:
            self._completion_timer.cancel()
        if self._turn is not None:
            self._turn.cancel()
        if self._requests is not None:
            self._requests.close()
        self.destinations.clear()
        self.unknown_leader.clear()
        self.unwritten.clear()
        self.completions.clear()
        self.unfinished.clear()
        self._requests = None

    # Where to

    def _route(self, entries: Sequence[Entry]) -> None:
        written, at_once = 0, self._limits.markers_at_once
        # The usual few are surely written at once, and need no slice.
        turns = Turns() if len(entries) * INTO_AN_EMPTY_LOG > at_once else None
        for entry in entries:
            ending, partition = entry
            leader_id = self._partitions.leader_of(*partition)
            if leader_id is None:
                ending.left.discard(partition)  # deleted while the transaction was open
            elif leader_id == self._node_id:
                if turns is None or written < at_once or not turns.is_over():
                    written += self._write_here(entry)
                else:
                    self.unwritten.append(entry)
            elif leader_id < 0:
                self.unknown_leader.append(entry)
            else:
                destination = self._destination(leader_id)
                destination.entries.append(entry)
                self._send_soon(destination)
        if self.unwritten and self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._write_unwritten)

    def _write_unwritten(self) -> None:
        """Write some of `unwritten`, and the rest in the next turns of the event loop."""
        self._turn = None
        turns = Turns()
        try:
            while self.unwritten:
                self._route_again([self.unwritten.popleft()])
                if turns.is_over():
                    break
        finally:  # also after a fault at one of them, which the event loop logs
            if self.unwritten and self._turn is None and not self._stopped:
                self._turn = asyncio.get_running_loop().call_soon(self._write_unwritten)

    def _route_again(self, entries: Collection[Entry]) -> None:
        if self._stopped:
            return
        endings = {entry[0] for entry in entries if not entry[0].shard.is_closed}
        self._route([entry for entry in entries if entry[0] in endings])
        for ending in endings:
            self._complete_if_written(ending)

    def _destination(self, node_id: int) -> Destination:
        destination = self.destinations.get(node_id)
        if destination is None:
            destination = self.destinations[node_id] = Destination(node_id)
        return destination

    # To this node

    def _write_here(self, entry: Entry) -> int:
        """Append a marker; if it must be tried again, it waits in this node's queue.

        Returns:
            its cost, in markers to logs with records.
        """
        ending, partition = entry
        try:
            log = markers.append(
                self._partitions,
                partition,
                ending.producer,
                commit=ending.commit,
                coordinator_epoch=ending.effect.coordinator_epoch,
            )
        except Refused as refused:
            if self._note_result(entry, refused.code, str(refused)):
                destination = self._destination(self._node_id)
                destination.entries.append(entry)
                self._schedule_attempt(destination, self._write_queued)
            return 1
        ending.left.discard(partition)
        ending.logs.append(log)
        return INTO_AN_EMPTY_LOG if log.log_end_offset == 1 else 1

    def _write_queued(self, destination: Destination) -> None:
        entries = [*destination.entries]
        destination.entries.clear()
        self.retries += len(entries)
        self._route_again(entries)
        if not destination.entries:
            destination.failures = 0

    def _note_result(self, entry: Entry, code: Code, why: str) -> bool:
        """Record the answer to a marker; return whether it must be sent again."""
        ending, partition = entry
        if code in COUNTS_AS_WRITTEN:
            ending.left.discard(partition)
        elif code not in RETRIES:
            ending.refused_for_good[partition] = code
            self._log_refusal(entry, why or code.name)
            return False
        if code != _WRITTEN and partition not in ending.refused:
            ending.refused.add(partition)
            _log.warning(
                "a partition refuses a transaction's marker",
                transactional_id=ending.effect.transaction.transactional_id,
                topic=partition[0],
                partition=partition[1],
                reason=why or code.name,
                is_tried_again=code in RETRIES,
            )
        return code in RETRIES

    def _log_refusal(self, entry: Entry, why: str) -> None:
        (topic, partition), transaction = entry[1], entry[0].effect.transaction
        _log.error(
            "a partition refuses a transaction's marker permanently: the transaction stays"
            " prepared, and its transactional id answers CONCURRENT_TRANSACTIONS",
            transactional_id=transaction.transactional_id,
            state=transaction.state.title,
            topic=topic,
            partition=partition,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=entry[0].effect.coordinator_epoch,
            reason=why,
            what_to_do="remove the reason, then restart this broker, which sends the marker again:"
            " docs/reference/metrics.md, Markers that are refused",
        )

    # To other nodes

    def _send_soon(self, destination: Destination) -> None:
        """Send a request in the next turn, with all markers gathered by then."""
        if destination.timer is None and not destination.in_flight:
            destination.timer = self._clock.live.call_after_ms(0, self._send, destination)

    def _schedule_attempt(
        self, destination: Destination, attempt: Callable[[Destination], None]
    ) -> None:
        if destination.timer is None and not self._stopped:
            wait_ms = min(
                self._limits.marker_retry_ms << min(destination.failures, 10),
                self._limits.marker_retry_max_ms,
            )
            destination.failures += 1
            destination.timer = self._clock.live.call_after_ms(
                wait_ms, self._attempt, destination, attempt
            )

    @staticmethod
    def _attempt(destination: Destination, attempt: Callable[[Destination], None]) -> None:
        destination.timer = None
        attempt(destination)

    def _send(self, destination: Destination) -> None:
        destination.timer = None
        batch: list[Entry] = []
        while destination.entries and len(batch) < MOST_IN_A_REQUEST:
            entry = destination.entries.popleft()
            if not entry[0].shard.is_closed:
                batch.append(entry)
        if not batch:
            return
        if self._requests is None:
            self._requests = self._connect()
        destination.in_flight = len(batch)
        sending = asyncio.ensure_future(self._requests.send(destination.node_id, batch))
        sending.add_done_callback(partial(self._note_answer, destination, batch))

    def _note_answer(
        self, destination: Destination, batch: list[Entry], answer: asyncio.Future[list[Code]]
    ) -> None:
        destination.in_flight = 0
        failure = None if answer.cancelled() else answer.exception()
        if self._stopped or answer.cancelled():
            return
        if failure is None:
            codes = answer.result()
        else:
            if destination.failures == 0:
                why = str(failure) or type(failure).__name__
                _log.warning("markers do not reach a node", to=destination.node_id, reason=why)
            codes = [Code.NETWORK_EXCEPTION] * len(batch)
        again = [
            entry
            for entry, code in zip(batch, codes, strict=True)
            if not entry[0].shard.is_closed and self._is_sent_again(entry, code)
        ]
        if not again:
            destination.failures = 0
        for ending in {entry[0] for entry in batch}:
            if not ending.shard.is_closed:
                self._complete_if_written(ending)
        if again:
            self._send_again_later(destination, again)
        elif destination.entries:
            self._send_soon(destination)

    def _is_sent_again(self, entry: Entry, code: Code) -> bool:
        """Whether an entry must be sent again; an unreachable node is logged only once."""
        return code == Code.NETWORK_EXCEPTION or self._note_result(entry, code, code.name)

    def _send_again_later(self, destination: Destination, entries: list[Entry]) -> None:
        """After a pause, send these and the waiting entries of a destination to the leaders."""
        destination.entries.extendleft(reversed(entries))
        if destination.timer is not None:
            destination.timer.cancel()
            destination.timer = None
        self._schedule_attempt(destination, self._write_queued)

    # The end

    def _complete_if_written(self, ending: Ending) -> None:
        """Complete the transaction once all its markers are written, and flushed if required."""
        if ending.left or self._stopped:
            return
        while ending.logs:
            log = ending.logs[-1]
            if log.awaits_flush:
                self._flushes.when_flushed(log, partial(self._flushed, ending))
                return
            ending.logs.pop()
        try:
            ending.shard.run_now(_complete, ending.effect.transaction)
        except Refused as refused:
            if refused.code != Code.NOT_COORDINATOR:  # else its new coordinator continues
                self._complete_later(ending)
                return
        transactional_id = ending.effect.transaction.transactional_id
        if self.unfinished.get(transactional_id) is ending:
            del self.unfinished[transactional_id]

    def _flushed(self, ending: Ending, refused: Refused | None = None) -> None:
        if refused is None:
            self._complete_if_written(ending)
        else:
            self._complete_later(ending)

    def _complete_later(self, ending: Ending) -> None:
        self.completions.append(ending)
        if self._completion_timer is None and not self._stopped:
            self._completion_timer = self._clock.live.call_after_ms(
                self._limits.marker_retry_max_ms, self._complete_again
            )

    def _complete_again(self) -> None:
        self._completion_timer = None
        endings, self.completions = self.completions, deque()
        try:
            while endings:
                self._complete_if_written(endings.popleft())
        finally:  # after a fault at one of them, which the event loop logs, the others wait again
            for ending in endings:
                self._complete_later(ending)


def _complete(machine: Transactions, now: Moment, prepared: Transaction) -> Outcome[None]:
    return machine.markers_written(prepared, now_ms=now.wall_ms)


def resume(channel: MarkerChannel, shard: Shard[Transactions]) -> None:
    """Write the markers of the prepared transactions of a newly loaded coordinator."""
    assert shard.log.topic == TRANSACTION_STATE
    for effect in shard.machine.unfinished():
        channel.write(shard, effect)

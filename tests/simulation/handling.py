"""Runs the broker's own handlers on events of the scheduler, with a simulated node.

A handler is a coroutine that waits only for flushes here. There is no event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from ottla.broker.event_stream import Events
from ottla.broker.requests.context import ConnectionInfo, Context
from ottla.broker.requests.dispatch import api_of
from ottla.broker.runtime.shards.shard import Shard
from ottla.broker.settings.listeners import PLAINTEXT, ServedListener
from ottla.broker.variants import USUAL
from ottla.coordinator.transactions.states import Partition
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog

from .network import Crashed, Request, Respond
from .requests import Ask, Fencing

if TYPE_CHECKING:
    from .cluster import Cluster, Hosted

_CONFIG: Final = {
    "transaction.partition.verification.enable": True,
    "transaction.two.phase.commit.enable": True,
}
_LISTENER: Final = ServedListener("PLAINTEXT", PLAINTEXT, "broker", 9092)
_CONNECTION: Final = ConnectionInfo("simulated", "client:1", "client", _LISTENER)


class _Partition(NamedTuple):
    """A partition without a known leader, so that clients ask again."""

    leader_id: int = -1
    leader_epoch: int = -1


class _Topic(NamedTuple):
    partitions: list[_Partition]
    topic_id: UUID | None = None


class _Catalog(NamedTuple):
    """The part of the catalog that handlers of transactions read."""

    topics: dict[str, _Topic]
    brokers: dict[int, None]


class _Coordinators(NamedTuple):
    """The coordinators of one internal topic: the shard of a group or a transactional id."""

    shard_of: Callable[[str], Shard[Any]]


class _AllInSync:
    """Brokers whose replicas are all in sync, with the usual parts."""

    variants = USUAL

    def check_in_sync(self, log: PartitionLog) -> None:
        """Refuse nothing."""


class _NoTrouble:
    """Disks without trouble."""

    def report(self, log: PartitionLog, refused: Refused) -> None:
        """Report nothing."""


class Flushed:
    """An awaitable for the result of `when_flushed`."""

    def __init__(self) -> None:
        self._is_done = False
        self._refused: Refused | None = None
        self._go_on: Callable[[], None] | None = None

    def tell(self, refused: Refused | None) -> None:
        self._is_done, self._refused = True, refused
        if self._go_on is not None:
            self._go_on()

    def when_done(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on

    def __await__(self) -> Generator[Flushed, None, Refused | None]:
        if not self._is_done:
            yield self
        return self._refused


class HandlingNode:
    """The node of one broker for its handlers."""

    authorizer = quotas = topic_metrics = None
    config = _CONFIG

    def __init__(self, cluster: Cluster, number: int, topics: dict[str, _Topic]) -> None:
        self._cluster = cluster
        self._number = number
        self.clock = cluster.clock
        self.flushes = cluster.flushes
        self.catalog = _Catalog(topics, dict.fromkeys(range(len(cluster.brokers))))
        self.cluster = _AllInSync()
        self.storage_trouble = _NoTrouble()
        self.events = Events()
        self.transactions = _Coordinators(self._own_transaction_shard)
        self.groups = _Coordinators(self._group_shard)

    def open_led_log(self, topic: str, index: int) -> PartitionLog:
        hosted = self._led((topic, index))
        if hosted is None:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return hosted.open_log

    def open_log_of(self, topic: str, index: int) -> PartitionLog | None:
        return self._cluster.hosted[topic, index].log

    def wake_fetches(self, topic: str, partition: int) -> None:
        """No fetch waits here."""

    def transaction_shard(self, transactional_id: str) -> Shard[Any]:
        """The coordinator, on any broker."""
        return _shard(self._cluster.hosted[self._cluster.coordinator_of(transactional_id)])

    def _own_transaction_shard(self, transactional_id: str) -> Shard[Any]:
        return _shard(self._led(self._cluster.coordinator_of(transactional_id)))

    def _group_shard(self, group_id: str) -> Shard[Any]:
        return _shard(self._led((CONSUMER_OFFSETS, 0)))

    def _led(self, partition: Partition) -> Hosted | None:
        hosted = self._cluster.hosted[partition]
        return hosted if hosted.leader == self._number else None


def _shard(hosted: Hosted | None) -> Shard[Any]:
    if hosted is None or hosted.shard is None:
        raise Refused(Code.NOT_COORDINATOR)
    return hosted.shard


@dataclass(slots=True)
class Handling:
    """One request in progress."""

    cluster: Cluster
    broker: int
    ask: Ask
    respond: Respond
    _coroutine: Any = field(init=False)
    _process: Any = field(init=False)

    def begin(self) -> None:
        """Run the handler until it waits."""
        ask, cluster = self.ask, self.cluster
        self._process = cluster.brokers[self.broker]
        node: Any = cluster.handling[self.broker]
        context = Context(ask.api_key, ask.version, 0, "client", _CONNECTION)
        self._coroutine = api_of(ask.api_key).handler(node, context, ask.fields)
        self._step()

    def _step(self) -> None:
        if not self._process.is_alive:
            self._coroutine.close()
            return
        cluster = self.cluster
        cluster.fencing = self.ask.fencing
        try:
            with cluster.dying():
                waits_for = self._coroutine.send(None)
        except StopIteration as done:
            answer = done.value
        except Crashed:
            return
        except Exception:
            if self._process.is_alive:
                raise
            return  # the broker crashed in the middle; an outer block catches that
        else:
            waits_for.when_done(self._step)
            return
        finally:
            cluster.fencing = Fencing.NOBODY
        self.respond(self.ask.result_of(answer))


def handled(cluster: Cluster, broker: int, ask: Ask) -> Request:
    """The work of a request at a broker that may be dead."""

    def request(respond: Respond) -> None:
        if cluster.brokers[broker].is_alive:
            Handling(cluster, broker, ask, respond).begin()

    return request


def topics_of(cluster: Cluster) -> dict[str, _Topic]:
    """The topics in the form of the catalog."""
    topics: dict[str, _Topic] = {}
    for partition in sorted(cluster.hosted):
        known = topics.setdefault(partition[0], _Topic([]))
        known.partitions.append(_Partition())
    return topics

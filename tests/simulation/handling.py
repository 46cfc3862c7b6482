"""The broker's own handlers, driven by events of the scheduler, and the node that they ask.

A handler is a coroutine; what it waits for here is a flush. There is no event loop in it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.requests.context import ConnectionInfo, Context
from ottla.broker.requests.dispatch import handler_of
from ottla.broker.runtime.shard import Shard
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
    "transaction.two.phase.commit.enable": False,
}
_LEADER_UNTOLD: Final = SimpleNamespace(leader_id=-1, leader_epoch=-1)
_CONNECTION: Final = ConnectionInfo("simulated", "client:1", "client", ("broker", 9092))


class Flushed:
    """What a coroutine waits for: what `when_flushed` will tell."""

    def __init__(self) -> None:
        self._is_told = False
        self._refused: Refused | None = None
        self._go_on: Callable[[], None] | None = None

    def tell(self, refused: Refused | None) -> None:
        self._is_told, self._refused = True, refused
        if self._go_on is not None:
            self._go_on()

    def when_told(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on

    def __await__(self) -> Generator[Flushed, None, Refused | None]:
        if not self._is_told:
            yield self
        return self._refused


class HandlingNode:
    """One broker, whichever of its lives, as its handlers see it."""

    authorizer = quotas = None
    config = _CONFIG

    def __init__(self, cluster: Cluster, number: int, topics: dict[str, Any]) -> None:
        self._cluster = cluster
        self._number = number
        self.clock = cluster.clock
        self.flushes = cluster.flushes
        self.catalog = SimpleNamespace(
            topics=topics, brokers=dict.fromkeys(range(len(cluster.brokers)))
        )
        self.cluster = SimpleNamespace(check_in_sync=lambda log: None)
        self.storage_trouble = SimpleNamespace(tell=lambda log, refused: None)
        self.transactions = SimpleNamespace(shard_of=self._own_transaction_shard)
        self.groups = SimpleNamespace(shard_of=self._group_shard)

    def led_log(self, topic: str, index: int) -> PartitionLog:
        hosted = self._led((topic, index))
        if hosted is None:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return hosted.open_log

    def log_of(self, topic: str, index: int) -> PartitionLog | None:
        return self._cluster.hosted[topic, index].log

    def appended(self, log: PartitionLog) -> None:
        """Nobody waits for it here."""

    def transaction_shard(self, transactional_id: str) -> Shard[Any]:
        """The coordinator, on whichever broker."""
        return _shard(self._cluster.hosted[self._cluster.coordinator_of(transactional_id)])

    def _own_transaction_shard(self, transactional_id: str) -> Shard[Any]:
        return _shard(self._led(self._cluster.coordinator_of(transactional_id)))

    def _group_shard(self, group_id: str) -> Shard[Any]:
        return _shard(self._led((CONSUMER_OFFSETS, 0)))

    def _led(self, place: Partition) -> Hosted | None:
        hosted = self._cluster.hosted[place]
        return hosted if hosted.leader == self._number else None


def _shard(hosted: Hosted | None) -> Shard[Any]:
    if hosted is None or hosted.shard is None:
        raise Refused(Code.NOT_COORDINATOR)
    return hosted.shard


@dataclass(slots=True)
class Handling:
    """One request at work."""

    cluster: Cluster
    broker: int
    ask: Ask
    respond: Respond
    _coroutine: Any = field(init=False)
    _process: Any = field(init=False)

    def begin(self) -> None:
        """Do what can be done now; the rest follows."""
        ask, cluster = self.ask, self.cluster
        self._process = cluster.brokers[self.broker]
        node: Any = cluster.handling[self.broker]
        context = Context(ask.api_key, ask.version, 0, "client", _CONNECTION)
        self._coroutine = handler_of(ask.api_key)(node, context, ask.fields)
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
            return  # it died in the middle, in the work of somebody who catches that
        else:
            waits_for.when_told(self._step)
            return
        finally:
            cluster.fencing = Fencing.NOBODY
        self.respond(self.ask.result_of(answer))


def handled(cluster: Cluster, broker: int, ask: Ask) -> Request:
    """What a request does where it arrives: at a broker that may be dead."""

    def request(respond: Respond) -> None:
        if cluster.brokers[broker].is_alive:
            Handling(cluster, broker, ask, respond).begin()

    return request


def topics_of(cluster: Cluster) -> dict[str, Any]:
    """The topics as the catalog has them."""
    topics: dict[str, Any] = {}
    for place in sorted(cluster.hosted):
        known = topics.setdefault(place[0], SimpleNamespace(partitions=[], topic_id=None))
        known.partitions.append(_LEADER_UNTOLD)
    return topics

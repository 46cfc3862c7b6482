"""The throttles of reassignments: settings of brokers and topics (KIP-73, KIP-455)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..client.admin.configs import ConfigOperation, Resource, alter_settings
from ..client.admin.groups import Place
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.errors import Code
from .session import Failure
from .texts import joined, line

_LEADER_RATE: Final = "leader.replication.throttled.rate"
_FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
_DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
_FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"


class Move:
    """A partition's replicas now, and the brokers that get a new one."""

    def __init__(self, current: Sequence[int], wanted: Sequence[int]) -> None:
        self.sources = tuple(current)
        self.destinations = tuple(node for node in wanted if node not in current)


def set_throttles(
    client: Client,
    moves: Mapping[Place, Move],
    directory_brokers: Iterable[int],
    *,
    rate: int,
    directory_rate: int,
) -> None:
    """Limit the traffic of reassignments, and say so.

    Args:
        directory_brokers: those on which replicas move between log directories.
        rate, directory_rate: bytes a second; below 0: no limit.

    Raises:
        ErrorAnswer: a broker refuses.
    """
    if rate >= 0:
        line(
            "Warning: You must run --verify periodically, until the reassignment completes, to"
            " ensure the throttle is removed."
        )
        for topic in sorted({topic for topic, _ in moves}):
            ours = sorted((index, move) for (name, index), move in moves.items() if name == topic)
            leaders = [f"{index}:{node}" for index, move in ours for node in move.sources]
            followers = [f"{index}:{node}" for index, move in ours for node in move.destinations]
            replicas = {
                _LEADER_REPLICAS: ",".join(leaders),
                _FOLLOWER_REPLICAS: ",".join(followers),
            }
            _set(client, Resource.TOPIC, topic, replicas)
        brokers = {node for move in moves.values() for node in (*move.sources, *move.destinations)}
        for node in sorted(brokers):
            rates = {_LEADER_RATE: str(rate), _FOLLOWER_RATE: str(rate)}
            _set(client, Resource.BROKER, str(node), rates)
        line(f"The inter-broker throttle limit was set to {rate} B/s")
    if directory_rate >= 0:
        for node in sorted(set(directory_brokers)):
            _set(client, Resource.BROKER, str(node), {_DIRECTORY_RATE: str(directory_rate)})
        line(f"The replica-alter-dir throttle limit was set to {directory_rate} B/s")


def clear_throttles(client: Client, brokers: Iterable[int], topics: Iterable[str]) -> None:
    """Remove the limits, and say so.

    Raises:
        ErrorAnswer: a broker refuses. Failure: a topic or a broker does not exist.
    """
    nodes, names = sorted(set(brokers)), sorted(set(topics))
    line(f"Clearing broker-level throttles on broker{_plural(nodes)} {joined(nodes)}")
    for node in nodes:
        if node not in client.brokers:
            raise Failure(
                "Timed out waiting for a node assignment. Call: incrementalAlterConfigs",
                "org.apache.kafka.common.errors.TimeoutException",
            )
        _delete(client, Resource.BROKER, str(node), _LEADER_RATE, _FOLLOWER_RATE, _DIRECTORY_RATE)
    line(f"Clearing topic-level throttles on topic{_plural(names)} {','.join(names)}")
    for topic in names:
        try:
            _delete(client, Resource.TOPIC, topic, _LEADER_REPLICAS, _FOLLOWER_REPLICAS)
        except ErrorAnswer as refused:
            if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise Failure(
                f"org.apache.kafka.common.errors.UnknownTopicOrPartitionException:"
                f" {refused.message}",
                "java.util.concurrent.ExecutionException",
            ) from None


def _set(client: Client, resource: Resource, name: str, values: Mapping[str, str]) -> None:
    changes = [(key, ConfigOperation.SET, value) for key, value in values.items()]
    alter_settings(client, resource, name, changes)


def _delete(client: Client, resource: Resource, name: str, *keys: str) -> None:
    alter_settings(client, resource, name, [(key, ConfigOperation.DELETE, None) for key in keys])


def _plural(found: Sequence[object]) -> str:
    return "" if len(found) == 1 else "s"

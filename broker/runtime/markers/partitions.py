"""The interface of a node for transaction markers: the partitions that it leads or knows.

`broker/node.py` implements it; so does the simulation in tests/. Kafka's classes for the same work:
ReplicaManager, MetadataCache, GroupCoordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from ....storage.log import PartitionLog
    from ...clock import Clock
    from ...event_stream import Events
    from ..shards.machines import PendingMachine
    from ..shards.shard import Shard


class Partitions(Protocol):
    """The partitions of the cluster, as one node sees them.

    Attributes:
        node_id: the node's id.
        clock: the time of its markers.
        events: the stream of events, for its markers.
    """

    @property
    def node_id(self) -> int: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def events(self) -> Events: ...

    def leader_of(self, topic: str, partition: int) -> int | None:
        """The id of the leader; -1 if no leader runs, None if the partition does not exist."""

    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that this node leads.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
        """

    def check_in_sync(self, log: PartitionLog) -> None:
        """Raise Refused NOT_ENOUGH_REPLICAS if fewer are in sync than `min.insync.replicas`."""

    def group_shard_at(self, partition: int) -> Shard[PendingMachine]:
        """The coordinator of the groups in a partition of `__consumer_offsets`.

        Raises:
            Refused: NOT_COORDINATOR.
        """

    def wake_fetches(self, topic: str, partition: int, /) -> None:
        """Wake the fetches that wait for a partition, after an append."""


class OtherNode(Partitions, Protocol):
    """Another node of the process, as a destination of markers.

    Attributes:
        runs: whether it runs.
        between_nodes: the host and port for other nodes; None if it has no listener for them.
        between_nodes_tls: makes the context for connections to that listener; None without TLS.
    """

    @property
    def runs(self) -> bool: ...
    @property
    def between_nodes(self) -> tuple[str, int] | None: ...
    @property
    def between_nodes_tls(self) -> Callable[[], SSLContext | None]: ...

"""The coordinators of a node: for each partition of an internal topic a shard with its machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..coordinator.partitioning import partition_for
from ..protocol.errors import Code, Refused
from .shard import Shard

M = TypeVar("M")


class Coordinator(Generic[M]):
    """All shards of one internal topic that this node leads.

    Args:
        topic: `__transaction_state` or `__consumer_offsets`.
        make: the shard of a partition, loaded from its log.
    """

    def __init__(self, topic: str, make: Callable[[int], Shard[M]]) -> None:
        self.topic = topic
        self._make = make
        self._shards: list[Shard[M]] = []

    @property
    def partition_count(self) -> int:
        """Zero until the topic exists."""
        return len(self._shards)

    def load(self, partition_count: int) -> None:
        """Take up partitions that this node leads from now on."""
        for partition in range(len(self._shards), partition_count):
            self._shards.append(self._make(partition))

    def start(self) -> None:
        """Begin to tick: the event loop runs."""
        for shard in self._shards:
            shard.start_timer()

    def partition_of(self, key: str) -> int:
        """The partition that coordinates a group or a transactional id.

        Raises:
            Refused: NOT_COORDINATOR while the internal topic does not exist; FindCoordinator
                makes it.
        """
        if not self._shards:
            raise Refused(Code.NOT_COORDINATOR)
        return partition_for(key, len(self._shards))

    def shard_of(self, key: str) -> Shard[M]:
        """The shard that coordinates a group or a transactional id. Raises as `partition_of`."""
        return self._shards[self.partition_of(key)]

    def shard_at(self, partition: int) -> Shard[M]:
        """The shard of a partition. Raises Refused NOT_COORDINATOR when there is none."""
        if not 0 <= partition < len(self._shards):
            raise Refused(Code.NOT_COORDINATOR)
        return self._shards[partition]

    def shards(self) -> list[Shard[M]]:
        """Those that are loaded."""
        return list(self._shards)

    def unload(self) -> None:
        """The topic is gone, or the node stops: who waits is sent away."""
        gone, self._shards = self._shards, []
        for shard in gone:
            shard.close()

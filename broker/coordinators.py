"""The coordinators of a node: for each partition of an internal topic a shard with its machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..coordinator.partitioning import partition_for
from ..protocol.errors import Code, Malformed, Refused
from .logs import Log
from .shard import Shard

M = TypeVar("M")
_log = Log("coordinators")


class Coordinator(Generic[M]):
    """All shards of one internal topic that this node leads.

    Args:
        topic: `__transaction_state` or `__consumer_offsets`.
        make: the shard of a partition, loaded from its log. Where it raises Refused or Malformed
            the log is damaged, or not there: that partition coordinates nothing, the others do.
    """

    def __init__(self, topic: str, make: Callable[[int], Shard[M]]) -> None:
        self.topic = topic
        self._make = make
        self._shards: list[Shard[M] | None] = []  # None: its log cannot be used
        self._unopened: set[int] = set()  # of these it is not there, and may be at the next try

    @property
    def partition_count(self) -> int:
        """Zero until the topic exists."""
        return len(self._shards)

    def load(self, partition_count: int) -> None:
        """Take up partitions that this node leads from now on."""
        for partition in range(len(self._shards), partition_count):
            self._shards.append(self._made(partition))

    def _made(self, partition: int) -> Shard[M] | None:
        try:
            return self._make(partition)
        except (Refused, Malformed) as failed:
            if partition not in self._unopened:
                _log.error(
                    "a coordinator's log cannot be used, and nobody coordinates what belongs there",
                    topic=self.topic, partition=partition, reason=str(failed),
                )  # fmt: skip
            if isinstance(failed, Refused) and failed.code == Code.KAFKA_STORAGE_ERROR:
                self._unopened.add(partition)
            return None

    def _at(self, partition: int) -> Shard[M] | None:
        """The shard, if there is one; a log that could not be opened is tried once more."""
        if self._shards[partition] is None and partition in self._unopened:
            shard = self._shards[partition] = self._made(partition)
            if shard is not None:
                self._unopened.discard(partition)
                shard.start_timer()
        return self._shards[partition]

    def start(self) -> None:
        """Begin to tick: the event loop runs."""
        for shard in self.shards():
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
        """The shard that coordinates a group or a transactional id.

        Raises:
            Refused: NOT_COORDINATOR: see `partition_of`; or the partition's log cannot be used.
        """
        return self.shard_at(self.partition_of(key))

    def shard_at(self, partition: int) -> Shard[M]:
        """The shard of a partition. Raises Refused NOT_COORDINATOR when there is none."""
        shard = self._at(partition) if 0 <= partition < len(self._shards) else None
        if shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        return shard

    def is_unusable(self, partition: int) -> bool:
        """Whether the partition is there, and its log cannot be used."""
        return 0 <= partition < len(self._shards) and self._at(partition) is None

    def shards(self) -> list[Shard[M]]:
        """Those that are loaded."""
        return [shard for shard in self._shards if shard is not None]

    def unload(self) -> None:
        """The topic is gone, or the node stops: who waits is sent away."""
        gone, self._shards = self.shards(), []
        self._unopened.clear()
        for shard in gone:
            shard.close()

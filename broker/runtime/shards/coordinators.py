"""The coordinators of a node: a shard with a state machine for each partition of an internal topic.

A shard is created when the node becomes the partition's leader, and ends when it no longer is. Each
leader epoch has a new shard, which replays the log from its beginning; the requests that wait at
the old one are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from ....coordinator.partitioning import partition_for
from ....protocol.errors import Code, Refused
from ....protocol.named_tuple import NamedTuple
from ...log_output import Log
from ..logs.blocking_steps import reason_of
from .loading import Loading

if TYPE_CHECKING:
    from ....coordinator.moment import Moment
    from ....coordinator.outcome import Outcome
    from .machines import Machine
    from .shard import Shard

M = TypeVar("M", bound="Machine")
_log = Log("coordinators")

# What is remembered is small: clients may choose any number of long keys.
_SHORT: Final = 256
_MOST_KEYS: Final = 1024


class DeletedTopic(NamedTuple):
    """A topic that is deleted."""

    name: str
    topic_id: UUID


class Coordinator(Generic[M]):
    """All shards of one internal topic that this node leads.

    Args:
        topic: the internal topic.
        make: creates the shard of a partition, not loaded yet. If it raises Refused, the log is
            missing: that partition has no coordinator, the others do.
        loading: replays the logs, at once or in slices between requests.
        check_key: raises Refused for a key that no partition may coordinate.
        on_loaded, on_unloaded: called with a shard when it starts and when it has ended.
        forget_topic: the machine's decision when a topic is deleted; its argument is the topic's
            name and id. A shard that is loading decides afterwards. None if the machine has no
            state of topics.

    Attributes:
        partition_count: of the topic, whichever node leads them; zero until the topic exists.
    """

    def __init__(
        self,
        topic: str,
        make: Callable[[int], Shard[M]],
        loading: Loading,
        *,
        check_key: Callable[[str], None] = lambda key: None,
        on_loaded: Callable[[Shard[M]], None] = lambda shard: None,
        on_unloaded: Callable[[Shard[M]], None] = lambda shard: None,
        forget_topic: Callable[[M, DeletedTopic], Outcome[None]] | None = None,
    ) -> None:
        self.topic = topic
        self.partition_count = 0
        self._make = make
        self._loading = loading
        self._check_key = check_key
        self._on_loaded = on_loaded
        self._on_unloaded = on_unloaded
        self._forget_topic = forget_topic
        self._deleted_while_loading: dict[Shard[M], set[DeletedTopic]] = {}
        self._epochs: dict[int, int] = {}  # of the partitions led here, whatever their logs are
        self._shards: dict[int, Shard[M]] = {}
        self._shard_by_key: dict[str, Shard[M]] = {}  # of those in `_shards`, for recent keys
        self._unusable: set[int] = set()  # whose logs are damaged
        self._unopened: set[int] = set()  # whose logs are not there, and may be at the next try

    def follow(self, partition_count: int, led: Mapping[int, int]) -> None:
        """Coordinate exactly the partitions that this node leads now.

        Args:
            partition_count: of the topic, zero if it is deleted.
            led: the leader epoch of each partition that this node leads.
        """
        self.partition_count = partition_count
        self._shard_by_key.clear()
        for partition in [
            known for known, epoch in self._epochs.items() if led.get(known) != epoch
        ]:
            self._resign(partition)
        for partition in [known for known in led if known not in self._epochs]:
            self._epochs[partition] = led[partition]
            self._take_up(partition)

    def unload(self) -> None:
        """End all shards: the topic is deleted or the node stops. Waiting requests are refused."""
        self.follow(0, {})

    def _resign(self, partition: int) -> None:
        del self._epochs[partition]
        self._unusable.discard(partition)
        self._unopened.discard(partition)
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close()
            self._deleted_while_loading.pop(shard, None)
            self._on_unloaded(shard)

    def _take_up(self, partition: int) -> None:
        try:
            shard = self._make(partition)
        except Refused as failed:
            if partition not in self._unopened:
                self._log_unusable(partition, failed)
            self._unopened.add(partition)
            return
        self._unopened.discard(partition)
        self._shards[partition] = shard
        self._loading.add(shard, partial(self._loaded, shard))

    def _loaded(self, shard: Shard[M], failed: Exception | None) -> None:
        if self._shards.get(shard.partition) is not shard:
            return  # another node leads by now
        deleted = self._deleted_while_loading.pop(shard, ())
        if failed is None:
            self._on_loaded(shard)
            self._forget(shard, deleted)
            return
        self._log_unusable(shard.partition, failed)
        self._unusable.add(shard.partition)
        del self._shards[shard.partition]
        self._shard_by_key.clear()
        shard.close()

    def _log_unusable(self, partition: int, failed: Exception) -> None:
        _log.error(
            "a coordinator cannot use its log and refuses all requests",
            topic=self.topic, partition=partition, reason=reason_of(failed),
        )  # fmt: skip

    def topic_deleted(self, name: str, topic_id: UUID) -> None:
        """Unload all shards if it is the coordinator's own topic; else have them forget it."""
        deleted = DeletedTopic(name, topic_id)
        if name == self.topic:
            self.unload()
        elif self._forget_topic is not None:
            for shard in self.shards():
                if shard.log.log_end_offset == 0:
                    continue  # nothing was ever decided there, and most shards are so
                if shard.is_loading:
                    self._deleted_while_loading.setdefault(shard, set()).add(deleted)
                else:
                    self._forget(shard, (deleted,))

    def _forget(self, shard: Shard[M], topics: Iterable[DeletedTopic]) -> None:
        forget_topic = self._forget_topic
        if forget_topic is None:
            return

        def decide(machine: M, now: Moment, topic: DeletedTopic) -> Outcome[None]:
            return forget_topic(machine, topic)

        with suppress(Refused):  # another node coordinates by now, from the log
            for topic in topics:
                shard.run_now(partial(decide, topic=topic))

    def partition_of(self, key: str) -> int:
        """The partition that coordinates a group, a transactional id or a share partition.

        Raises:
            Refused: NOT_COORDINATOR while the internal topic does not exist; FindCoordinator
                creates it.
        """
        if not self.partition_count:
            raise Refused(Code.NOT_COORDINATOR)
        return partition_for(key, self.partition_count)

    def shard_of(self, key: str) -> Shard[M]:
        """The shard that coordinates a group or a transactional id.

        Raises:
            Refused: NOT_COORDINATOR: see `partition_of`; or another node leads the partition, or
                its log cannot be used. The errors of `check_key`.
        """
        shard = self._shard_by_key.get(key)
        if shard is None:
            self._check_key(key)
            shard = self.shard_at(self.partition_of(key))
            if len(self._shard_by_key) >= _MOST_KEYS:
                self._shard_by_key.clear()
            if len(key) <= _SHORT:
                self._shard_by_key[key] = shard
        return shard

    def shard_at(self, partition: int) -> Shard[M]:
        """The shard of a partition, loaded or not; raises Refused (NOT_COORDINATOR) if none."""
        shard = self._shards.get(partition)
        if shard is None:
            self.retry(partition)
            shard = self._shards.get(partition)
            if shard is None:
                raise Refused(Code.NOT_COORDINATOR)
        return shard

    def retry(self, partition: int) -> None:
        """Open the log of a partition again if it could not be opened: the disk may have room."""
        if partition in self._unopened:
            self._take_up(partition)

    def is_unusable(self, partition: int) -> bool:
        """Whether this node leads the partition, and its log cannot be used."""
        return partition in self._unusable or partition in self._unopened

    def shards(self) -> list[Shard[M]]:
        """The shards of this node, loaded or not, in the order of their partitions."""
        return [self._shards[partition] for partition in sorted(self._shards)]


# Any: the machine, which is of another type for each topic.
AnyCoordinator: TypeAlias = Coordinator[Any]
"""The coordinator of any internal topic."""

"""A reader of committed records as Kafka's clients are: what is aborted is left out by the index
that the leader gives, and where the leader's log parts from what was read the reader goes back.
"""

from __future__ import annotations

from typing import Final

from ottla.coordinator.transactions.states import Partition
from ottla.protocol.batch import headers_in
from ottla.protocol.control import read_marker
from ottla.protocol.records import records_in

from . import requests
from .cluster import Cluster, Durability
from .producer import Client
from .requests import Diverging, Fetched
from .scheduler import Process, Steps

_NO_EPOCH: Final = -1

Seen = tuple[int, str]
"""Offset and value of a record."""


class Reader(Client):
    """Reads one partition, from an offset on.

    Attributes:
        position: the next offset to be asked for.
        last_stable_offset: as told by the leader last; -1 before.
    """

    def __init__(
        self,
        cluster: Cluster,
        process: Process,
        place: Partition,
        position: int = 0,
        *,
        max_bytes: int = 300,
    ) -> None:
        super().__init__(cluster, process)
        self.place = place
        self.position = position
        self.last_stable_offset = -1
        self._last_epoch = _NO_EPOCH
        self._max_bytes = max_bytes

    def poll(self) -> Steps[list[Seen]]:
        """Ask once; what was new. Empty too when there was no answer."""
        position, last_epoch = self.position, self._last_epoch
        result = yield from self.ask(
            "Fetch",
            self.place,
            lambda hosted: requests.fetch(
                hosted, position, last_epoch=last_epoch, max_bytes=self._max_bytes
            ),
            details=(*self.place, position),
        )
        if isinstance(result, Diverging):
            self.scheduler.note("reader goes back", self.process.name, result.end_offset)
            assert result.end_offset < position, "a log parts from itself before its end"
            self.position, self._last_epoch = result.end_offset, _NO_EPOCH
            self.last_stable_offset = -1
            return []
        if not isinstance(result, Fetched):
            return []
        # What is not on disk yet may be read, so a loss of power may take a marker back.
        may_go_back = self.cluster.durability is Durability.DEFERRED
        assert may_go_back or result.last_stable_offset >= self.last_stable_offset, (
            f"the last stable offset of {self.place} went back from {self.last_stable_offset}"
            f" to {result.last_stable_offset}"
        )
        self.last_stable_offset = result.last_stable_offset
        return self._committed(result)

    def _committed(self, fetched: Fetched) -> list[Seen]:
        found: list[Seen] = []
        waiting = sorted(fetched.aborted)
        hidden: set[int] = set()
        for position, header in headers_in(fetched.records):
            while waiting and waiting[0][0] <= header.last_offset:
                hidden.add(waiting.pop(0)[1])
            if header.is_control:
                marker = read_marker(fetched.records, position, header)
                if marker is not None and not marker.commit:
                    hidden.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in hidden):
                found += [
                    (record.offset, bytes(record.value or b"").decode())
                    for record in records_in(fetched.records, position, header)
                    if record.offset >= self.position
                ]
            self._last_epoch = header.leader_epoch
        self.position = fetched.next_offset
        return found


class Watcher:
    """Reads all partitions of data from their beginning, for ever, and keeps what it sees.

    Attributes:
        readers: one for each partition.
        seen: what they gave, by partition.
    """

    def __init__(self, cluster: Cluster, *, max_bytes: int) -> None:
        self.process = Process("watcher")
        self._cluster = cluster
        self._scheduler = cluster.scheduler
        self.readers = [
            Reader(cluster, self.process, place, max_bytes=max_bytes) for place in cluster.data
        ]
        self.seen: dict[Partition, list[Seen]] = {place: [] for place in cluster.data}
        for reader in self.readers:
            self._scheduler.spawn(self.process, self._watch(reader))

    def _watch(self, reader: Reader) -> Steps[None]:
        random = self._scheduler.random
        seen = self.seen[reader.place]
        pause_ms = 0
        while True:
            found = yield from reader.poll()
            for offset, value in found:
                assert not seen or seen[-1][0] < offset, (
                    f"{reader.place}: {offset} {value} was read twice"
                )
                seen.append((offset, value))
            quickest_ms = 4 if self._cluster.is_calm else 20
            pause_ms = quickest_ms if found else min(2 * pause_ms + 20, 600)
            yield self._scheduler.sleep(random.randint(1, pause_ms))

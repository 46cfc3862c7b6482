"""A read_committed consumer like Kafka's.

It drops the records of aborted transactions. If the leader's log diverges from the records read
(KIP-320), it goes back.
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
    """Reads one partition from an offset.

    Attributes:
        position: the next offset to fetch.
        last_stable_offset: of the leader's last answer; -1 before the first.
    """

    def __init__(
        self,
        cluster: Cluster,
        process: Process,
        partition: Partition,
        position: int = 0,
        *,
        max_bytes: int = 300,
    ) -> None:
        super().__init__(cluster, process)
        self.partition = partition
        self.position = position
        self.last_stable_offset = -1
        self._last_epoch = _NO_EPOCH
        self._max_bytes = max_bytes

    def poll(self) -> Steps[list[Seen]]:
        """Fetch once and return the new records; none also without an answer."""
        position, last_epoch = self.position, self._last_epoch
        result = yield from self.ask(
            "Fetch",
            self.partition,
            lambda hosted: requests.fetch(
                hosted, position, last_epoch=last_epoch, max_bytes=self._max_bytes
            ),
            details=(*self.partition, position),
        )
        if isinstance(result, Diverging):
            self.scheduler.note("reader goes back", self.process.name, result.end_offset)
            assert result.end_offset < position, "a log diverges from itself before its end"
            self.position, self._last_epoch = result.end_offset, _NO_EPOCH
            self.last_stable_offset = -1
            return []
        if not isinstance(result, Fetched):
            return []
        # Unflushed records may be read, so a loss of power may remove a marker that was read.
        may_go_back = self.cluster.durability is Durability.DEFERRED
        assert may_go_back or result.last_stable_offset >= self.last_stable_offset, (
            f"the last stable offset of {self.partition} went back from {self.last_stable_offset}"
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
    """Reads all data partitions from the start, without end, and keeps the records.

    Attributes:
        readers: one for each partition.
        seen: the records of each partition.
    """

    def __init__(self, cluster: Cluster, *, max_bytes: int) -> None:
        self.process = Process("watcher")
        self._cluster = cluster
        self._scheduler = cluster.scheduler
        self.readers = [
            Reader(cluster, self.process, partition, max_bytes=max_bytes)
            for partition in cluster.data
        ]
        self.seen: dict[Partition, list[Seen]] = {partition: [] for partition in cluster.data}
        for reader in self.readers:
            self._scheduler.spawn(self.process, self._watch(reader))

    def _watch(self, reader: Reader) -> Steps[None]:
        random = self._scheduler.random
        seen = self.seen[reader.partition]
        pause_ms = 0
        while True:
            found = yield from reader.poll()
            for offset, value in found:
                assert not seen or seen[-1][0] < offset, (
                    f"{reader.partition}: {offset} {value} was read twice"
                )
                seen.append((offset, value))
            quickest_ms = 4 if self._cluster.is_calm else 20
            pause_ms = quickest_ms if found else min(2 * pause_ms + 20, 600)
            yield self._scheduler.sleep(random.randint(1, pause_ms))

"""The partition of `__consumer_offsets` in memory: real batches, read like at a restart.

It can be compacted like Kafka's log cleaner does: the last valid record of each key stays, and
tombstones may be removed. Records from the first open transaction on stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from ottla.coordinator.group_records import GroupRecord, GroupRemoved, GroupStored, decode, encode
from ottla.coordinator.groups import Groups
from ottla.coordinator.outcome import Producer
from ottla.protocol.batch import build, headers_in
from ottla.protocol.control import marker, read_marker
from ottla.protocol.records import records_in

NOBODY = Producer(-1, -1)


class Ended(NamedTuple):
    """A marker."""

    commit: bool


class Stored(NamedTuple):
    """An entry read from the log: a record with its key, or the end of a transaction."""

    producer: Producer
    key: bytes
    what: GroupRecord | Ended
    is_tombstone: bool = False


@dataclass
class _Batch:
    """A batch; `read` has its entries after the first read."""

    written: tuple[Any, ...]
    producer: Producer
    at_ms: int
    read: tuple[Stored, ...] | None = None


class Log:
    """All batches ever appended."""

    def __init__(self) -> None:
        self._batches: list[_Batch] = []

    def append(self, records: Iterable[Any], producer: Producer | None, at_ms: int) -> None:
        """Append records of one decision, in the producer's transaction; or an `Ended`."""
        self._batches.append(_Batch(tuple(records), producer or NOBODY, at_ms))

    def classic_groups(self) -> set[str]:
        """The classic groups according to the log."""
        found: set[str] = set()
        for batch in self._batches:
            for record in batch.written:
                if isinstance(record, GroupStored):
                    found.add(record.group_id)
                elif isinstance(record, GroupRemoved):
                    found.discard(record.group_id)
        return found

    def stored(self) -> list[Stored]:
        """Read all entries from bytes. Raises AssertionError if they differ from those appended."""
        found: list[Stored] = []
        for batch in self._batches:
            if batch.read is None:
                batch.read = tuple(_read(_encoded(batch)))
                read = tuple(each.what for each in batch.read)
                assert read == batch.written, f"{read} was appended as {batch.written}"
            found += batch.read
        return found

    def compacted(self, random: Random) -> list[Stored]:
        """The entries after a possible compaction."""
        stored = self.stored()
        end = _first_open(stored)
        aborted = _aborted(stored)
        last = {
            each.key: at
            for at, each in enumerate(stored[:end])
            if at not in aborted and not isinstance(each.what, Ended)
        }
        keeps_tombstones = random.random() < 0.5
        left = []
        for at, each in enumerate(stored):
            is_settled = at < end and not isinstance(each.what, Ended)
            if is_settled and (last.get(each.key) != at):
                continue
            if is_settled and each.is_tombstone and not keeps_tombstones:
                continue
            left.append(each)
        return left


def replay(machine: Groups, stored: Iterable[Stored]) -> None:
    """Load a machine like `Shard.load`."""
    for producer, _, what, _ in stored:
        if isinstance(what, Ended):
            machine.replay_marker(producer, commit=what.commit)
        elif producer != NOBODY:
            machine.replay_pending(what, producer)
        else:
            machine.replay(what)


def _encoded(batch: _Batch) -> bytes:
    producer_id, epoch = batch.producer.producer_id, batch.producer.producer_epoch
    if isinstance(batch.written[0], Ended):
        ended = marker(
            commit=batch.written[0].commit, producer_id=producer_id, producer_epoch=epoch,
            coordinator_epoch=0, timestamp_ms=batch.at_ms,
        )  # fmt: skip
        return bytes(ended)
    records = [encode(record) for record in batch.written]
    if batch.producer == NOBODY:
        return bytes(build(records, timestamp_ms=batch.at_ms))
    built = build(
        records, timestamp_ms=batch.at_ms, producer_id=producer_id, producer_epoch=epoch,
        transactional=True,
    )  # fmt: skip
    return bytes(built)


def _read(data: bytes) -> Iterable[Stored]:
    for position, header in headers_in(data):
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.is_control:
            ended = read_marker(data, position, header)
            assert ended is not None
            yield Stored(producer, b"", Ended(ended.commit))
            continue
        for record in records_in(data, position, header):
            what = decode(record.key or b"", record.value)
            assert what is not None, record
            yield Stored(producer, bytes(record.key or b""), what, record.value is None)


def _first_open(stored: list[Stored]) -> int:
    """The index of the first batch of an open transaction."""
    opened: dict[Producer, int] = {}
    for at, (producer, _, what, _) in enumerate(stored):
        if isinstance(what, Ended):
            opened.pop(producer, None)
        elif producer != NOBODY:
            opened.setdefault(producer, at)
    return min(opened.values(), default=len(stored))


def _aborted(stored: list[Stored]) -> set[int]:
    waiting: dict[Producer, list[int]] = {}
    gone: set[int] = set()
    for at, (producer, _, what, _) in enumerate(stored):
        if isinstance(what, Ended):
            places = waiting.pop(producer, [])
            if not what.commit:
                gone.update(places)
        elif producer != NOBODY:
            waiting.setdefault(producer, []).append(at)
    return gone

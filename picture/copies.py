"""Which record became which: from a read to its copy, and to the offset that covers it.

A trace has the offsets of records, not the records. A commit of offset N of a group covers what was
read from the last commit up to N; what the same transaction produced between is the copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..trace.exchanges import Exchange
from ..trace.messages import Names, structs, topic_name
from ..trace.owners import client_of, group_of, transactional_id_of
from .rows import Row, requests_of

MOST_OF_A_COMMIT: Final = 20
"""The reads, and the copies, of one partition that a commit of offsets is linked with."""
_READS: Final = ("Fetch",)
_COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")
COPY: Final = "copy"
COVER: Final = "cover"
Partition = tuple[str, int]


class Arc(NamedTuple):
    """A link of two rows.

    Attributes:
        first, last: numbers of rows.
        kind: COPY, from a read to what was produced of it; COVER, to the commit of an offset
            behind it.
        about: what was read, such as `orders-0 4..7`.
    """

    first: int
    last: int
    kind: str
    about: str


class _Read(NamedTuple):
    row: int
    client: str
    name: str
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class _Open:
    """What an open transaction has produced, read, and committed of groups.

    Attributes:
        before: the offsets that were committed before it, by group and partition.
    """

    produced: list[int] = field(default_factory=list)
    reads: list[_Read] = field(default_factory=list)
    before: dict[tuple[str, Partition], int] = field(default_factory=dict)


def arcs_of(rows: Sequence[Row], names: Names) -> list[Arc]:
    """The links of a trace, in the order of their ends."""
    return list(_Reader(names).arcs(rows))


class _Reader:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._reads: dict[Partition, list[_Read]] = defaultdict(list)
        self._committed: dict[tuple[str, Partition], int] = {}
        self._open: dict[str, _Open] = defaultdict(_Open)
        self._clients: dict[str, set[str]] = defaultdict(set)

    def arcs(self, rows: Sequence[Row]) -> Iterator[Arc]:
        for number, exchange in requests_of(rows):
            owner = transactional_id_of(exchange.request)
            group = group_of(exchange.fields)
            if exchange.api in _READS:
                row = rows[number].answer_row
                self._read(number if row < 0 else row, exchange)
            elif exchange.api == "Produce" and owner is not None:
                self._open[owner].produced.append(number)
            elif exchange.api in _COMMITS and group and not exchange.error:
                yield from self._commit(number, exchange, group, owner)
            elif exchange.api == "EndTxn" and owner is not None:
                yield from self._end(owner, bool(exchange.fields.get("committed")))
            elif group and owner is None:
                self._clients[group].add(client_of(exchange.request))
        for owner in list(self._open):
            yield from self._end(owner, True)

    def _end(self, owner: str, commits: bool) -> Iterator[Arc]:
        """A transaction ends: what it produced is known, and an abort drops its offsets."""
        ended = self._open.pop(owner, _Open())
        if not commits:
            self._committed |= ended.before
        for number in ended.produced[-MOST_OF_A_COMMIT:]:
            before = [read for read in ended.reads if read.row < number]
            if before:
                last = before[-1]
                about = f"{last.name} {last.first_offset}..{last.last_offset}"
                yield Arc(last.row, number, COPY, about)

    def _read(self, number: int, exchange: Exchange) -> None:
        for batch in structs(exchange.response, "batches"):
            topic = str(batch.get("topic", ""))
            partition = self._names.get(topic, topic), batch.get("partition", -1)
            first, last = batch.get("base_offset", -1), batch.get("last_offset", -1)
            if not batch.get("is_control"):
                client = client_of(exchange.request)
                name = f"{partition[0]}-{partition[1]}"
                read = _Read(number, client, name, first, last)
                self._reads[partition].append(read)

    def _commit(
        self, number: int, exchange: Exchange, group: str, owner: str | None
    ) -> Iterator[Arc]:
        for topic in structs(exchange.fields, "topics"):
            for each in structs(topic, "partitions"):
                offset = each.get("committed_offset", -1)
                partition = topic_name(topic, self._names), each.get("partition_index", -1)
                before = self._committed.get((group, partition), -1)
                if offset < 0 or offset == before:
                    continue
                self._committed[group, partition] = offset
                reads = self._covered(group, partition, before, offset)
                about = f"{partition[0]}-{partition[1]} below {offset}"
                yield from (Arc(read.row, number, COVER, about) for read in reads)
                if owner is not None:
                    self._open[owner].reads += reads
                    self._open[owner].before.setdefault((group, partition), before)

    def _covered(self, group: str, partition: Partition, before: int, offset: int) -> list[_Read]:
        """The reads of the records between two committed offsets."""
        clients = self._clients.get(group)
        found: dict[int, _Read] = {}
        for read in reversed(self._reads.get(partition, ())):
            if read.last_offset < before:
                break
            if read.first_offset < offset and (not clients or read.client in clients):
                found[read.row] = read
            if len(found) == MOST_OF_A_COMMIT:
                break
        return list(reversed(found.values()))

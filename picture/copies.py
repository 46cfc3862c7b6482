"""Which record became which: from a read to its copy, and to the offset that covers it.

A trace has the offsets of records, not the records. A commit of offset N of a group covers what its
consumer read from the last commit up to N; what the same transaction produced between is the copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from ..trace.events import ConnectionClosed, Request
from ..trace.exchanges import Exchange
from ..trace.fetched import Place, fetched
from ..trace.messages import Names, structs, topic_name
from ..trace.owners import client_of, group_of, transactional_id_of
from .readers import Reader, Readers
from .rows import Row

MOST_OF_A_COMMIT: Final = 20
"""The reads, and the copies, of one partition that a commit of offsets is linked with."""
_MOST_LOOKED_AT: Final = 1000
"""The reads before a commit that may be covered by it."""
COPY: Final = "copy"
COVER: Final = "cover"
REFUSED: Final = "refused"
_COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")


class Arc(NamedTuple):
    """A link of two rows.

    Attributes:
        first, last: numbers of rows.
        kind: COPY, from a read to what was produced of it; COVER, to the commit of an offset
            behind it; REFUSED, to such a commit that was refused.
        about: what was read, such as `orders-0 4..7`.
    """

    first: int
    last: int
    kind: str
    about: str


class _Read(NamedTuple):
    row: int
    connection: str
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
    before: dict[tuple[str, Place], int] = field(default_factory=dict)


def arcs_of(rows: Sequence[Row], names: Names) -> list[Arc]:
    """The links of a trace, in the order of their ends."""
    return list(_Reads(names).arcs(rows))


class _Reads:
    """What was read and committed while the rows go by."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._readers = Readers()
        self._reads: dict[Place, dict[str, list[_Read]]] = {}  # by partition and client
        self._committed: dict[tuple[str, Place], int] = {}
        self._open: dict[str, _Open] = defaultdict(_Open)

    def arcs(self, rows: Sequence[Row]) -> Iterator[Arc]:
        for number, row in enumerate(rows):
            if isinstance(row.event, ConnectionClosed):
                self._readers.close(number, row.event.connection)
            elif row.exchange is not None and isinstance(row.event, Request):
                yield from self._add(number, row, row.exchange)
        for owner in list(self._open):
            yield from self._end(owner, True)

    def _add(self, number: int, row: Row, exchange: Exchange) -> Iterator[Arc]:
        owner = transactional_id_of(exchange.request)
        self._readers.see(number, exchange, owner)
        group = group_of(exchange.fields)
        if exchange.api == "Fetch":
            self._read(number if row.answer_row < 0 else row.answer_row, exchange)
        elif exchange.api == "Produce" and owner is not None:
            self._open[owner].produced.append(number)
        elif exchange.api in _COMMITS and group:
            yield from self._commit(number, exchange, group, owner)
        elif exchange.api == "EndTxn" and owner is not None:
            yield from self._end(owner, bool(exchange.fields.get("committed")))

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
        client = client_of(exchange.request)
        for each in fetched(exchange.fields, exchange.response, self._names):
            if not each.batch.get("is_control"):
                name = f"{each.place[0]}-{each.place[1]}"
                read = _Read(number, exchange.connection, name, each.first, each.last)
                self._reads.setdefault(each.place, {}).setdefault(client, []).append(read)

    def _commit(
        self, number: int, exchange: Exchange, group: str, owner: str | None
    ) -> Iterator[Arc]:
        refused = _refused(exchange, self._names)
        for topic in structs(exchange.fields, "topics"):
            for each in structs(topic, "partitions"):
                offset = each.get("committed_offset", -1)
                place = topic_name(topic, self._names), each.get("partition_index", -1)
                before = self._committed.get((group, place), -1)
                if offset < 0 or offset == before:
                    continue
                is_refused = bool(exchange.error) or place in refused
                behind = before if before < offset else -1  # a consumer that went back
                reads = self._covered(number, exchange, group, owner, (place, behind, offset))
                about = f"{place[0]}-{place[1]} below {offset}"
                kind = REFUSED if is_refused else COVER
                yield from (Arc(read.row, number, kind, about) for read in reads)
                if is_refused:
                    continue
                self._committed[group, place] = offset
                if owner is not None:
                    self._open[owner].reads += reads
                    self._open[owner].before.setdefault((group, place), before)

    def _covered(
        self, number: int, exchange: Exchange, group: str, owner: str | None,
        part: tuple[Place, int, int],
    ) -> list[_Read]:  # fmt: skip
        """The reads of the records between two committed offsets, by the consumer of the commit.

        Args:
            number: the row of the commit.
            part: the partition, the offset that was committed before, -1 for none, and the new one.

        Returns:
            Nothing if several consumers may have read them, and the commit does not name its own.
        """
        by_client = self._reads.get(part[0], {})
        readers = self._readers.of_commit(exchange, group, owner)
        if readers is None:
            readers = [Reader(client, 0) for client in by_client]
        found = [
            reads
            for each in readers
            if (reads := self._of_reader(each, by_client.get(each.client, []), number, part))
        ]
        if len(found) != 1:
            return []
        if readers[0].since or owner is not None:
            return found[0]
        is_other = self._readers.is_of_another_process
        return [read for read in found[0] if not is_other(read.connection, exchange.connection)]

    def _of_reader(
        self, reader: Reader, reads: Sequence[_Read], number: int, part: tuple[Place, int, int]
    ) -> list[_Read]:
        """The reads of one consumer; of records that it read twice the last read before the commit.

        Args:
            reads: of its client id.
            number, part: as in `_covered`.
        """
        _, before, offset = part
        found: dict[int, _Read] = {}
        for read in islice(reversed(reads), _MOST_LOOKED_AT):
            if read.row < reader.since or offset <= max(before, 0):
                break
            if read.row >= number or read.first_offset >= offset:
                continue
            if read.last_offset < before:
                break
            found[read.row] = read
            offset = read.first_offset  # what is behind it was read later
            if len(found) == MOST_OF_A_COMMIT:
                break
        return list(reversed(found.values()))


def _refused(exchange: Exchange, names: Names) -> set[Place]:
    """The partitions of a commit that were refused. One without an answer may be accepted."""
    return {
        (topic_name(topic, names), each.get("partition_index", -1))
        for topic in structs(exchange.response, "topics")
        for each in structs(topic, "partitions")
        if each.get("error_code")
    }

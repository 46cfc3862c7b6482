"""The lag of a group in records that a reader would get, of both isolation levels.

The offsets between a committed offset and the end have also markers, records of aborted
transactions, and gaps of compaction. What remains is counted by reading the batches, up to a
budget; behind it only bounds are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..client.admin.offsets import Place
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from ..client.fates import Fate
from ..protocol.errors import Refused
from .log_reads import Batch, Budget, LogReader
from .offsets import Offsets

LAG_BYTES: Final = 8 << 20
"""What a view of a group reads of all its partitions."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a committed offset is behind.

    Attributes:
        offsets: up to the high watermark: what tools of Kafka call the lag.
        committed: records that a read_committed reader gets now: before the last stable offset.
        uncommitted: records that a read_uncommitted reader gets.
        aborted: records of aborted transactions.
        open: records of transactions that are not over.
        markers: control batches.
        uncounted: offsets that were not looked at, so that the numbers above are lower bounds.
        lost: offsets that the reader misses, because the log begins behind the committed offset.
        error: why it cannot be counted.
    """

    offsets: int = 0
    committed: int = 0
    uncommitted: int = 0
    aborted: int = 0
    open: int = 0
    markers: int = 0
    uncounted: int = 0
    lost: int = 0
    error: str = ""


def lags_of(
    client: Client,
    committed: Mapping[Place, int],
    known: Mapping[Place, Offsets],
    leaders: Mapping[Place, int],
    *,
    budget_bytes: int = LAG_BYTES,
) -> dict[Place, Lag]:
    """The lag of committed offsets; those nearest to their ends are counted first.

    Args:
        committed: the next offset that a group reads, by partition.
        known: the offsets of these partitions.
        leaders: their nodes.
        budget_bytes: what may be read; the last read may go beyond it.
    """
    budget = Budget(budget_bytes)
    found = {}
    for place in sorted(committed, key=lambda each: _distance(committed[each], known[each])):
        reader = LogReader(client, place, leaders[place])
        found[place] = _lag(reader, committed[place], known[place], budget)
    return found


def _distance(committed: int, known: Offsets) -> int:
    return 0 if known.high_watermark is None else known.high_watermark - committed


def _lag(reader: LogReader, committed: int, known: Offsets, budget: Budget) -> Lag:
    end, start = known.high_watermark, known.log_start
    if end is None or start is None:
        return Lag(error=known.error)
    lag = Lag(offsets=max(0, end - committed), lost=max(0, min(start, end) - committed))
    offset = max(committed, start)
    try:
        while offset < end and not budget.is_spent:
            batches = reader.read(offset, budget)
            if not batches:
                break
            for batch in batches:
                lag = _counted(lag, batch, offset, end, reader.last_stable_offset)
                offset = max(offset, batch.header.next_offset)
    except (ErrorAnswer, NoAnswer, Refused) as failed:
        return replace(lag, uncounted=max(0, end - offset), error=str(failed))
    return replace(lag, uncounted=max(0, end - offset))


def _counted(lag: Lag, batch: Batch, start: int, end: int, stable: int) -> Lag:
    """The lag with the records of one more batch between two offsets. Raises Refused."""
    header = batch.header
    if header.base_offset >= end:
        return lag
    if header.is_control:
        return replace(lag, markers=lag.markers + 1)
    number = header.record_count
    if header.base_offset < start or header.next_offset > end:
        number = sum(start <= each.offset < end for each in batch.records())
    is_aborted, is_open = batch.fate is Fate.ABORTED, batch.fate is Fate.OPEN
    is_stable = header.base_offset < stable
    return replace(
        lag,
        uncommitted=lag.uncommitted + number,
        aborted=lag.aborted + number * is_aborted,
        open=lag.open + number * is_open,
        committed=lag.committed + number * (is_stable and not is_aborted),
    )

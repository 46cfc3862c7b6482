"""The rules of committed offsets: a fold over one partition of `__consumer_offsets`.

Of two commits for a partition the later one in the log is valid, so a plain commit that comes while
a transaction holds the offset survives the transaction's marker (Kafka's OffsetMetadataManager).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from .coordinator import partition_for
from .rows import COMMIT, OffsetRecord, PartitionSummary
from .rules import Finding, evidence

OFFSETS_TOPIC: Final = "__consumer_offsets"

_Key = tuple[str, str, int]  # group, topic, partition


class OffsetsFold:
    """Records of one partition of `__consumer_offsets`, in the order of offsets.

    Args:
        partitions: number of partitions of the topic; 0 if it is not known.
        ends: the summaries of the partitions, to check offsets against their ends.

    Attributes:
        committed: the valid offset of each group and partition.
    """

    def __init__(self, partitions: int, ends: Mapping[tuple[str, int], PartitionSummary]) -> None:
        self._partitions = partitions
        self._ends = ends
        self._pending: dict[int, dict[_Key, OffsetRecord]] = {}  # by producer id
        self._is_misplaced: set[str] = set()
        self.committed: dict[_Key, OffsetRecord] = {}

    def row(self, record: OffsetRecord) -> Iterator[Finding]:
        """Pass the next record."""
        if record.result:
            yield from self._ended(record)
            return
        yield from self._place(record)
        key = (record.group, record.topic, record.partition)
        if record.transactional:
            self._pending.setdefault(record.producer_id, {})[key] = record
        elif record.committed < 0:
            self.committed.pop(key, None)
            for producer_id in [each for each, held in self._pending.items() if key in held]:
                self._release(producer_id, key)
        else:
            yield from self._plain(key, record)

    def end(self) -> Iterator[Finding]:
        """The log ends."""
        for record in self.committed.values():
            summary = self._ends.get((record.topic, record.partition))
            if summary is not None and record.committed > summary.end_offset:
                text = f"the log ends at {summary.end_offset}"
                yield _finding("offset-beyond-end", text, record)

    def _place(self, record: OffsetRecord) -> Iterator[Finding]:
        count, group = self._partitions, record.group
        if count and group not in self._is_misplaced:
            right = partition_for(group, count)
            if right != record.log_partition:
                self._is_misplaced.add(group)
                text = f"the group belongs into {OFFSETS_TOPIC}-{right}"
                yield _finding("wrong-group-coordinator", text, record)

    def _plain(self, key: _Key, record: OffsetRecord) -> Iterator[Finding]:
        before = self.committed.get(key)
        held = [each[key] for each in self._pending.values() if key in each]
        if held:
            text = f"a plain commit comes while producer {held[0].producer_id} holds the offset"
            yield _finding("offset-beside-transaction", text, record, held[0])
        elif before is not None and before.transactional and before.committed != record.committed:
            text = f"a plain commit moves {before.committed}, which a transaction committed"
            yield _finding("offset-outside-transaction", text, record, before)
        self.committed[key] = record

    def _ended(self, marker: OffsetRecord) -> Iterator[Finding]:
        pending = self._pending.get(marker.producer_id, {})
        for key, record in list(pending.items()):
            self._release(marker.producer_id, key)
            if marker.result != COMMIT:
                continue
            before = self.committed.get(key)
            if before is not None and before.log_offset > record.log_offset:
                continue  # the later one is valid
            if before is not None and before.transactional and before.committed > record.committed:
                text = f"the offset goes back from {before.committed} to {record.committed}"
                yield _finding("offset-back", text, record, before)
            self.committed[key] = record

    def _release(self, producer_id: int, key: _Key) -> None:
        pending = self._pending[producer_id]
        del pending[key]
        if not pending:
            del self._pending[producer_id]


def _finding(
    rule: str, text: str, record: OffsetRecord, other: OffsetRecord | None = None
) -> Finding:
    return Finding(
        rule,
        f"group {record.group}, {record.topic}-{record.partition} at {record.committed}: {text}",
        OFFSETS_TOPIC,
        record.log_partition,
        record.log_offset,
        record.producer_id,
        record.producer_epoch,
        evidence=evidence(other, record),
    )

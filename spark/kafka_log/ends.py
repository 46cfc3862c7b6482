"""The ends of logs that grow, found again from where they were last found."""

from __future__ import annotations

from typing import Final

from .blocks import Block
from .columns import last_offsets
from .fates import blocks_of
from .listing import Partition, list_again
from .options import END
from .planning import position_before

_TRIES: Final = 3


def name_of(partition: Partition) -> str:
    """ "TOPIC-PARTITION"."""
    return f"{partition.topic}-{partition.partition}"


class Ends:
    """The ends of logs, by name and id of the topic."""

    def __init__(self) -> None:
        # By partition: the base offset of the last segment, and position and offset behind the
        # batches that were seen.
        self._seen: dict[tuple[str, str], tuple[int, int, int]] = {}

    def end_of(self, name: str, partition: Partition, topic_id: str = "") -> int:
        """The offset behind the last whole batch.

        Args:
            topic_id: of a topic that may be deleted and made again under its name.
        """
        for _ in range(_TRIES):
            if not partition.segments:
                return 0
            segment = partition.segments[-1]
            base, position, offset = self._seen.get((name, topic_id), (-1, 0, 0))
            if base != segment.base_offset or position > segment.size_bytes:
                position, offset = position_before(segment, END), segment.base_offset
            is_there = False
            for block in blocks_of(segment, position, check_crc=True):
                is_there = True
                if isinstance(block, Block):
                    offset = max(offset, int(last_offsets(block.headers)[-1]) + 1)
                    position = block.end
            if is_there or position >= segment.size_bytes:
                break
            try:  # the segment was deleted meanwhile: there is a later one
                partition = list_again(partition)
            except FileNotFoundError:
                return 0
        self._seen[name, topic_id] = (segment.base_offset, position, offset)
        return offset

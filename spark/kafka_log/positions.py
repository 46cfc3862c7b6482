"""Where a stream is: the next offset of each partition, and the ids of their topics.

Spark keeps it in the checkpoint as JSON: `{"orders-0": 17, "topic_ids": {"orders": "xknzAv..."}}`.
A log directory has a topic's id in the file `partition.metadata`; without it the id is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

TOPIC_IDS: Final = "topic_ids"
"""No partition has this name: theirs end in a number."""
EARLIEST: Final = -2
LATEST: Final = -1


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions in partitions.

    Attributes:
        at: the next offset, by "TOPIC-PARTITION".
        topic_ids: by topic, where they are known.
    """

    at: Mapping[str, int]
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Positions:  # Any: numbers, and the ids
        """The positions that `as_json` wrote."""
        at = {name: int(offset) for name, offset in content.items() if name != TOPIC_IDS}
        return cls(at, dict(content.get(TOPIC_IDS, {})))

    def as_json(self) -> dict[str, Any]:  # Any: as above
        """What Spark keeps."""
        topics = sorted({topic_of(name) for name in self.at} & set(self.topic_ids))
        ids = {topic: self.topic_ids[topic] for topic in topics}
        return {**self.at, TOPIC_IDS: ids} if ids else dict(self.at)

    def id_of(self, name: str) -> str:
        """The id of a partition's topic; empty if it is not known."""
        return self.topic_ids.get(topic_of(name), "")


def topic_of(name: str) -> str:
    """The topic in "TOPIC-PARTITION"."""
    return name.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets that a partition's files have, from `begins` up to and without `ends`.

    Attributes:
        topic_id: empty if it is not known.
    """

    begins: int
    ends: int
    topic_id: str = ""


def continued(
    name: str, start: Positions, extent: Extent, first_offset: int = 0
) -> tuple[int, str]:
    """Where a stream goes on in a partition, and what it lost, as a sentence; empty for nothing.

    Loss is what it is for Spark's Kafka source (KafkaOffsetReaderAdmin), and a topic that was made
    again with more records than were read, which that source does not notice.

    Args:
        first_offset: the smallest one that is wanted.
    """
    at = start.at.get(name)
    begins = max(extent.begins, first_offset)
    if at is None:
        if extent.begins > first_offset:
            return begins, (
                f"{name} is new, and begins at offset {extent.begins}:"
                f" offsets {first_offset} to {extent.begins} were deleted unread"
            )
        return begins, ""
    if is_another(start.id_of(name), extent.topic_id):
        return begins, (
            f"{name}: the topic was deleted and made again after offset {at}: records that"
            f" were not read are gone, and the new log has offsets {extent.begins} to {extent.ends}"
        )
    if at < extent.begins:
        return begins, f"{name}: offsets {at} to {extent.begins} were deleted unread"
    if extent.ends < at and first_offset < at:
        return max(extent.ends, first_offset), (
            f"{name}: the log ends at offset {extent.ends}, before {at}, where the stream is:"
            " it was cut, or the topic was deleted and made again"
        )
    return at, ""


def is_another(known_id: str, topic_id: str) -> bool:
    """Whether two ids are of different topics; an unknown one is of any."""
    return bool(known_id and topic_id) and known_id != topic_id


def chosen_offsets(option: str, given: Mapping[str, int], names: set[str]) -> Mapping[str, int]:
    """The offsets of an option in JSON, which names every partition, as for Spark's Kafka source.

    Raises:
        ValueError: it lacks a partition, or names one that is not read.
    """
    for kind, wrong in (("lacks", names - set(given)), ("names", set(given) - names)):
        if wrong:
            raise ValueError(
                f"{option} {kind} {', '.join(sorted(wrong)[:5])}: it has each partition that is"
                f" read, and no other; {LATEST} stands for the end, {EARLIEST} for the beginning"
            )
    return given

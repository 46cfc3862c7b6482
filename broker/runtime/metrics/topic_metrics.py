"""Counts what is written to and read from each topic, as Kafka's BrokerTopicMetrics do.

Only `ottla serve --metrics` counts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Final

from ....metadata.catalog import Topic
from ....protocol.batch import Bytes
from ....protocol.errors import Code


@dataclass(slots=True)
class TopicCounts:
    """The counts of one topic, or of all; the names are Kafka's, without `PerSec`.

    Attributes:
        messagesin: records appended.
        bytesin: bytes of the batches appended.
        bytesout: bytes of the batches sent to consumers.
        bytesrejected: bytes of batches that are too large.
        totalproducerequests, failedproducerequests: batches of Produce requests.
        totalfetchrequests, failedfetchrequests: partitions of Fetch answers.
        totalsharefetchrequests, failedsharefetchrequests: partitions of ShareFetch answers.
        totalshareacknowledgementrequests, failedshareacknowledgementrequests: partitions of
            acknowledgements by members of share groups.
    """

    messagesin: int = 0
    bytesin: int = 0
    bytesout: int = 0
    bytesrejected: int = 0
    totalproducerequests: int = 0
    failedproducerequests: int = 0
    totalfetchrequests: int = 0
    failedfetchrequests: int = 0
    totalsharefetchrequests: int = 0
    failedsharefetchrequests: int = 0
    totalshareacknowledgementrequests: int = 0
    failedshareacknowledgementrequests: int = 0


_RECORD_COUNT: Final = slice(57, 61)  # in the header of a batch
_TOO_LARGE: Final = (Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE)
COUNTS: Final = tuple(field.name for field in fields(TopicCounts))


class TopicMetrics:
    """The counts of one node.

    Args:
        exists: whether there is a topic of this name; others count only for all topics.
    """

    def __init__(self, exists: Callable[[str], bool]) -> None:
        self._exists = exists
        self._topics: defaultdict[str, TopicCounts] = defaultdict(TopicCounts)
        self._all = TopicCounts()

    def _of(self, topic: str) -> tuple[TopicCounts, ...]:
        return (self._all, self._topics[topic]) if self._exists(topic) else (self._all,)

    def written(self, topic: str, records: Bytes | None, error_code: int) -> None:
        """Count a batch of a Produce request, with its answer."""
        size_bytes = len(records or b"")
        for each in self._of(topic):
            each.totalproducerequests += 1
            if error_code != Code.NONE:
                each.failedproducerequests += 1
                each.bytesrejected += size_bytes if error_code in _TOO_LARGE else 0
            elif records is not None:
                each.messagesin += int.from_bytes(records[_RECORD_COUNT], "big")
                each.bytesin += size_bytes

    def read(self, topic: str, size_bytes: int, *, failed: bool) -> None:
        """Count a partition of an answer to a consumer."""
        for each in self._of(topic):
            each.totalfetchrequests += 1
            each.failedfetchrequests += failed
            each.bytesout += size_bytes

    def read_by_share_group(self, topic: str, size_bytes: int, *, failed: bool) -> None:
        """Count a partition of an answer to a member of a share group."""
        for each in self._of(topic):
            each.totalsharefetchrequests += 1
            each.failedsharefetchrequests += failed
            each.bytesout += size_bytes

    def acknowledge(self, topic: str, *, failed: bool) -> None:
        """Count a partition of the acknowledgements of a member of a share group."""
        for each in self._of(topic):
            each.totalshareacknowledgementrequests += 1
            each.failedshareacknowledgementrequests += failed

    def forget(self, topic: Topic) -> None:
        """Remove the counts of a topic that was deleted."""
        self._topics.pop(topic.name, None)

    def listed(self) -> Iterator[tuple[str, TopicCounts]]:
        """The counts by topic; those of all topics have an empty name, and come first."""
        yield "", self._all
        yield from [*self._topics.items()]

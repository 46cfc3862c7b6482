"""The catalog's topics for the group coordinator: ids, partition counts, racks, and a version.

The coordinator's room may not know the catalog's records; it asks through this class.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from ....coordinator.consumer.topics import TopicMetadata
from ....metadata.catalog import Catalog, Topic


class CatalogTopics:
    """Topics with their ids, partitions and racks, as the catalog has them now."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._newest: UUID | None = None
        self._newest_version = catalog.last_offset
        self._seen_version: int | None = None

    @property
    def version(self) -> int:
        """The offset of the last metadata record."""
        return self._catalog.last_offset

    @property
    def newest_version(self) -> int:
        """The version at which the last creation of a topic was noticed."""
        version = self._catalog.last_offset
        if version != self._seen_version:
            # The catalog has its topics in order of creation.
            last = next(reversed(self._catalog.topics.values()), None)
            newest = None if last is None else last.topic_id
            if newest != self._newest:
                self._newest, self._newest_version = newest, version
            self._seen_version = version
        return self._newest_version

    def by_name(self, name: str) -> TopicMetadata | None:
        """The topic; None when there is none."""
        topic = self._catalog.topics.get(name)
        return None if topic is None else self._facts(topic)

    def by_id(self, topic_id: UUID) -> TopicMetadata | None:
        """The topic; None when there is none."""
        topic = self._catalog.topic_by_id(topic_id)
        return None if topic is None else self._facts(topic)

    def names(self) -> Iterable[str]:
        """The names of all topics."""
        return self._catalog.topics

    def _facts(self, topic: Topic) -> TopicMetadata:
        racks = {
            node_id: broker.rack
            for node_id, broker in self._catalog.brokers.items()
            if broker.rack is not None
        }
        return TopicMetadata(
            topic.topic_id,
            topic.name,
            len(topic.partitions),
            tuple(
                tuple(sorted(racks[node_id] for node_id in partition.replicas if node_id in racks))
                for partition in topic.partitions
            )
            if racks
            else (),
        )

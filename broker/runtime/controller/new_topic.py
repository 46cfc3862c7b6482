"""A topic between its decision and its creation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from ....metadata.catalog import Assignments, Broker
from ....metadata.records import MetadataRecord
from ....protocol.named_tuple import NamedTuple


class NewTopic(NamedTuple):
    """A topic that is decided and not yet created.

    Attributes:
        brokers: by id, for which it was decided.
        records: made one by one.
    """

    name: str
    topic_id: UUID
    partitions: int
    replication_factor: int
    brokers: Mapping[int, Broker]
    records: Iterator[MetadataRecord]


def assigned_pairs(
    assignments: Assignments | Mapping[int, Sequence[int]] | None,
) -> Assignments | None:
    """Assigned replicas as pairs of a partition and its replicas; None for no assignment."""
    if isinstance(assignments, Mapping):
        return list(assignments.items())
    return assignments or None

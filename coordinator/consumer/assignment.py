"""The input and the result of an assignor of consumer groups."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from .member import Assignment

TopicIds = frozenset[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Spec:
    """The input of an assignor (GroupSpec).

    Attributes:
        members: the ids of the subscribed topics that exist, by member id; members get partitions
            in this order.
        instances: the instance ids of static members, by member id.
        targets: the previous assignment of each member, by member id.
        owners: the inverse of `targets`: member ids by topic id and partition.
        partition_counts: of all subscribed topics, by topic id.
        is_homogeneous: whether all members are subscribed to the same topics.
    """

    members: Mapping[str, TopicIds]
    partition_counts: Mapping[uuid.UUID, int]
    is_homogeneous: bool
    targets: Mapping[str, Assignment] = field(default_factory=dict)
    owners: Mapping[uuid.UUID, Mapping[int, str]] = field(default_factory=dict)
    instances: Mapping[str, str] = field(default_factory=dict)


Assigned = dict[str, Assignment]
"""The partitions of each member, by member id."""

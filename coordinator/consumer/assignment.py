"""The input and the result of an assignor of consumer groups."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from .member import Assignment

TopicIds = frozenset[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Spec:
    """What an assignor is given.

    Attributes:
        members: the subscribed topics that exist, by member id, in the order to deal in.
        instances: of static members.
        targets: what each has so far.
        owners: the same by topic id and partition.
        partition_counts: of all subscribed topics.
        is_homogeneous: whether all members are subscribed to the same topics.
    """

    members: Mapping[str, TopicIds]
    partition_counts: Mapping[uuid.UUID, int]
    is_homogeneous: bool
    targets: Mapping[str, Assignment] = field(default_factory=dict)
    owners: Mapping[uuid.UUID, Mapping[int, str]] = field(default_factory=dict)
    instances: Mapping[str, str] = field(default_factory=dict)


Assigned = dict[str, Assignment]

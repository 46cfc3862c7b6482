"""Requests to share groups and their replies as values, and the limits of share groups."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...protocol.errors import Code
from ...protocol.lazy_dataclass import dataclass
from .member import ShareMember

SIMPLE = "simple"
"""The assignor of share groups (`group.share.assignors`)."""


class ShareGroupLimits(NamedTuple):
    """The settings of a share group: its own (ConfigResource GROUP), or else the broker's.

    Attributes:
        assignment_interval_ms: the least time between two targets (KIP-1263); 0 for no limit.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A ShareGroupHeartbeat. A field of None has not changed since the last one.

    Attributes:
        member_epoch: 0 to join, -1 to leave.
    """

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: frozenset[str] | None = None
    client_id: str = ""
    client_host: str = ""


@dataclass(frozen=True, slots=True)
class DescribedShareGroup:
    """A group as ShareGroupDescribe shows it."""

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    members: tuple[ShareMember, ...]


class StatePartition(NamedTuple):
    """A partition whose share state has to be initialized.

    Attributes:
        start_offset: where the group begins to read; -1 for where its settings say.
    """

    topic_id: uuid.UUID
    partition: int
    start_offset: int


class AlteredOffsets(NamedTuple):
    """The decision of AlterShareGroupOffsets.

    Attributes:
        codes: the error code of each partition of the request, in order.
        state_epoch: of the state that has to be initialized.
        partitions: those whose state has to be initialized before the answer.
    """

    codes: tuple[Code, ...]
    state_epoch: int
    partitions: tuple[StatePartition, ...]


StatePartitions = Mapping[uuid.UUID, frozenset[int]]
"""Partition indexes by topic id: those whose share state is initialized, or is to be deleted."""


class DeletedOffsets(NamedTuple):
    """The first decision of DeleteShareGroupOffsets.

    Attributes:
        refusals: the error of each topic whose offsets cannot be deleted, by its name.
        topics: the names of the others by their ids.
        partitions: those whose state has to be deleted now.
    """

    refusals: Mapping[str, tuple[Code, str]]
    topics: Mapping[uuid.UUID, str]
    partitions: StatePartitions


StartOffset = tuple[str, int, int]
"""The name of a topic, a partition and its new start offset, in AlterShareGroupOffsets."""

StartOffsets = Sequence[StartOffset]
LimitsOf = Callable[[str], ShareGroupLimits]

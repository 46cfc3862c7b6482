"""ConsumerGroupHeartbeat and its reply as values, and the limits of consumer groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

from ...protocol.lazy_dataclass import dataclass
from ..classic.requests import MAX_INT
from .member import Assignment, ConsumerMember


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """The broker's limits for consumer groups, with Kafka's defaults.

    Attributes:
        assignors: names, the default one first.
        regex_refresh_interval_ms: when regular expressions are matched again.
        may_upgrade, may_downgrade: group.consumer.migration.policy.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = MAX_INT
    assignors: tuple[str, ...] = ("uniform", "range")
    regex_refresh_interval_ms: int = 600_000
    may_upgrade: bool = True
    may_downgrade: bool = True


class GroupLimits(NamedTuple):
    """The settings of a single group (ConfigResource GROUP)."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A ConsumerGroupHeartbeat. A field of None has not changed since the last one.

    Attributes:
        member_epoch: 0 to join, -1 to leave, -2 for a static member that will be back.
        rebalance_timeout_ms: -1 when it has not changed.
        owned: the partitions that the member has now.
        may_see: whether the client's ACLs let it see a topic, by name; None: it may see all.
        requires_member_id: the member chooses its own id (version 1+).
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    owned: Assignment | None = None
    client_id: str = ""
    client_host: str = ""
    may_see: Callable[[str], bool] | None = field(default=None, compare=False)
    requires_member_id: bool = True


class HeartbeatReply(NamedTuple):
    """The answer; `assignment` is None if it has not changed."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True)
class DescribedConsumerGroup:
    """A group as ConsumerGroupDescribe shows it."""

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[ConsumerMember, ...]
    targets: Mapping[str, Assignment]

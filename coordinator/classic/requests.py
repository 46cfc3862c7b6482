"""The requests and replies of classic groups as values, and the limits of all groups.

They are the same for all versions of the protocol; the handlers translate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, NamedTuple

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ...protocol.limits import MAX_TEXT_BYTES
from .group import Protocols

MAX_INT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The broker's limits for groups, with Kafka's defaults; in ms where the name says so.

    Attributes:
        new_member_join_timeout_ms: the session of a new member until its JoinGroup is answered (a
            constant of Kafka's).
        offset_metadata_max_size: in UTF-16 units, as Java counts (offset.metadata.max.bytes).
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = MAX_INT
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_max_size: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A JoinGroup.

    Attributes:
        member_id: empty for a member that has none yet.
        random_id: a random text; the id of a new member ends with it.
        random_consumer_id: a random text: the id of a new member of a consumer group.
        requires_known_member_id: a dynamic member gets its id first, and joins with it (version 4
            and later).
        may_skip_assignment: the leader understands that there is nothing to assign (version 9+).
    """

    group_id: str
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    client_id: str
    client_host: str
    random_id: str
    random_consumer_id: str = ""
    requires_known_member_id: bool = True
    may_skip_assignment: bool = False

    @property
    def new_member_id(self) -> str:
        """The id of a new member: the client id, or the instance id, and `random_id`.

        Raises:
            Refused: UNKNOWN_SERVER_ERROR: it is too long for a message.
        """
        prefix = self.client_id if self.group_instance_id is None else self.group_instance_id
        member_id = f"{prefix}-{self.random_id}"
        if len(member_id.encode()) > MAX_TEXT_BYTES:
            raise Refused(Code.UNKNOWN_SERVER_ERROR, "the member's id would be too long")
        return member_id


class JoinedMember(NamedTuple):
    """A member in the JoinGroup reply to the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinReply:
    """The answer to a JoinGroup; `members` is for the leader alone."""

    member_id: str
    error: Code = Code.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """A SyncGroup; the protocol's type and name are None before version 5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncReply:
    """The answer to a SyncGroup."""

    error: Code = Code.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    """A member that leaves: its member id, or a static member's instance id alone."""

    member_id: str
    group_instance_id: str | None = None

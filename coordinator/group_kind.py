"""The interface of a kind of group: what the group coordinator needs of each kind.

`Groups` finds the kind of a group and calls it through this interface, so that it knows nothing of
classic or consumer groups. A request that only one kind has (such as ConsumerGroupHeartbeat) is a
method of that kind's class; `Groups.kind` returns it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias
from uuid import UUID

from ..protocol.errors import Code, Refused
from ..protocol.lazy_dataclass import dataclass
from .deadlines import Timers
from .moment import Moment
from .outcome import Outcome, Parked

if TYPE_CHECKING:
    from .classic.requests import JoinReply, JoinRequest, LeavingMember, SyncReply, SyncRequest
    from .group_records import GroupRecord, OffsetCommitted
    from .group_waits import GroupWaits


PartitionCheck: TypeAlias = Callable[[str, UUID | None, int], None]
"""Checks a partition of a commit by the name and the id of its topic and its index."""


@dataclass(frozen=True, slots=True)
class ClaimedMember:
    """The member that a request names as its sender; the defaults mean that it names none.

    Attributes:
        member_id: empty if the request names none.
        generation_id: of a classic group, or the member's epoch in a consumer group; -1 for none.
        group_instance_id: of a static member (KIP-345), else None.
        knows_epochs: whether the request's version is one that members of consumer groups use
            (OffsetCommit 9 and later).
    """

    member_id: str = ""
    generation_id: int = -1
    group_instance_id: str | None = None
    knows_epochs: bool = True


class ListedGroup(NamedTuple):
    """A group in the answer to ListGroups (16)."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str

    @property
    def filter_name(self) -> str:
        """The state's name in the filter of a request, in lower case.

        `NotReady` of a streams group is found as `not_ready` alone, as in Kafka.
        """
        return "not_ready" if self.state == "NotReady" else self.state.lower()


class GroupKind(ABC):
    """The groups of one kind in one partition of `__consumer_offsets`.

    Attributes:
        name: the kind's name in `GROUP_KINDS`.
        groups: the groups that exist, by id; a live view.
        deadlines: the timers of the groups and of their members.
        loaded: the ids of groups whose sessions begin with the next `tick`: they were replayed.
        is_removed_when_empty: whether a group without members and offsets is removed after some
            time.
    """

    name: ClassVar[str]
    is_removed_when_empty: ClassVar[bool] = True
    groups: Mapping[str, object]
    deadlines: Timers
    loaded: Collection[str]

    # ---- requests of the classic protocol

    @abstractmethod
    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11).

        Args:
            ticket: the number of the request, for an `Answer` if it is parked.
            now: the time on both clocks.

        Raises:
            Refused: the error code of the answer.
        """

    @abstractmethod
    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14); arguments and errors as for `join`."""

    @abstractmethod
    def heartbeat(self, group_id: str, member: ClaimedMember, *, now: Moment) -> Outcome[Code]:
        """Heartbeat (12): NONE, or REBALANCE_IN_PROGRESS if the member has to join again.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """

    @abstractmethod
    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13): a code for each leaving member, in order.

        Raises:
            Refused: UNKNOWN_MEMBER_ID if there is no such group.
        """

    # ---- offsets

    @abstractmethod
    def check_commit(
        self, group_id: str, committer: ClaimedMember, *, transactional: bool
    ) -> PartitionCheck | None:
        """Check that a commit is from a current member, or that the group allows other senders.

        Args:
            transactional: the request is TxnOffsetCommit (28), not OffsetCommit (8).

        Returns:
            A check of each partition that raises as this one does; None if all are allowed.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
        """

    @abstractmethod
    def committed(self, group_id: str, member_id: str, *, now: Moment) -> None:
        """Note a commit that passed `check_commit`; a kind may extend the member's session."""

    @abstractmethod
    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Check that OffsetFetch (9) is from a current member, if the kind requires that.

        Args:
            member_id: None if the request names no member.
            member_epoch: -1 if the request has none.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
        """

    @abstractmethod
    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        """A function from a topic's name to whether the group is subscribed to the topic.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (the members' topics are unknown).
        """

    @abstractmethod
    def expiry(
        self, group_id: str, *, now_ms: int, retention_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        """A function from a committed offset of the group to whether it has expired.

        Args:
            now_ms: the wall time, in ms.
            retention_ms: `offsets.retention.minutes`, in ms.
        """

    # ---- views and deletion

    @abstractmethod
    def listed(self) -> Iterable[ListedGroup]:
        """The groups, for ListGroups (16)."""

    @abstractmethod
    def state_of(self, group_id: str) -> str:
        """The state of an existing group, by the name that clients see."""

    @abstractmethod
    def waits_of(self, group_id: str) -> GroupWaits:
        """The timers of an existing group and of its members."""

    @abstractmethod
    def removal(self, group_id: str) -> Sequence[GroupRecord]:
        """Tombstones that remove an empty group, without those of its offsets.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """

    def removal_of_topic(self, name: str) -> Sequence[GroupRecord]:
        """Records without a topic that was deleted, if records of this kind name topics."""
        return ()

    # ---- the log and time

    @abstractmethod
    def replay(self, record: Any) -> None:  # Any: of the kind's own records
        """Apply a record of this kind."""

    @abstractmethod
    def forget(self, group_id: str) -> None:
        """Drop a group: a record says that it is of another kind."""

    @abstractmethod
    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Make the decisions that are due, one by one; see `Machine.tick`."""


def check_group_id(group_id: str) -> None:
    """Raises Refused INVALID_GROUP_ID for an empty id."""
    if not group_id:
        raise Refused(Code.INVALID_GROUP_ID)


def never_expires(record: OffsetCommitted) -> bool:
    """Whether an offset has expired, for offsets that do not expire."""
    return False

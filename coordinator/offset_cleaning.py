"""Removes offsets: those past their retention, those of deleted topics, and groups left empty.

Goes over the groups of a partition a few offsets at a time, so that any number of them can expire
beside the requests (GroupCoordinatorShard.cleanupGroupMetadata and onPartitionsDeleted in Kafka).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from .classic.group import ClassicGroup, State
from .classic.groups import ClassicGroups
from .classic.requests import GroupSettings
from .group_records import GroupRecord, GroupRemoved, OffsetCommitted
from .moment import Moment
from .offsets import Offsets, Partition
from .outcome import Outcome

if TYPE_CHECKING:
    from .consumer.group import ConsumerGroup
    from .consumer.groups import ConsumerGroups

LOOKED_AT_TOGETHER: Final = 100
"""How many offsets one decision looks at."""


class _Few(NamedTuple):
    """Some offsets of a group; none of them: all have been looked at."""

    group_id: str
    places: list[Partition]
    expires: bool


class OffsetCleaning:
    """What is removed by time, and after topics were deleted.

    Args:
        consumers: the consumer groups, None while there are none.
    """

    def __init__(
        self,
        offsets: Offsets,
        settings: GroupSettings,
        classic: ClassicGroups,
        consumers: Callable[[], ConsumerGroups | None],
    ) -> None:
        self._offsets = offsets
        self._settings = settings
        self._classic = classic
        self._consumers = consumers
        self._expiry_due_ms: int | None = None
        self._round: Iterator[_Few] | None = None
        self._at: _Few | None = None
        self._is_another_wanted = False

    def next_deadline(self) -> int:
        """When `tick` has something to do; 0 for at once."""
        if self._expiry_due_ms is None or self._round is not None:
            return 0
        return self._expiry_due_ms

    def begin(self) -> None:
        """Have the offsets removed that are of no topic any more, as soon as `tick` is called."""
        if self._round is None:
            self._round = self._all(expires=False)
        else:
            self._is_another_wanted = True

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Remove what is due, see `Machine.tick`."""
        interval_ms = self._settings.offsets_retention_check_interval_ms
        if self._expiry_due_ms is None:  # the log was loaded: topics may be gone that it knows
            self._expiry_due_ms = now.monotonic_ms + interval_ms
            self.begin()
        elif now.monotonic_ms >= self._expiry_due_ms:
            self._expiry_due_ms = now.monotonic_ms + interval_ms
            self._round, self._at = self._all(expires=True), None
        asked: tuple[GroupRecord, ...] = ()
        while self._round is not None:
            if self._at is None:
                self._at = next(self._round, None)
                if self._at is None:
                    self._end_round()
                    continue
            records = self._removal(self._at, now.wall_ms)
            if not records or records == asked:
                # All that could go has gone. A tombstone that leaves something behind must not
                # keep the round from coming to an end.
                records, self._at = (), None
            # The same few are looked at again: the log may not have taken the tombstones.
            asked = records
            yield Outcome(None, records, is_atomic=False)

    def _end_round(self) -> None:
        self._round = None
        if self._is_another_wanted:
            self._is_another_wanted = False
            self.begin()
        else:
            self._offsets.end_forgetting()

    def _all(self, *, expires: bool) -> Iterator[_Few]:
        """All offsets of all groups that are there now; they may go meanwhile."""
        consumers = self._consumers()
        listed = [group.group_id for group in self._classic.groups()]
        listed += [] if consumers is None else [group.group_id for group in consumers.groups()]
        for group_id in listed:
            places = self._offsets.places(group_id)
            for first in range(0, len(places), LOOKED_AT_TOGETHER):
                yield _Few(group_id, places[first : first + LOOKED_AT_TOGETHER], expires)
            yield _Few(group_id, [], expires)

    def _removal(self, few: _Few, now_ms: int) -> tuple[GroupRecord, ...]:
        group_id, places, expires = few
        is_expired = self._expiry_of(group_id, now_ms) if expires else _never
        if places:
            return self._offsets.removal_of_gone(group_id, places, is_expired)
        if expires and not self._offsets.has_any(group_id):
            return self._removal_of_empty(group_id)
        return ()

    def _removal_of_empty(self, group_id: str) -> tuple[GroupRecord, ...]:
        """Tombstones for a group of which nothing is left."""
        classic, consumers = self._classic.get(group_id), self._consumers()
        if classic is not None:
            return (GroupRemoved(group_id),) if classic.state is State.EMPTY else ()
        consumer = None if consumers is None else consumers.get(group_id)
        if consumer is None or consumer.members:
            return ()
        return tuple(consumer.removal())

    def _expiry_of(self, group_id: str, now_ms: int) -> Callable[[OffsetCommitted], bool]:
        classic, consumers = self._classic.get(group_id), self._consumers()
        if classic is not None:
            return self._classic_expiry_of(classic, now_ms)
        consumer = None if consumers is None else consumers.get(group_id)
        return _never if consumer is None else self._consumer_expiry_of(consumer, now_ms)

    def _consumer_expiry_of(
        self, group: ConsumerGroup, now_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        """An offset of a consumer group expires by its age, once nobody is subscribed any more."""
        retention_ms = self._settings.offsets_retention_ms

        def is_expired(record: OffsetCommitted) -> bool:
            if record.topic in group.subscribers:
                return False
            if record.expire_timestamp_ms is not None:
                return now_ms >= record.expire_timestamp_ms
            return now_ms - record.commit_timestamp_ms >= retention_ms

        return is_expired

    def _classic_expiry_of(
        self, group: ClassicGroup, now_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        """What makes an offset of the group expire (ClassicGroup.offsetExpirationCondition).

        Its age, or for a group whose members have left the time since then; never what is being
        consumed, and nothing of groups that are in a rebalance or whose protocol is unreadable.
        """
        retention_ms = self._settings.offsets_retention_ms
        is_empty = group.protocol_type is not None and group.state is State.EMPTY
        may_expire = (
            group.protocol_type is None
            or is_empty
            or (group.subscribed_topics is not None and group.state is State.STABLE)
        )

        def is_expired(record: OffsetCommitted) -> bool:
            if not may_expire or group.is_subscribed_to(record.topic):
                return False
            if record.expire_timestamp_ms is not None:
                return now_ms >= record.expire_timestamp_ms
            since_ms = record.commit_timestamp_ms
            if is_empty and group.state_timestamp_ms != -1:
                since_ms = group.state_timestamp_ms
            return now_ms - since_ms >= retention_ms

        return is_expired


def _never(record: OffsetCommitted) -> bool:
    return False

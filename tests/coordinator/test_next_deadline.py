"""When a group coordinator is due next: what can be done now is due at once."""

from __future__ import annotations

import pytest

from ottla.coordinator.consumer.records import GroupEpoch
from ottla.coordinator.group_records import GroupRecord, GroupStored
from ottla.coordinator.offset_cleaning import OFFSETS_PER_DECISION
from ottla.coordinator.share.records import GroupEpoch as ShareGroupEpoch
from ottla.coordinator.streams.records import GroupEpoch as StreamsGroupEpoch
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import GroupTalk

DAY_MS = 86_400_000
ROUND_MS = 600_000


@pytest.fixture
def talk() -> GroupTalk:
    """A coordinator with a committed offset, at rest: it next looks for expired offsets."""
    talk = GroupTalk(offsets_retention_ms=DAY_MS, offsets_retention_check_interval_ms=ROUND_MS)
    assert talk.commit(1) is Code.NONE
    talk.pass_time()
    assert talk.machine.next_deadline(talk.now) == talk.now_ms + ROUND_MS
    return talk


def test_offsets_of_a_deleted_topic_are_removed_at_once(talk: GroupTalk) -> None:
    talk.told(talk.machine.forget_topic("orders"))
    assert talk.machine.next_deadline(talk.now) == 0
    talk.pass_time()
    assert talk.machine.next_deadline(talk.now) != 0


def test_expired_offsets_are_looked_for_at_once_if_asked_for(talk: GroupTalk) -> None:
    talk.told(talk.machine.look_for_expired())
    assert talk.machine.next_deadline(talk.now) == 0
    talk.pass_time()
    assert talk.machine.next_deadline(talk.now) == talk.now_ms + ROUND_MS


def test_a_round_that_has_begun_goes_on_at_once(talk: GroupTalk) -> None:
    for partition in range(OFFSETS_PER_DECISION + 1):
        assert talk.commit(1, partition=partition) is Code.NONE
    talk.now_ms += DAY_MS
    due = talk.machine.tick(talk.now)
    removed = next(each for each in due if each.records)
    assert len(removed.records) == OFFSETS_PER_DECISION
    talk.told(removed)
    due.close()
    assert talk.machine.next_deadline(talk.now) == 0, "the rest of the offsets"
    talk.pass_time()
    assert talk.machine.next_deadline(talk.now) != 0


@pytest.mark.parametrize(
    "record",
    [
        GroupStored("new", "consumer", 1, "range", None, 0),
        GroupEpoch("new", 1),
        ShareGroupEpoch("new", 1),
        StreamsGroupEpoch("new", 1),
    ],
    ids=["classic", "consumer", "share", "streams"],
)
def test_the_sessions_of_a_replayed_group_begin_at_once(
    talk: GroupTalk, record: GroupRecord
) -> None:
    talk.machine.replay(record)
    assert talk.machine.next_deadline(talk.now) == 0
    talk.pass_time()
    assert talk.machine.next_deadline(talk.now) != 0
